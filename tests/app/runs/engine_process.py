"""A worker with one run of three steps: `python engine_process.py URL FOLDER NAME`.

Each step notes its begin and its end; the second waits for as long as FOLDER/slow is there.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from app.runs.engine import Engine

URL, FOLDER, NAME = sys.argv[1], Path(sys.argv[2]), sys.argv[3]


async def conduct(run_id, request, steps):
    async def work(number):
        note(f"begin {number}")
        while number == 2 and (FOLDER / "slow").exists():
            await asyncio.sleep(0.01)
        note(f"end {number}")
        return number

    return [await steps.step(f"stage/work/{n}", lambda n=n: work(n)) for n in (1, 2, 3)]


def note(text):
    with (FOLDER / "notes").open("a") as notes:
        notes.write(text + "\n")


async def main():
    engine = Engine(URL, executor=NAME)
    await engine.launch(conduct)
    await engine.enqueue(f"run-{NAME}", f"lane-{NAME}", {})
    note(f"result {await engine.result(f'run-{NAME}')}")
    await engine.drain(1)


asyncio.run(main())
