"""The run of `claude` in the bench `turns`, where loopback is the only network there is.

    python tests/bench/turns/claude_inside.py PROGRAM FOLDER LATENCY TURNS < /dev/null

It starts a model of its own, lets the program do the work once, and prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from app.simulator.model import LocalModel
from app.simulator.model.cache import tokens_of
from app.simulator.model.conversation import canonical
from tests.bench.turns.processes import Watch, cpu_of
from tests.bench.turns.script import claude_script, issue_text, repository_files

OTHER_UID = 58999  # the program refuses to work unasked as root
SECONDS = 120.0
MENDED = "def add(a, b):\n    return a + b\n"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_BUG_COMMAND": "1",
}
OPTIONS = ("--output-format", "json", "--dangerously-skip-permissions")


class Tolerant(LocalModel):
    """The local model for a program that uses more of the API than Fettle does."""

    prefix = 0
    """Tokens of system prompt and tools, as the model counts."""

    def understand(self, body: bytes, betas: str = "") -> dict[str, Any]:
        """Return the request without what the local model does not know.

        Kept are all texts. Gone is the wish what to forget of long conversations; instructions
        in mid-conversation become the user's.
        """
        request = json.loads(body)
        request.pop("context_management", None)
        self.prefix = sum(
            tokens_of(canonical(each)) for each in [*request["tools"], *request["system"]]
        )
        for message in request["messages"]:
            message["role"] = "user" if message["role"] == "system" else message["role"]
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
        return super().understand(json.dumps(request).encode(), betas)


async def main(program: str, folder: Path, latency: float, turns: int) -> None:
    """Have the work done and print what it took."""
    work = folder / "work"
    work.mkdir()
    for name, text in repository_files().items():
        (work / name).write_text(text)
    model = await Tolerant.start(claude_script(turns, work), latency=latency)
    began = time.monotonic()
    process = await _start(program, folder, work, model.url)
    async with Watch(process.pid, every=0.1) as watch:
        said, last = await _wait_for_end(process)
    wall, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    await model.stop()
    refused = [asked.error for asked in model.requests if asked.error]
    if process.returncode or (work / "calc.py").read_text() != MENDED:
        raise SystemExit(f"it did not do the work: {(refused or [said[-300:]])[0]}")
    whole = used.ru_utime + used.ru_stime
    took = {
        "wall": wall,
        "cpu": whole - last,
        "children": last,
        "memory": watch.own,
        "memory_children": watch.children,
        "sizes": [asked.size for asked in model.requests],
        "usage": [asked.usage for asked in model.requests if asked.usage],
        "prefix": getattr(model, "prefix", 0),
    }
    print(json.dumps(took))


async def _start(program: str, folder: Path, work: Path, url: str) -> asyncio.subprocess.Process:
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        other = {"user": OTHER_UID, "group": OTHER_UID, "extra_groups": []}
        for each in (folder, work, *work.iterdir()):
            os.chown(each, OTHER_UID, OTHER_UID)
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), **QUIET}
    environ |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "local"}
    return await asyncio.create_subprocess_exec(
        *(program, "-p", "\n\n".join(issue_text()), *OPTIONS),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environ,
        cwd=work,
        **other,
    )


async def _wait_for_end(process: asyncio.subprocess.Process) -> tuple[str, float]:
    """Return what it printed, and the CPU of what it started, as of shortly before its end."""
    talking = asyncio.create_task(process.communicate())
    children, until = 0.0, time.monotonic() + SECONDS
    while not talking.done():
        try:
            children = cpu_of(process.pid).children
        except OSError:
            break
        if time.monotonic() > until:
            process.kill()
        await asyncio.sleep(0.05)
    said, _ = await talking
    return said.decode("utf-8", "replace"), children


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
