"""What a command costs in the sandbox: beside the same command bare, taking turns.

    python tests/bench/sandbox.py [--rounds N]

A round runs each variant once. Ratios are medians over the rounds, each over bare in the same one.
The first rows lead from the same program bare, over bubblewrap with all its options and nothing of
ours around it, to a command as runs have it, and to one of a stage that only reads. After a pause a
machine is slower at everything, and moves a process to its control group only after a wait for all
processors; so the last rows are about that.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.path_permissions import give
from app.sandbox.port import HOME, SCRATCH, Mount, ResourceLimits, SandboxCommand
from app.sandbox.process_group import run_group

SANDBOX_UID = 58999
AT_ONCE = 20
ALL_LIMITS = "bubblewrap, all limits"
AIM_MS = 10.0
PAUSE = 0.05  # seconds

Variant = Callable[[], Awaitable[object]]


@dataclass
class Row:
    """One variant, and the milliseconds that it took in each round."""

    title: str
    run: Variant
    pause: float = 0.0
    """Seconds before it."""
    took: list[float] = field(default_factory=list)

    async def turn(self) -> None:
        started = time.perf_counter()
        await self.run()
        self.took.append((time.perf_counter() - started) * 1000)

    def part(self, share: float) -> float:
        return sorted(self.took)[min(len(self.took) - 1, int(len(self.took) * share))]


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    folder = Path(tempfile.mkdtemp(prefix="fettle-bench-"))
    try:
        folder.chmod(0o755)
        asyncio.run(_measure(rounds, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _measure(rounds: int, folder: Path) -> None:
    sandbox = Bubblewrap(SANDBOX_UID)
    report = await sandbox.probe()
    report.require()
    rows = _rows(sandbox, _run_folder(sandbox, folder))
    for row in rows:
        await row.run()
    for _ in range(rounds):
        for row in rows:
            await asyncio.sleep(row.pause)
            await row.turn()
    _print_table(rows, report.notes)


def _run_folder(sandbox: Bubblewrap, folder: Path) -> tuple[Mount, ...]:
    """Return the mounts of a run's ordinary command."""
    places = {HOME: "home", SCRATCH: "tmp", "/workspace": "ws", "/workspace/.git": "agent.git"}
    for name in places.values():
        give(folder / name, sandbox.owner)
    return tuple(Mount(folder / name, at, writable=True) for at, name in places.items())


def _rows(sandbox: Bubblewrap, mounts: tuple[Mount, ...]) -> list[Row]:
    layer = mounts[0].source.parent / "layer"
    reading = (*mounts[:2], replace(mounts[2], writable=False, changes=layer), mounts[3])
    read = SandboxCommand(("true",), mounts=reading)
    unlimited = Bubblewrap(SANDBOX_UID, find=lambda: (None, "not wanted for this row"))
    command = SandboxCommand(("true",), mounts=mounts)
    sleeping = SandboxCommand(("sleep", "0.2"), mounts=mounts, limits=ResourceLimits(nproc=64))

    async def run_at_once() -> None:
        await asyncio.gather(*(sandbox.run(sleeping) for _ in range(AT_ONCE)))

    return [
        Row("bare: true", _bare),
        Row("bubblewrap alone, same options", lambda: _run_unguarded(sandbox, command)),
        Row("bubblewrap, no control group", lambda: unlimited.run(command)),
        Row(ALL_LIMITS, lambda: sandbox.run(command)),
        Row("the same, tree under a layer", lambda: sandbox.run(read)),
        Row(f"{AT_ONCE} at once, each sleeps 200 ms", run_at_once),
        Row("bare, after a pause", _bare, PAUSE),
        Row("bubblewrap, after a pause", lambda: sandbox.run(command), PAUSE),
    ]


async def _run_unguarded(sandbox: Bubblewrap, command: SandboxCommand) -> None:
    """Run it without guard, control group or any other limit: what bubblewrap itself costs."""
    with sandbox._build_argv(command) as (start, fds):
        ended = await run_group(
            [*start, *command.argv],
            environment={"PATH": os.defpath},
            timeout=60,
            out=HeadTailBuffer(1_000, 1_000),
            pass_fds=fds,
            launcher=sandbox._launcher,
        )
    assert ended.code == 0


async def _bare() -> None:
    process = await asyncio.create_subprocess_exec(
        "true", stdout=asyncio.subprocess.PIPE, env={"PATH": "/usr/bin:/bin"}, cwd="/"
    )
    await process.communicate()


def _print_table(rows: list[Row], notes: tuple[str, ...]) -> None:
    bare, limited = rows[0], next(row for row in rows if row.title == ALL_LIMITS)
    print(f"{'':34}{'p50 ms':>9}{'p10 ms':>9}{'p90 ms':>9}{'x bare':>9}")
    for row in rows:
        over = statistics.median(
            one / other for one, other in zip(row.took, bare.took, strict=True)
        )
        print(f"{row.title:34}", end="")
        print(f"{row.part(0.5):9.2f}{row.part(0.1):9.2f}{row.part(0.9):9.2f}{over:9.1f}")
    for note in notes:
        print(f"   {note}")
    print(f"   {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    cost = statistics.median(a - b for a, b in zip(limited.took, bare.took, strict=True))
    verdict = "met" if cost <= AIM_MS else "missed"
    print(f"   cost of a command: {cost:.1f} ms, aim {AIM_MS:.0f} ms: {verdict}")


if __name__ == "__main__":
    main()
