"""Run again what fails newly, before anybody is asked to mend it: tests may fail now and then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents.analysis.check_failures import Comparison, compare, confirm_failures, list_names
from agents.analysis.test_runners import NOTHING, Additions
from agents.analysis.weakening import RemovedTests, make_finding
from agents.pipelines.stages.quality.results import CheckResult
from agents.ports import FlakyTest

ALONE = 3  # times that a test which fails newly is run by itself
FURTHER = 7  # times more before the change, where earlier runs saw the test fail now and then
PATIENCE = 300.0  # seconds of whole runs after which no further one is begun
LONG, MANY = 60.0, 5  # seconds, and times the tests asked for: then it runs all of them each time

_UNSURE = (
    "with the change, {names} failed at first and then in one of {times} runs by itself, and in"
    " none before the change, so nothing says whether the change is the cause"
)
_UNSURE_WHOLE = (
    "with the change, {names} failed at first and then in {again} of {times} runs of all, and in"
    " none before the change, so nothing says whether the change is the cause"
)
_UNSURE_TOGETHER = (
    "with the change, {names} failed at first, then in none of {times} runs by itself and not in a"
    " second run of all, and in no run before the change, so nothing says whether the change is the"
    " cause"
)
_LOST = "{fewer} in {check}, by rows or data that changed, as far as anybody can tell"

RunCheck = Callable[[str, Additions], Awaitable[CheckResult]]
"""Runs the check on a commit, with these additions, and all that it runs afresh."""
SelectTests = Callable[[Sequence[str]], Additions | None]
"""Takes names of tests; None where nothing runs just these."""


@dataclass(frozen=True)
class Confirmation:
    """Runs one check again until it is as certain as it can be what fails newly in it."""

    before: Sequence[CheckResult]
    base: str
    head: str
    run_check: RunCheck
    select: SelectTests
    known: Mapping[str, FlakyTest] = field(default_factory=dict)
    """What earlier runs saw fail now and then. Where such a test would leave the verdict open, it
    is looked at for longer, and judged by what is seen now: a memory excuses no test that fails
    twice. One that failed once is not looked for before the change if it failed there earlier."""
    removed: RemovedTests = field(default_factory=RemovedTests)
    """What the change takes out of its tests, as far as that can be told."""

    async def confirm(self, now: CheckResult) -> CheckResult:
        """Return how the check ended with what it says of the change.

        A test that fails newly is run alone three times. Where it fails each time, it is new. Where
        it fails sometimes, how it does alone before the change decides. Where it never does, the
        whole check runs again: tests can fail because of each other. What was seen to fail with the
        change alone is unsure, unless earlier runs know that it flakes.
        """
        found = self._compare(now)
        if found.fewer:
            return await self._run_for_missing(now, found)
        if found.verdict != "worse" or _is_repeatable(now, found.new):
            return _judge(now, found.verdict, found.new, why=found.why)
        alone = await self._run_alone(self.head, found.new)
        if alone is None:
            return await self._run_whole(now, found.new)
        certain = [name for name, failed in alone.items() if failed == ALONE]
        sometimes = [name for name, failed in alone.items() if 0 < failed < ALONE]
        doubtful = [name for name in sometimes if alone[name] == 1 and name in self.known]
        flaky = await self._find_flaky_before(sometimes, doubtful)
        stable = [name for name in sometimes if name not in flaky]
        certain += [name for name in stable if alone[name] > 1]
        if certain:
            return _judge(now, "worse", certain, seen=found.new, before=flaky)
        unsure = [name for name in stable if alone[name] == 1]
        if unsure:
            why = _UNSURE.format(names=list_names(unsure), times=ALONE)
            return _judge(now, "unknown", why=why, seen=found.new, before=flaky)
        return await self._run_together(found.new, flaky)

    async def _run_for_missing(self, now: CheckResult, found: Comparison) -> CheckResult:
        """Return what comes of tests that did not run: chance, where it shows in another run.

        That is one of the change in which they run, or one before it in which they do not either.
        """
        again = await self.run_check(self.head, NOTHING)
        if not self._compare(again).fewer:
            return await self.confirm(again)
        earlier = await self.run_check(self.base, NOTHING)
        before = [earlier if each == self.before[0] else each for each in self.before]
        varies = self._compare(earlier).fewer  # names that are others in each run
        removed = replace(self.removed, product=None) if varies else self.removed
        if compare(before, again, removed=removed).verdict == "no worse":
            return _judge(again, "no worse")
        return self._ask_about_lost(_judge(now, found.verdict, why=found.why), found)

    def _ask_about_lost(self, run: CheckResult, found: Comparison) -> CheckResult:
        """Return it as no worse with what people have to agree to, where tables changed.

        Fewer rows can be why fewer tests ran. How many they were, the run says, and no diff.
        """
        if not (found.fewer and self.removed.tables):
            return run
        text = _LOST.format(fewer=found.fewer, check=run.name)
        lost = make_finding(self.removed.tables[0], 0, "removed", text)
        return run.model_copy(update={"verdict": "no worse", "why": "", "lost": (lost,)})

    async def _find_flaky_before(self, names: Sequence[str], doubtful: Sequence[str]) -> list[str]:
        """Return those of these tests that fail by themselves before the change, at least once.

        `doubtful`: those that are tried more often.
        """
        earlier = await self._run_alone(self.base, names) if names else None
        if earlier is None:
            return []
        quiet = [name for name in doubtful if not earlier[name]]
        for _ in range(FURTHER):
            again = await self._run_alone(self.base, quiet, times=1) if quiet else None
            if again is None:
                break
            earlier |= again
            quiet = [name for name in quiet if not again[name]]
        return [name for name in names if earlier[name]]

    async def _run_alone(
        self, commit: str, names: Sequence[str], *, times: int = ALONE
    ) -> dict[str, int] | None:
        """Return how often each of these tests failed by itself; None where that cannot be."""
        chosen = self.select(names)
        if chosen is None:
            return None
        failed = dict.fromkeys(names, 0)
        for _ in range(times):
            run = await self.run_check(commit, chosen)
            ran = run.failures.ran
            if run.stopped or not ran or (ran > len(names) * MANY and run.seconds > LONG):
                return None
            for name in set(run.failures.names) & failed.keys():
                failed[name] += 1
        return failed

    async def _run_together(self, names: Sequence[str], flaky: Sequence[str]) -> CheckResult:
        """Return what comes of tests that can pass alone: they may fail beside the others only.

        `flaky`: those of them that were seen to fail before the change, too.
        """
        again = await self.run_check(self.head, NOTHING)
        found = self._compare(again, flaky)
        both = confirm_failures(names, found.new)
        if both or (found.verdict == "worse" and not found.new):
            return _judge(again, "worse", both, seen=(*names, *found.new), before=flaky)
        seen = (*names, *found.new)
        strangers = [each for each in self._list_strangers(seen) if each not in flaky]
        before = await self._find_failing_before(strangers) if strangers else ()
        if strangers and not before:
            why = _UNSURE_TOGETHER.format(names=list_names(strangers), times=ALONE)
            return _judge(again, "unknown", why=why, seen=seen, before=flaky)
        return self._tolerate(again, seen, before=(*flaky, *before))

    async def _run_whole(self, now: CheckResult, names: Sequence[str]) -> CheckResult:
        """Return what comes of running all of it again, where no test can be run by itself.

        As of tests that can: what fails each time is new, what never does again is flaky. What
        fails sometimes is held against the change unless it does so before the change, too.
        """
        rest, seen, reds, spent = tuple(names), tuple(names), 0, 0.0
        green: CheckResult | None = None
        for _ in range(ALONE):
            again = await self.run_check(self.head, NOTHING)
            found = self._compare(again)
            same = confirm_failures(rest, found.new) if found.verdict == "worse" else ()
            if same or (found.verdict == "worse" and not names):
                rest, reds = same, reds + 1
            else:
                green, seen = again, (*seen, *found.new)
            spent += again.seconds
            if spent > PATIENCE:
                break
        if green is None:
            return _judge(now, "worse", rest, seen=names)
        names = seen or (now.name,)
        known = not (reds or self._list_strangers(names))
        before = () if known else await self._find_failing_before(rest if reds else seen)
        if known or before:
            return self._tolerate(green, names, before=before)
        if reds > 1:
            return _judge(now, "worse", rest, seen=seen)
        said = {"names": list_names(rest or names), "again": "one" if reds else "none"}
        why = _UNSURE_WHOLE.format(**said, times=ALONE)
        return _judge(green, "unknown", why=why, seen=seen)

    async def _find_failing_before(self, names: Sequence[str]) -> Collection[str]:
        """Return those of these that fail in whole runs before the change.

        Without names, that is the check itself, if it fails at all.
        """
        spent = 0.0
        for _ in range(ALONE):
            if spent > PATIENCE:
                break
            run = await self.run_check(self.base, NOTHING)
            spent += run.seconds
            failed = {name for told in run.failures.programs for name in told.names}
            seen = failed & {*names} if names else {run.name}
            if run.failed and seen:
                return seen
        return ()

    def _list_strangers(self, names: Iterable[str]) -> list[str]:
        """Return the names that no earlier run saw fail without a change."""
        return [n for n in names if n not in self.known or not self.known[n].unchanged]

    def _compare(self, now: CheckResult, tolerated: Collection[str] = ()) -> Comparison:
        return compare(self.before, now, tolerated=tolerated, removed=self.removed)

    def _tolerate(
        self, run: CheckResult, flaky: Sequence[str], *, before: Collection[str] = ()
    ) -> CheckResult:
        """Return what a run says where these names are known to come and go."""
        found = self._compare(run, flaky)
        judged = _judge(run, found.verdict, found.new, seen=flaky, why=found.why, before=before)
        return self._ask_about_lost(judged, found)


def _judge(
    run: CheckResult,
    verdict: str,
    new: Sequence[str] = (),
    *,
    seen: Iterable[str] = (),
    why: str = "",
    before: Collection[str] = (),
) -> CheckResult:
    """Return the run with its verdict; what was seen to fail and is not new is flaky.

    `before`: those of them that were seen to fail before the change, too.
    """
    flaky = tuple(name for name in dict.fromkeys(seen) if name not in new)
    said = {
        "verdict": verdict,
        "new": tuple(new),
        "flaky": flaky,
        "flaky_before": tuple(name for name in flaky if name in before),
        "why": why,
    }
    return run.model_copy(update=said)


def _is_repeatable(run: CheckResult, names: Sequence[str]) -> bool:
    """Return whether linters or compilers found some of it: they say the same each time."""
    found = {name for told in run.failures.programs if told.ran is None for name in told.names}
    return not found.isdisjoint(names)
