"""A process with an engine and one run of three steps: `python engine_process.py URL FOLDER`.

Each step notes its begin and its end; the second waits for as long as FOLDER/slow is there.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from app.engine import Engine

URL, FOLDER = sys.argv[1], Path(sys.argv[2])


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
    engine = Engine(URL, conduct, executor="one", stages_at_once=1)
    await engine.launch()
    await engine.enqueue("run", "lane", {})
    note(f"result {await engine.result('run')}")
    await engine.drain(1)


asyncio.run(main())
