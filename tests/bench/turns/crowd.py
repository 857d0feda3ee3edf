"""Many runs at once, for the bench `turns`: memory of each, and how long all of them take."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from app.simulator.model.ledger import LoggedRequest
from tests.bench.turns.place import BenchPlace, Work, open_place
from tests.bench.turns.processes import Watch, pss_of
from tests.bench.turns.script import fettle_script

DRAWN_OUT = 6
MEETING = 2 * DRAWN_OUT + 5
"""Messages of the request at which all runs wait for one another; no other session has as many."""
REPOSITORIES = 10


@dataclass(frozen=True)
class Crowd:
    """What so many runs took at the same time."""

    runs: int
    work: Work
    before: float
    """MiB of the server that has done one run and has nothing to do."""
    meeting: float
    """... while each run is near the end of its longest session."""
    peak: float
    after: float
    children: float
    """MiB of git and sandboxes, at their peak."""


class Meeting:
    """Lets no run finish its longest session until all of them are there."""

    def __init__(self, place: BenchPlace, number: int) -> None:
        self.memory = 0.0
        self._place, self._number = place, number
        self._there: set[str] = set()
        self._all_there = asyncio.Event()
        place.model.on_request(self._meet)

    async def _meet(self, asked: LoggedRequest) -> None:
        if asked.messages != MEETING or self._all_there.is_set():
            return
        self._there.add(asked.prefix)  # who waits too long asks again
        if len(self._there) == self._number:
            self.memory = pss_of(self._place.pid)
            self._all_there.set()
        await self._all_there.wait()


async def crowd(number: int, *, latency: float) -> Crowd:
    """Have so many issues resolved at once by a new server."""
    repositories = min(number, REPOSITORIES)
    async with open_place(latency=latency, repositories=repositories, at_once=number) as place:
        await place.resolve(fettle_script(0))
        await asyncio.sleep(1)
        before = pss_of(place.pid)
        meeting = Meeting(place, number)
        async with Watch(place.pid, every=0.5) as watch:
            work = await place.resolve(fettle_script(DRAWN_OUT), number)
        await asyncio.sleep(1)
        if not meeting.memory:
            raise SystemExit(f"the {number} runs never met")
        return Crowd(
            number, work, before, meeting.memory, watch.own, pss_of(place.pid), watch.children
        )


def print_crowds(crowds: list[Crowd], latency: float) -> None:
    """Print a line for each number of runs."""
    print("Runs at once, each in its own lane; memory in MiB (PSS) of the server alone, then of")
    print("what it started, at the peak:")
    print(
        f"   {'runs':>5}{'before':>8}{'at once':>9}{'a run':>7}{'peak':>7}{'after':>7}"
        f"{'started':>9}{'wall s':>8}{'a run':>7}{'CPU s/run':>11}{'started':>9}"
    )
    for each in crowds:
        work, runs = each.work, each.runs
        print(
            f"   {runs:5}{each.before:8.0f}{each.meeting:9.0f}"
            f"{(each.meeting - each.before) / runs:7.2f}{each.peak:7.0f}{each.after:7.0f}"
            f"{each.children:9.0f}{work.wall:8.1f}{work.wall / runs:7.2f}"
            f"{work.cpu.own / runs:11.2f}{work.cpu.children / runs:9.2f}"
        )
    answers = crowds[-1].work.answers / crowds[-1].runs
    print(f"   each run: {answers:.0f} answers of {latency} s, and the wait until all have met")
