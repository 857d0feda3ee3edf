"""How fast deliveries are answered: side by side with a bare handler and with Probot.

    python tests/bench/webhooks [--seconds N] [--rounds N] [--connections N] [--folder PATH]

Every server runs pinned to one core, the sender to another. They take turns in short slices, so
that whatever else the machine does hits all of them; a ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.bench.npm import CACHE
from tests.bench.webhooks.kill import kill_in_mid_load
from tests.bench.webhooks.load import Deliveries, Result, load
from tests.bench.webhooks.processes import (
    SECRET,
    FettleServer,
    ProbotServer,
    ServerProcess,
    probot_home,
    recorded_payload,
)

WARM_UP_SECONDS = 0.5
KILLS = 3


@dataclass
class Variant:
    """One kind of delivery at one server, and how it went."""

    key: str
    title: str
    server: ServerProcess
    deliveries: Deliveries
    status: int
    total: Result = field(default_factory=Result)
    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Microseconds of the server's core for each delivery, one figure for each round."""

    def slice(self, seconds: float, connections: int, *, counts: bool) -> None:
        before = self.server.cpu_seconds()
        result = load(self.server.port, self.deliveries, seconds=seconds, connections=connections)
        used = self.server.cpu_seconds() - before
        if set(result.statuses) != {self.status}:
            raise SystemExit(f"{self.title}: answered {dict(result.statuses)}")
        if counts:
            self.total.add(result)
            self.rates.append(result.rate)
            self.cpu.append(used / len(result.latencies) * 1e6)


def main() -> None:
    """Measure, and print the table."""
    arguments = _arguments()
    cores = sorted(os.sched_getaffinity(0))
    server_core, sender_core = (cores[0], cores[1]) if len(cores) > 1 else (None, None)
    if sender_core is not None:
        os.sched_setaffinity(0, {sender_core})
    CACHE.mkdir(parents=True, exist_ok=True)
    home, why_not = probot_home()
    payload, origin = recorded_payload(home)
    print(f"payload: issues.labeled, {origin}; {arguments.connections} connections; ", end="")
    print("one core each" if server_core is not None else "a single core for all: no ratios count")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=arguments.folder)))
        variants = _variants(stack, folder, payload, home, server_core)
        _take_turns(variants, arguments)
        _print_table(variants)
    if home is None:
        print(f"d  Probot: skipped, {why_not}")
    _kills(payload, arguments, server_core)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="for each line of the table")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument(
        "--folder", type=Path, default=CACHE, help="where the databases go: the disk that counts"
    )
    return parser.parse_args()


def _variants(
    stack: ExitStack, folder: Path, payload: dict, home: Path | None, core: int | None
) -> list[Variant]:
    def start(kind: str) -> ServerProcess:
        (folder / kind).mkdir()
        server = FettleServer(kind, folder / kind, core)
        stack.callback(server.stop)
        return server

    def sends(event: str, action: str) -> Deliveries:
        return Deliveries(
            {**payload, "action": action}, event=event, secret=SECRET, path="/webhook"
        )

    bare, fettle, dispatching = start("bare"), start("fettle"), start("dispatching")
    found = [
        Variant("a", "bare aiohttp: reads, verifies", bare, sends("issues", "labeled"), 202),
        Variant("b", "event nobody handles", fettle, sends("star", "created"), 204),
        Variant("b", "action nobody handles", fettle, sends("issues", "assigned"), 204),
        Variant("c", "actionable, committed", fettle, sends("issues", "labeled"), 202),
        Variant("c", "... and dispatched", dispatching, sends("issues", "labeled"), 202),
    ]
    if home is not None:
        probot = ProbotServer(home, folder, core)
        stack.callback(probot.stop)
        found.append(Variant("d", "Probot, keeps nothing", probot, sends("issues", "labeled"), 200))
    return found


def _take_turns(variants: list[Variant], arguments: argparse.Namespace) -> None:
    for variant in variants:
        variant.slice(WARM_UP_SECONDS, arguments.connections, counts=False)
    for _ in range(arguments.rounds):
        for variant in variants:
            seconds = arguments.seconds / arguments.rounds
            variant.slice(seconds, arguments.connections, counts=True)


def _print_table(variants: list[Variant]) -> None:
    bare = variants[0]
    print(
        f"\n   {'':32}{'req/s':>8}{'x (a)':>7}{'p50 ms':>8}{'p99 ms':>8}{'cpu us':>8}{'x (a)':>7}"
    )
    for each in variants:
        by_rate = statistics.median(map(_ratio, each.rates, bare.rates))
        by_cpu = statistics.median(map(_ratio, bare.cpu, each.cpu))
        print(
            f"{each.key}  {each.title:32}{each.total.rate:8,.0f}{by_rate:7.2f}"
            f"{each.total.percentile(0.5):8.2f}{each.total.percentile(0.99):8.2f}"
            f"{statistics.median(each.cpu):8.0f}{by_cpu:7.2f}"
        )
    print("   the second ratio is by the core's time for each delivery, which other load on the")
    print("   machine and waiting for its disk disturb less\n")
    _print_aims(variants)


def _print_aims(variants: list[Variant]) -> None:
    bare, other_event, other_action, kept, *rest = variants
    for what, variant, base, aim in [
        ("(b) over (a), events", other_event, bare, 0.85),
        ("(b) over (a), actions", other_action, bare, 0.85),
        ("(c) over (a)", kept, bare, 0.55),
        *[("(c) over (d)", kept, probot, 1.0) for probot in rest if probot.key == "d"],
    ]:
        ratio = statistics.median(map(_ratio, variant.rates, base.rates))
        print(f"   {what:24} {ratio:5.2f}   aim {aim:.2f}   {'met' if ratio >= aim else 'missed'}")
    p99, floor = kept.total.percentile(0.99), bare.total.percentile(0.99)
    print(
        f"   {'(c) p99':24} {p99:5.1f}   aim 15 ms  {'met' if p99 < 15 else 'missed'}"
        f" ((a) itself: {floor:.1f})"
    )


def _ratio(one: float, other: float) -> float:
    return one / other


def _kills(payload: dict, arguments: argparse.Namespace, core: int | None) -> None:
    print()
    for number in range(KILLS):
        folder = Path(tempfile.mkdtemp(dir=arguments.folder))
        try:
            killed = kill_in_mid_load(
                folder,
                payload,
                after=0.7 + number / 3,
                connections=arguments.connections,
                core=core,
            )
        finally:
            shutil.rmtree(folder)
        print(
            f"   kill -9 in mid-load: {killed.acknowledged:,} acknowledged, {killed.stored:,} "
            f"stored, {killed.lost} lost"
        )
        if killed.lost:
            raise SystemExit("an acknowledged delivery was lost")


if __name__ == "__main__":
    main()
