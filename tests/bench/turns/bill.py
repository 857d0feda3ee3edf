"""The bill of whole runs, for the bench `turns`: answers, tokens and dollars, before and after."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anthropic.types import Usage as ReportedUsage

from agents.loop.prices import PriceList, usage_of
from agents.ports import Usage
from app.config.settings import load_settings
from app.evaluation.case import find_cases
from app.evaluation.evaluate import EvaluationPlan, Evaluator
from tests.bench.npm import CACHE
from tests.bench.turns.engineer import FAST, write_cases
from tests.bench.turns.place import Work
from tests.bench.turns.review import address

MODEL = "claude-opus-5-5"
BASELINE_COMMIT = "092468d"
DOLLARS_AIM, SHORT_AIM, LONG_AIM = 0.60, 0.85, 0.95
FAST_DOLLARS, FAST_ANSWERS = 0.45, 8


def _tokens(output: int, minutes: int, hour: int, read: int) -> Usage:
    return Usage(output=output, cache_write_5m=minutes, cache_write_1h=hour, cache_read=read)


@dataclass(frozen=True)
class Bill:
    """What one run took."""

    work: str
    answers: int
    usd: float
    usage: Usage = field(default_factory=Usage)

    @property
    def cached(self) -> float:
        """Return how much of the whole input came from the cache, from 0 to 1."""
        read, written = self.usage.cache_read, self.usage.cache_write_5m + self.usage.cache_write_1h
        return read / max(1, read + written + self.usage.input)


BASELINE: Mapping[str, Bill] = {
    bill.work: bill
    for bill in (
        Bill("one-file", 13, 0.1770, _tokens(1_923, 7_830, 11_041, 55_551)),
        Bill("three-step", 21, 0.2158, _tokens(2_751, 10_885, 11_041, 89_942)),
        Bill("ten threads", 7, 0.1822, _tokens(980, 20_241, 6_569, 43_986)),
        Bill("long", 53, 0.4159, _tokens(5_103, 21_853, 11_041, 581_261)),
    )
}
"""What the same work took at `BASELINE_COMMIT`, by this file's own measure."""
SAME_WORK = {FAST: "one-file"}
"""Work that is another piece's, on another path: both are held against the one before."""


async def bills() -> list[Bill]:
    """Have the work done, and return what each piece took."""
    return [*await _evaluate(), _sum_up("ten threads", await address())]


async def _evaluate() -> list[Bill]:
    """Have the cases resolved as `fettle eval --script` does."""
    os.environ["FETTLE_DATA_DIR"] = str(CACHE / "evaluation")
    with tempfile.TemporaryDirectory(prefix="fettle-bench-") as folder:
        write_cases(Path(folder))
        plan = EvaluationPlan(find_cases(Path(folder)), scripted=True)
        ended = await Evaluator(load_settings(serving=False), plan, lambda text: None).run()
    if wrong := [each for each in ended.results if each.state != "solved"]:
        raise SystemExit(f"{wrong[0].case} is {wrong[0].state}: {'; '.join(wrong[0].why)}")
    return [Bill(each.case, each.turns, each.usd, each.usage) for each in ended.results]


def _sum_up(name: str, work: Work) -> Bill:
    answered = [asked for asked in work.asked if asked.answered]
    usages = [usage_of(ReportedUsage.model_validate(asked.usage)) for asked in answered]
    costs = map(PriceList().cost_of, (asked.model for asked in answered), usages)
    usd = sum(cost for cost in costs if cost is not None)
    return Bill(name, len(answered), usd, sum(usages, Usage()))


def print_bills(found: Sequence[Bill]) -> None:
    """Print each beside what it was at the baseline."""
    print(f"Whole runs by a scripted engineer, list prices of {MODEL}, tokens as the local model")
    print(f"counts them; before: commit {BASELINE_COMMIT}:")
    print(
        f"   {'':20}{'answers':>8}{'input':>7}{'write 1h':>9}{'write 5m':>9}{'read':>9}"
        f"{'output':>8}{'$':>8}{'cached':>8}{'of before':>10}"
    )
    for bill in found:
        before = BASELINE.get(SAME_WORK.get(bill.work, bill.work))
        if before is not None and bill.work not in SAME_WORK:
            print(_row(f"{bill.work}, before", before))
        share = f"{bill.usd / before.usd * 100:8.0f} %" if before else ""
        print(_row(f"{bill.work}, now", bill) + share)
    by_work = {bill.work: bill for bill in found}
    if "one-file" in by_work and "one-file" in BASELINE:
        _print_aim(
            "dollars of one-file", by_work["one-file"].usd / BASELINE["one-file"].usd, DOLLARS_AIM
        )
    if FAST in by_work:
        fast = by_work[FAST]
        _print_aim("dollars of its fast path", fast.usd / BASELINE["one-file"].usd, FAST_DOLLARS)
        said = "met" if fast.answers <= FAST_ANSWERS else "missed"
        print(f"   answers of its fast path: {fast.answers}, aim {FAST_ANSWERS}: {said}")
    for work, aim in (("one-file", SHORT_AIM), ("long", LONG_AIM)):
        if work in by_work:
            _print_aim(f"read from the cache, {work}", -by_work[work].cached, -aim)


def _row(title: str, bill: Bill) -> str:
    u = bill.usage
    return (
        f"   {title:20}{bill.answers:8}{u.input:7,}{u.cache_write_1h:9,}{u.cache_write_5m:9,}"
        f"{u.cache_read:9,}{u.output:8,}{bill.usd:8.3f}{bill.cached * 100:6.1f} %"
    )


def _print_aim(what: str, share: float, aim: float) -> None:
    said = "met" if share <= aim else "missed"
    print(f"   {what}: {abs(share) * 100:.1f} %, aim {abs(aim) * 100:.0f} %: {said}")
