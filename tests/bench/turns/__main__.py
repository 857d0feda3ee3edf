"""What Fettle itself costs: a run's bill, a turn, a run among many; beside `claude`, and another.

python tests/bench/turns [--turns N] [--rounds N] [--latency SECONDS] [--runs N ...]
                         [--only PART ...]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.bench.turns.bill import bills, print_bills
from tests.bench.turns.cache import print_shares
from tests.bench.turns.claude import claude_columns, fettle_columns, print_columns
from tests.bench.turns.crowd import crowd, print_crowds
from tests.bench.turns.mini import compare, print_comparison
from tests.bench.turns.place import open_place
from tests.bench.turns.processes import load_average
from tests.bench.turns.prompt import prefixes, print_prefixes
from tests.bench.turns.session import measure, print_session

PARTS = ("prompt", "bill", "session", "crowd", "claude", "mini")


def main() -> None:
    """Measure, and print one part after the other."""
    asyncio.run(_measure(_arguments()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=42, help="of the long session")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=float, default=0.2, help="of the model, in seconds")
    parser.add_argument("--runs", type=int, nargs="*", default=[1, 20, 100], help="at once")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    return parser.parse_args()


async def _measure(arguments: argparse.Namespace) -> None:
    latency = arguments.latency
    print(f"local model, {latency} s for an answer; {load_average()}\n")
    found = await prefixes()
    if "prompt" in arguments.only:
        print_prefixes(found)
    if "bill" in arguments.only:
        print()
        print_bills(await bills())
    if {"session", "claude"}.intersection(arguments.only):
        async with open_place(latency=latency) as place:
            session = await measure(
                place, rounds=arguments.rounds, number=arguments.turns, latency=latency
            )
        print()
        print_session(session)
        print()
        print_shares(session.long_session())
    if "claude" in arguments.only:
        columns, why_not = claude_columns(session)
        print()
        print_columns(
            [*fettle_columns(session, max(each.total for each in found)), *columns], session.turns
        )
        print(f"   claude: skipped, {why_not}" if why_not else "", end="\n" if why_not else "")
    if "mini" in arguments.only:
        print()
        print_comparison(await compare())
    if "crowd" in arguments.only:
        print()
        print_crowds([await crowd(n, latency=latency) for n in arguments.runs], latency)
    print(f"\n{load_average()}")


if __name__ == "__main__":
    main()
