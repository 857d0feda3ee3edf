"""Stages measure_base, check_quality: run the checks on the default branch, then on the change.

The exit codes are recorded by our process. A check that failed before the change is shown to
people but not held against it: only new failures count. Where a check says by name what fails,
that holds for each of its tests and findings; else for the check as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from agents.analysis.check_failures import NEVER_COUNTED, compare
from agents.analysis.services import Service
from agents.analysis.test_runners import Additions, run_afresh, select_tests
from agents.analysis.weakening import RemovedTests, count_removed_tests
from agents.pipelines.stages.quality.changed_tests import AROUND
from agents.pipelines.stages.quality.confirm import Confirmation
from agents.pipelines.stages.quality.exit_status import ask_exit_status
from agents.pipelines.stages.quality.find import (
    FoundChecks,
    find_checks,
    find_running_services,
    order_by_touched,
)
from agents.pipelines.stages.quality.flaky import find_known, note_flaky, recall_flaky
from agents.pipelines.stages.quality.lock_agreement import find_unlocked_manifests
from agents.pipelines.stages.quality.own_setup import set_up_change
from agents.pipelines.stages.quality.rebuilt import Behind, note_rewrites, run_behind_builds
from agents.pipelines.stages.quality.recover import ROUNDS, MissingPackages
from agents.pipelines.stages.quality.results import (
    NO_CHECKS,
    NOT_THERE,
    Baseline,
    CheckComparison,
    CheckResult,
    CheckStart,
    RepositoryCheck,
    Starts,
    read_start,
)
from agents.pipelines.stages.quality.run_check import find_call, run_check
from agents.pipelines.stages.quality.second_look import look_again, may_look_again
from agents.pipelines.stages.quality.settle import settle
from agents.pipelines.stages.quality.shared_time import (
    SharedTime,
    allow_for,
    describe_share,
)
from agents.pipelines.stages.quality.unchecked import find_unchecked_parts, find_unseen_files
from agents.pipelines.stages.quality.unparsed import find_unparsed_files
from agents.ports import FlakyTest, SetupResult, WorkTree
from agents.run import StageContext, stage
from agents.text import one_line

NAME_LIMIT = 60  # characters of a check's name in a table
TEST_LIMIT = 90  # and of a test's, which says most at its end
JOINERS = 30  # characters that may be put in between, so that a name sets nothing off
NEW_SHOWN = 3  # names in a table
NEW_TOLD = 40  # names in a prompt

COLLECT_ONLY = Additions(variables={"PYTEST_ADDOPTS": "--collect-only"})
LOOK_SECONDS = 300.0  # for one check that is only to show whether it starts

_NEW = "These fail with the change and did not fail before it:"
_FLAKY = "These fail now and then, whatever was changed, so leave them alone:"
_WROTE = "What the check wrote:"


@stage
async def measure_base(run: StageContext, setup: SetupResult) -> Baseline:
    """Run the checks as things were before."""
    baseline = await _measure_base(run, setup)
    if not await may_look_again(run):
        return baseline
    broken = bool(baseline.setup.problems)
    look = partial(look_at_checks, run, broken=broken, measured=baseline.runs)
    looked = await look_again(run, baseline.setup, _read_starts(baseline), look)
    if looked.proposal is not None and looked.proposal.holds:
        return await _measure_base(run, looked)
    return baseline.model_copy(update={"setup": looked})


async def _measure_base(run: StageContext, setup: SetupResult) -> Baseline:
    found = await find_checks(run)
    services, unstarted = await find_running_services(run) if found.checks else ((), ())
    share = describe_share(found.checks, found.source)
    place = CheckedCommit(run.base, shares_time=bool(share))
    measured, first = await _measure_whole(run, place, found.checks, services)
    notes = [*first]

    async def measure(check: RepositoryCheck) -> CheckResult:
        ended, more = await _measure_whole(run, CheckedCommit(run.base), (check,), services)
        notes.extend(more)
        return ended[0]

    settled = await settle(run, found, measured, measure)
    merging = CheckedCommit(run.merging)
    other = await _measure(run, merging, settled.checks, services) if run.merging else ()
    passed = not any(each.failed for each in settled.runs)
    unasked = [each for each in unstarted if passed and each.is_of_compose]
    return Baseline(
        runs=settled.runs,
        other=other,
        unavailable=settled.missing,
        left_out=settled.left_out,
        source=found.source + settled.remarks + share,
        setup=setup.model_copy(
            update={"notes": (*setup.notes, *notes, *(each.reason for each in unasked))}
        ),
        services=services,
        set_up_for=run.foundation,
        unstarted=tuple(each.reason for each in unstarted if each not in unasked),
        form=4,
        divides=True,
    )


def _read_starts(baseline: Baseline) -> Starts:
    gone = dict.fromkeys(baseline.unavailable, CheckStart(runs=False, why=NOT_THERE))
    broken = bool(baseline.setup.problems)
    return gone | {each.command: read_start(each, broken=broken) for each in baseline.runs}


async def look_at_checks(
    run: StageContext, *, broken: bool, measured: Sequence[CheckResult] | None = None
) -> Starts:
    """Tell which checks of the base come to say anything; pytest collects and runs nothing.

    `broken`: the set-up failed. `measured`: those that counted before, which are looked at again
    with those that could not run then.
    """
    found = await find_checks(run)
    checks = _list_to_look_at(found, measured)
    services, _ = await find_running_services(run) if checks else ((), ())
    starts = dict.fromkeys(found.missing, CheckStart(runs=False, why=NOT_THERE))
    for number, check in enumerate(checks):
        tree = await run.tree(run.base, changing=True, pristine=not number)
        short = check.model_copy(update={"timeout": min(check.timeout, LOOK_SECONDS)})
        ended = await run_check(tree, run.base, short, services, COLLECT_ONLY)
        starts[check.run] = read_start(ended, broken=broken)
    return starts


def _list_to_look_at(
    found: FoundChecks, measured: Sequence[CheckResult] | None
) -> list[RepositoryCheck]:
    listed = {each.run: each for each in found.checks if each.run not in found.besides}
    return [*({each.command: _make_check(each) for each in measured or ()} | listed).values()]


@stage
async def check_quality(run: StageContext, baseline: Baseline) -> CheckComparison:
    """Run the checks with the change."""
    return await compare_checks(run, baseline, run.head)


async def compare_checks(run: StageContext, baseline: Baseline, commit: str) -> CheckComparison:
    """Run the checks on a commit of the run, and say what they tell against the baseline."""
    checks = [_make_check(each) for each in baseline.runs]
    changed = await (await run.tree()).list_changed_paths(run.base, commit)
    order = order_by_touched([check.run for check in checks], changed)
    own = await set_up_change(run, commit)
    at = CheckedCommit(commit, own.commit)
    measured, notes = await _measure_whole(run, at, checks, baseline.services, order)
    baseline, measured = await _add_behind_builds(run, baseline, at, measured)
    known = await recall_flaky(run, measured)
    runs = [
        await _confirm(run, baseline, (*before, now), at, find_known(known, now.command))
        for before, now in zip(baseline.before, measured, strict=True)
    ]
    await note_flaky(run, runs)
    unchecked = await find_unchecked_parts(run, baseline, changed, commit)
    tree = await at.open(run)
    quality = CheckComparison(
        commit=commit,
        runs=tuple(runs),
        baseline=baseline,
        added=tuple(await tree.list_install_commands()),
        unlocked=await find_unlocked_manifests(run, changed, commit),
        own_setup=own.with_notes(notes),
        unchecked=unchecked.folders,
        unrun=unchecked.tests,
        unseen=await find_unseen_files(run, baseline, changed, commit),
        unparsed=await find_unparsed_files(run, baseline, changed, tree, commit),
    )
    run.summarize(_say(quality.runs) or NO_CHECKS)
    return quality


async def _add_behind_builds(
    run: StageContext, baseline: Baseline, at: CheckedCommit, measured: tuple[CheckResult, ...]
) -> tuple[Baseline, tuple[CheckResult, ...]]:
    """Return both with the tests behind builds that write files of the repository."""
    if run.merging or baseline.chosen:
        return baseline, measured
    places = (CheckedCommit(run.base, baseline.set_up_for), at)

    async def measure(checks: Sequence[RepositoryCheck]) -> Behind:
        before, after = [await _measure(run, e, checks, baseline.services) for e in places]
        return before, after

    before, after = await run_behind_builds(measured, measure)
    more = baseline.model_copy(update={"runs": (*baseline.runs, *before)})
    return more, (*measured, *after)


def _make_check(run: CheckResult) -> RepositoryCheck:
    return RepositoryCheck(name=run.name, run=run.command, timeout=run.timeout, named=run.named)


async def _confirm(
    run: StageContext,
    baseline: Baseline,
    ended: Sequence[CheckResult],
    at: CheckedCommit,
    known: Mapping[str, FlakyTest],
) -> CheckResult:
    """Return how a check ended with what it says of the commit; `ended`: before it, then on it."""
    *before, now = ended
    check = _make_check(now)

    call = await find_call(await run.tree(), at.commit, check.run)

    async def run_again(commit: str, given: Additions) -> CheckResult:
        place = at if commit == at.commit else CheckedCommit(commit, baseline.set_up_for)
        tree = await place.open(run, changing=True)
        afresh = run_afresh(now.failures, call)
        return await run_check(tree, commit, check, baseline.services, afresh.join(given))

    select = partial(select_tests, now.failures, call=call)
    good = compare(before, now).verdict == "no worse"
    removed = RemovedTests() if good else await _count_removed(run, at.commit)
    confirmation = Confirmation(before, run.base, at.commit, run_again, select, known, removed)
    judged = await confirmation.confirm(now)
    if judged.why == NEVER_COUNTED:
        judged = await ask_exit_status(run, baseline, before, judged, at.commit)
    told = tuple(known[name] for name in (*judged.new, *judged.flaky) if name in known)
    return judged.model_copy(update={"known": told})


async def _count_removed(run: StageContext, commit: str) -> RemovedTests:
    """Return what the commit removes from tests, of both branches of a merge."""
    tree = await run.tree()
    before = [run.base, run.merging] if run.merging else [run.base]
    diffs = [await tree.diff(each, commit, context=AROUND) for each in before]
    found = [await asyncio.to_thread(count_removed_tests, diff) for diff in diffs]
    return reduce(RemovedTests.join, found)


@dataclass(frozen=True)
class CheckedCommit:
    """A commit that checks run on, and the commit whose dependencies they run with."""

    commit: str
    set_up_for: str = ""
    """Empty: what the run stands on."""
    shares_time: bool = False
    """Whether the checks there have one time for all of them."""

    async def open(
        self, run: StageContext, *, changing: bool = False, pristine: bool = False
    ) -> WorkTree:
        """Return the work tree there."""
        return await run.tree(
            self.commit, changing=changing, pristine=pristine, set_up_for=self.set_up_for
        )


async def _measure_whole(
    run: StageContext,
    at: CheckedCommit,
    checks: Sequence[RepositoryCheck],
    services: Sequence[Service],
    order: Sequence[int] = (),
) -> tuple[tuple[CheckResult, ...], tuple[str, ...]]:
    """Run the checks; where one cannot import what manifests name, again with that installed.

    Of a change that is not set up by itself, all of it was installed before. Returns notes, too.
    """
    runs = await _measure(run, at, checks, services, order)
    lacking = MissingPackages(run, at.commit, at.set_up_for)
    for _ in range(ROUNDS if at.commit == run.base or at.set_up_for else 0):
        if not await lacking.install(runs):
            break
        runs = await _measure(run, at, checks, services, order)
    return runs, tuple(lacking.notes)


async def _measure(
    run: StageContext,
    at: CheckedCommit,
    checks: Sequence[RepositoryCheck],
    services: Sequence[Service],
    order: Sequence[int] = (),
) -> tuple[CheckResult, ...]:
    """Run the checks on exactly that commit, in this order.

    What the engineer left in ignored files is not part of the change, and what one check did to
    the files must not decide the next; what it built may help the next.
    """
    runs: dict[int, CheckResult] = {}
    time = SharedTime.begin(run.clock) if at.shares_time else None
    for number in order or range(len(checks)):
        tree = await at.open(run, changing=True, pristine=not runs)
        check = checks[number]
        limited = time.limit(check, len(checks) - len(runs)) if time else check
        done = await run_check(tree, at.commit, limited, services)
        runs[number] = await note_rewrites(tree, at.commit, done)
    if time:
        await _run_stopped(run, at, checks, services, (time, runs))
    ended = tuple(runs[number] for number in sorted(runs))
    run.summarize(_say(ended) or "no checks that can run here")
    return ended


async def _run_stopped(
    run: StageContext,
    at: CheckedCommit,
    checks: Sequence[RepositoryCheck],
    services: Sequence[Service],
    shared: tuple[SharedTime, dict[int, CheckResult]],
) -> None:
    """Run again what its share of the time was too short for, with what the others left."""
    time, runs = shared
    stopped = [number for number in runs if runs[number].stopped]
    for waited, number in enumerate(stopped):
        check, waiting = checks[number], len(stopped) - waited
        if time.is_worth_another(runs[number], check, waiting):
            tree = await at.open(run, changing=True)
            runs[number] = await run_check(tree, at.commit, time.limit(check, waiting), services)
    for number in runs:
        runs[number] = allow_for(runs[number], checks[number])


def _say(runs: Sequence[CheckResult]) -> str:
    return ", ".join(f"{r.name} {_format_result(r)}" for r in runs)


def _format_result(run: CheckResult) -> str:
    if not run.failed:
        return "passed"
    return f"failed ({len(run.new)} new)" if run.new else "failed"


# --- in words, for GitHub and for prompts ---------------------------------------------------------


def tally(run: CheckResult) -> str:
    """Return how much failed in a check, and what is new, as Markdown that fits into a table.

    Empty where the check does not say it in a way that is known.
    """
    failed, parts = run.failures, []
    if failed.total:
        parts.append(f"{failed.total}" if failed.whole else f"at least {failed.total}")
    if run.new:
        parts.append(f"{len(run.new)} new: {some_names(run.new)}")
    if run.flaky:
        parts.append(f"{len(run.flaky)} now and then: {some_names(run.flaky)}")
    return ", ".join(parts)


def some_names(names: Sequence[str]) -> str:
    """Return the first of these names as code spans, and how many there are besides."""
    shown = ", ".join(to_code(_end(name), TEST_LIMIT + JOINERS) for name in names[:NEW_SHOWN])
    more = len(names) - NEW_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def format_output(run: CheckResult) -> str:
    """Return what a check wrote, the names of what newly fails first; none of it is fenced."""
    parts = [
        "\n".join((title, *(f"- {name}" for name in names[:NEW_TOLD]), *_format_remainder(names)))
        for title, names in ((_NEW, run.new), (_FLAKY, run.flaky))
        if names
    ]
    return "\n\n".join((*parts, f"{_WROTE}\n{run.output}" if parts else run.output))


def to_code(text: str, limit: int = NAME_LIMIT) -> str:
    """Return a name that others chose as a code span, which also fits into a table."""
    plain = one_line(text, limit).replace("`", "'").replace("|", "¦")
    return f"`{plain}`" if plain else "(no name)"


def _end(name: str) -> str:
    return name if len(name) <= TEST_LIMIT else f"…{name[1 - TEST_LIMIT :]}"


def _format_remainder(names: tuple[str, ...]) -> tuple[str, ...]:
    return (f"- and {len(names) - NEW_TOLD} more",) if len(names) > NEW_TOLD else ()
