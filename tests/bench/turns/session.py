"""The session of the bench `turns`: what Fettle itself needs for a turn, beside a bare script."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Row, select

from agents.loop.conversation import system_prompt, tool_list
from agents.pipelines.resolve.pipeline import CONVERSATIONS
from app.store.database import Database
from app.store.tables import turns
from tests.bench.turns.place import BenchPlace, Work
from tests.bench.turns.processes import Watch, cpu_of
from tests.bench.turns.script import KINDS, LONG_STAGE, fettle_script, kind_of

FLOOR = Path(__file__).with_name("floor.py")
MOST_TOKENS = 32_000
IDLE_SECONDS = 6.0


@dataclass
class Session:
    """What was measured, one entry for each round."""

    turns: int
    latency: float
    short: list[Work] = field(default_factory=list)
    """The run as it is in the flows."""
    long: list[Work] = field(default_factory=list)
    """The same, drawn out by `turns`."""
    floor: list[dict[str, float]] = field(default_factory=list)
    gaps: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Milliseconds between an answer and the results of its call, by tool; `ask` between results
    and the next answer, less the model's latency."""
    memory: float = 0.0
    """MiB of the server at its peak."""
    memory_children: float = 0.0
    idle: float = 0.0
    """Share of a core that the server takes when it has nothing to do."""

    def per_turn(self, what: str) -> list[float]:
        """Return the milliseconds that each further turn costs, one figure for each round."""
        return [
            1000 * (self._total(long, what) - self._total(short, what)) / self.turns
            for short, long in zip(self.short, self.long, strict=True)
        ]

    def floor_per_turn(self, what: str) -> list[float]:
        """Return the same of the bare script."""
        rested = self.latency if what == "wall" else 0.0
        of = "cpu" if what == "busy" else what
        return [1000 * (each[of] / each["answers"] - rested) for each in self.floor]

    def _total(self, work: Work, what: str) -> float:
        if what == "wall":
            return work.own_wall(self.latency)
        if what == "busy":
            return work.cpu.own - self.idle * work.wall
        return work.cpu.own if what == "cpu" else work.cpu.children

    def long_session(self) -> list[dict[str, Any]]:
        """Return the usage of each answer of the last long stage."""
        last = max(asked.turn for asked in self.long[-1].asked)
        [part] = {asked.part for asked in self.long[-1].asked if asked.turn == last}
        return [asked.usage for asked in self.long[-1].asked if asked.part == part]


async def measure(place: BenchPlace, *, rounds: int, number: int, latency: float) -> Session:
    """Take turns: a short run, a long one, the floor. A first run warms everything up."""
    measured = Session(number, latency)
    await place.resolve(fettle_script(0))
    for _ in range(rounds):
        measured.short.append(await place.resolve(fettle_script(0)))
        async with Watch(place.pid) as watch:
            measured.long.append(await place.resolve(fettle_script(number)))
        measured.memory = max(measured.memory, watch.own)
        measured.memory_children = max(measured.memory_children, watch.children)
        rows = await _long_session(place)
        _note_gaps(measured, rows)
        measured.floor.append(await _floor(place, rows))
    measured.idle = await _idle(place)
    return measured


async def _idle(place: BenchPlace) -> float:
    await asyncio.sleep(1)
    before = cpu_of(place.pid)
    await asyncio.sleep(IDLE_SECONDS)
    return (cpu_of(place.pid) - before).own / IDLE_SECONDS


async def _long_session(place: BenchPlace) -> Sequence[Row[Any]]:
    """Return the turns of the newest session that is as long as none before."""
    database = Database(place.server.database_url)
    try:
        rows = await database.read(
            lambda c: c.execute(
                select(turns).where(turns.c.kind != "head").order_by(turns.c.created_at)
            ).all()
        )
    finally:
        database.close()
    sessions: dict[tuple[str, str], list[Row[Any]]] = defaultdict(list)
    for row in rows:
        sessions[row.run_id, row.session].append(row)
    longest = max(len(each) for each in sessions.values())
    return [each for each in sessions.values() if len(each) == longest][-1]


