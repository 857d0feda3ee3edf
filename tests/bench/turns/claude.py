"""The same work done by `claude`, for the bench `turns`: side by side with Fettle."""

from __future__ import annotations

import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.npm import npm_home
from tests.bench.turns.cache import share
from tests.bench.turns.place import Work
from tests.bench.turns.session import Session

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "claude_packages"
INSIDE = HERE / "claude_inside.py"
CHIPS = {"x86_64": "x64", "aarch64": "arm64"}
SECONDS = 180
SEEN_AT = Path("/mnt")  # where the program lies for another user, who may not pass our folders


@dataclass(frozen=True)
class Column:
    """What one program took for the work."""

    title: str
    requests: int
    wall: float
    own_wall: float
    cpu: float
    children: float
    memory: float
    memory_children: float
    sent: int
    most_sent: int
    prefix: int
    cached: float


def claude_columns(session: Session) -> tuple[list[Column], str]:
    """Return the same two pieces of work as `session` holds, by `claude`; or none, and why."""
    if shutil.which("bwrap") is None:
        return [], "bubblewrap is not here, which keeps it from the network"
    chip = CHIPS.get(platform.machine(), platform.machine())
    home, why_not = npm_home(
        "claude", PACKAGES, f"node_modules/@anthropic-ai/claude-code-linux-{chip}/claude"
    )
    if home is None:
        return [], why_not
    folder = home / f"node_modules/@anthropic-ai/claude-code-linux-{chip}"
    columns = []
    for title, turns in (("short", 0), ("long", session.turns)):
        took, why_not = _run(folder, session.latency, turns)
        if took is None:
            return [], why_not
        columns.append(_column(f"claude, {title}", took, session.latency))
    return columns, ""


def _run(program: Path, latency: float, turns: int) -> tuple[dict[str, Any] | None, str]:
    folder = Path(tempfile.mkdtemp(prefix="fettle-bench-"))
    folder.chmod(0o711)
    walls = ("--unshare-net", "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/")
    command = (
        *("bwrap", *walls, "--proc", "/proc", "--ro-bind", str(program), str(SEEN_AT)),
        *(sys.executable, str(INSIDE), str(SEEN_AT / "claude"), str(folder)),
        *(str(latency), str(turns)),
    )
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return None, "it did not come to an end"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["it failed"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found, ""


def _column(title: str, took: dict[str, Any], latency: float) -> Column:
    return Column(
        title=title,
        requests=len(took["sizes"]),
        wall=took["wall"],
        own_wall=took["wall"] - latency * len(took["usage"]),
        cpu=took["cpu"],
        children=took["children"],
        memory=took["memory"],
        memory_children=took["memory_children"],
        sent=sum(took["sizes"]),
        most_sent=max(took["sizes"]),
        prefix=took["prefix"],
        cached=share(took["usage"][1:]),
    )


def fettle_columns(session: Session, prefix: int) -> list[Column]:
    """Return the same of Fettle."""
    return [
        _fettle_column(title, works, session, prefix)
        for title, works in (("Fettle, short", session.short), ("Fettle, long", session.long))
    ]


def _fettle_column(title: str, works: list[Work], session: Session, prefix: int) -> Column:
    asked = works[-1].asked
    return Column(
        title=title,
        requests=len(asked),
        wall=statistics.median(work.wall for work in works),
        own_wall=statistics.median(w.wall - w.answers * session.latency for w in works),
        cpu=statistics.median(work.cpu.own for work in works),
        children=statistics.median(work.cpu.children for work in works),
        memory=session.memory,
        memory_children=session.memory_children,
        sent=sum(each.size for each in asked),
        most_sent=max(each.size for each in asked),
        prefix=prefix,
        cached=share([each.usage for each in asked[1:]]),
    )


ROWS = (
    ("requests", "requests", 1, "d"),
    ("wall, s", "wall", 1, ".1f"),
    ("wall without the model's latency, s", "own_wall", 1, ".1f"),
    ("CPU, s", "cpu", 1, ".2f"),
    ("CPU of what it starts, s", "children", 1, ".2f"),
    ("peak memory, MiB", "memory", 1, ".0f"),
    ("peak of what it starts, MiB", "memory_children", 1, ".0f"),
    ("sent to the model, KiB", "sent", 1024, ",.0f"),
    ("largest request, KiB", "most_sent", 1024, ",.1f"),
    ("system prompt and tools, tokens", "prefix", 1, ",.0f"),
    ("read from the cache after the first, %", "cached", 0.01, ".1f"),
)


def print_columns(columns: list[Column], turns: int) -> None:
    """Print them beside one another."""
    print(
        f"Side by side: the same repair (short), and with {turns} calls more (long). Fettle works"
    )
    print("from the webhook to the pull request, in sandboxes, with all its stages, in a server")
    print("that is up already; claude is started, and mends the files that lie before it:")
    print(f"   {'':38}" + "".join(f"{each.title:>15}" for each in columns))
    for title, name, unit, form in ROWS:
        values = (
            getattr(each, name) / unit if unit != 1 else getattr(each, name) for each in columns
        )
        print(f"   {title:38}" + "".join(f"{value:15{form}}" for value in values))
