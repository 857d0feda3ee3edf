"""What runs cost that wait for people: memory, idle time, how soon they wake, how they restart.

    python tests/bench/parked [--runs N] [--answers N] [--idle SECONDS]

The runs wait in a process of their own, on SQLite; the answers come from this one, as from
`fettle approve` in a terminal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from app.store.database import Database
from app.store.runs.approvals import StoredApprovals

WARM = 50  # runs that wait before memory is measured, so that every import has been made


class Process:
    """A process with parked runs."""

    def __init__(self, folder):
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("runs.py")), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *command):
        """Give a command and return its answer."""
        self.process.stdin.write(" ".join(map(str, command)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("the process with the runs has died")
        return json.loads(answer)

    def kill(self):
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def main() -> None:
    """Measure, and print the table."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = Process(folder)
        try:
            process.ask("park", 0, WARM)
            before = process.ask("memory")["bytes"]
            alone = process.ask("idle", arguments.idle)["share"]
            parking = process.ask("park", WARM, arguments.runs)
            each = (process.ask("memory")["bytes"] - before) / arguments.runs
            share = process.ask("idle", arguments.idle)["share"]
            late = asyncio.run(_answer(folder, process, arguments.answers))
            process.kill()
            process = Process(folder)
            left = WARM + arguments.runs - arguments.answers
            again = process.ask("wait", left)
            restart = time.monotonic() - process.started
            memory = process.ask("memory")["bytes"]
        finally:
            process.kill()
        disk = (folder / "fettle.db").stat().st_size / (WARM + arguments.runs)
    print(f"{arguments.runs} runs that wait for people, SQLite, one process")
    print(f"  until all wait             {parking['seconds']:8.1f} s")
    print(f"  memory of each             {each / 1024:8.1f} KiB")
    print(f"  database file, each        {disk / 1024:8.1f} KiB")
    print(f"  idle                       {share * 100:8.1f} % of a core")
    print(f"  idle with {WARM} of them       {alone * 100:8.1f} % of a core")
    print(f"  from decision to end, p50  {late[0] * 1000:8.0f} ms")
    print(f"  from decision to end, p99  {late[1] * 1000:8.0f} ms")
    print(f"  restart after kill -9      {restart:8.1f} s, {again['cpu']:.1f} s of CPU")
    print(f"  memory of the new process  {memory / 2**20:8.1f} MiB")


async def _answer(folder: Path, process: Process, number: int) -> tuple[float, float]:
    """Approve so many at moments of no pattern; return how late runs ended, p50 and p99."""
    database = Database(f"sqlite:///{folder / 'fettle.db'}")
    stored, decided = StoredApprovals(database), {}
    for waiting in random.Random(1).sample(await stored.list_waiting(), number):
        await asyncio.sleep(random.Random(waiting.id).uniform(0, 0.1))
        await stored.decide(waiting.id, verdict="approved", by="ada", by_id=None, via="terminal")
        decided[waiting.run_id] = time.time()
    database.close()
    while len(ended := process.ask("ends")) < number:
        await asyncio.sleep(0.1)
    late = [ended[run_id] - at for run_id, at in decided.items()]
    return statistics.median(late), statistics.quantiles(late, n=100)[-1]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--idle", type=int, default=20, help="seconds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