def _note_gaps(measured: Session, rows: Sequence[Row[Any]]) -> None:
    for number in range(measured.turns):
        results, answer = rows[2 * number], rows[2 * number + 1]
        after = rows[2 * number + 2]
        asked = answer.created_at - results.created_at - measured.latency
        measured.gaps["ask"].append(1000 * asked)
        measured.gaps[kind_of(number)].append(1000 * (after.created_at - answer.created_at))


async def _floor(place: BenchPlace, rows: Sequence[Row[Any]]) -> dict[str, float]:
    prompt, *rest = [json.loads(row.content) for row in rows]
    results = [
        [block["content"] for block in told if block["type"] == "tool_result"]
        for told in rest[1::2]
    ]
    *tools, last = tool_list(CONVERSATIONS)
    tools.append({**last, "cache_control": {"type": "ephemeral", "ttl": "1h"}})
    request = {
        "model": place.model.requests[-1].model,
        "max_tokens": MOST_TOKENS,
        "system": [{"type": "text", "text": system_prompt()}],
        "tools": tools,
        "cache_control": {"type": "ephemeral"},
        "thinking": {"type": "adaptive", "display": "summarized"},
    }
    told = {"url": place.model.url, "request": request, "prompt": prompt[0]["text"]}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(FLOOR)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    told_all = json.dumps({**told, "results": results}).encode()
    printed, _ = await process.communicate(told_all)
    if process.returncode:
        raise SystemExit("the bare script failed")
    found: dict[str, float] = json.loads(printed)
    return found


def print_session(measured: Session) -> None:
    """Print what a turn costs, and what a whole run."""
    print(
        f"A turn, out of a session of {measured.turns} more than the short run has ({LONG_STAGE}):"
    )
    print(f"   {'':38}{'Fettle':>9}{'bare SDK':>10}{'ratio':>8}")
    for title, what in (
        ("own CPU, ms", "cpu"),
        ("... less what an idle server takes", "busy"),
        ("own wall, ms", "wall"),
    ):
        ours, floor = measured.per_turn(what), measured.floor_per_turn(what)
        ratio = statistics.median(one / other for one, other in zip(ours, floor, strict=True))
        print(f"   {title:38}{_mid(ours):9.1f}{_mid(floor):10.1f}{ratio:8.1f}")
    title = "CPU of what it starts (git, sandbox), ms"
    print(f"   {title:40}{_mid(measured.per_turn('children')):7.1f}{'-':>10}")
    print("   own wall: all but the model's latency and the commands' time; the local model and")
    print("   GitHub work on the same cores. Wall by call, the command's own time not taken off:")
    gaps = "   ".join(f"{kind} {_mid(measured.gaps[kind]):.0f} ms" for kind in ("ask", *KINDS))
    print(f"     {gaps}")
    for title, works in (("short", measured.short), ("long", measured.long)):
        _print_run(title, works, measured.latency)
    print(f"   an idle server takes {measured.idle * 100:.1f} % of a core")
    print(f"   peak memory: server {measured.memory:.0f} MiB, what it starts ", end="")
    print(f"{measured.memory_children:.0f} MiB")


def _print_run(title: str, works: list[Work], latency: float) -> None:
    print(
        f"   the {title} run, label to pull request: {works[0].answers} answers,"
        f" {_mid([w.wall for w in works]):.1f} s,"
        f" own wall {_mid([w.own_wall(latency) for w in works]):.2f} s,"
        f" own CPU {_mid([w.cpu.own for w in works]):.2f} s,"
        f" of children {_mid([w.cpu.children for w in works]):.2f} s"
    )


def _mid(values: list[float]) -> float:
    return statistics.median(values)
