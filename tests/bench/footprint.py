"""What Fettle costs where it does nothing: two commands beside pip's, and a server at rest.

    python tests/bench/footprint.py [--rounds 7] [--idle 40]

A command is counted with all that it starts: user and system time, by wait4(2). Each round runs
pip and the commands one after the other, so that each ratio is of two neighbours. The server is
`fettle serve` on loopback, with a simulated GitHub and model, and SQLite; nothing is sent to it. It
is started twice: the first start makes the tables.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

from app.demo.server_process import ServerProcess
from app.simulator.github.server import LocalGitHub
from app.simulator.model.script import Script
from app.simulator.model.server import LocalModel
from tests.bench.turns.processes import cpu_of

BIN = Path(sys.executable).parent
MOST_MEMORY, MOST_CPU = 130, 0.01
"""Of a server at rest: MiB that are resident, and the part of a core."""
SETTLE_SECONDS = 75.0
"""After which the engine looks for schedules at its own pace: it does so each second at first."""


def cpu_seconds(command: list[str], folder: str) -> float:
    """Return the processor seconds of a command and of what it started."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def compare(rounds: int) -> bool:
    """Print how many times pip's processor time each command takes.

    Return whether all are within their limits.
    """
    pip, fettle = [str(BIN / "pip"), "--version"], str(BIN / "fettle")
    commands = {
        "fettle --version": (3.0, [fettle, "--version"]),
        "fettle resolve outside a git repository": (5.0, [fettle, "resolve", ".", "Mend it"]),
    }
    with tempfile.TemporaryDirectory() as folder:
        for command in [pip, *(command for _, command in commands.values())]:
            cpu_seconds(command, folder)  # compiles what was not
        ratios: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            base = cpu_seconds(pip, folder)
            for name, (_, command) in commands.items():
                ratios[name].append(cpu_seconds(command, folder) / base)
    within = True
    for name, (most, _) in commands.items():
        told = median(ratios[name])
        print(f"{name}: {told:.2f} x pip --version, wanted at most {most:.0f} x")
        within = within and told <= most
    return within


async def rest(seconds: float) -> bool:
    """Print memory and processor time of a server that nobody asks anything.

    Return whether both are within their limits.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the sandbox's user passes through
        github = await LocalGitHub.start(Path(folder) / "github")
        model = await LocalModel.start(Script(()))
        server = ServerProcess(Path(folder) / "fettle", github.url, model.url)
        try:
            app = github.create_app("fettle", webhook_url=f"{server.url}/webhook")
            await server.start(app)
            await server.stop()
            await server.start(app)
            await asyncio.sleep(SETTLE_SECONDS)
            assert server.process is not None
            pid = server.process.pid
            before = cpu_of(pid)
            await asyncio.sleep(seconds)
            used = (cpu_of(pid) - before).own / seconds
            status = Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1]
        finally:
            await server.stop()
            await model.stop()
            await github.stop()
    memory = int(status.split()[0]) / 1024
    print(f"idle server: {memory:.1f} MiB RSS, wanted at most {MOST_MEMORY} MiB")
    print(f"idle server: {used:.2%} of a core, wanted at most {MOST_CPU:.0%}")
    return memory <= MOST_MEMORY and used <= MOST_CPU


def main() -> None:
    """Measure both."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--idle", type=float, default=40.0, metavar="SECONDS")
    given = options.parse_args()
    quick, small = compare(given.rounds), asyncio.run(rest(given.idle))
    if not (quick and small):
        sys.exit("A command or the server at rest takes more than it may.")


if __name__ == "__main__":
    main()
