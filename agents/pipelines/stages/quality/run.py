"""Stages measure_base, check_quality: run the checks on the default branch, then on the change.

The exit codes are recorded by our process. A check that failed before the change is shown to
people but not held against it: only new failures count. Where a check says by name what fails,
that holds for each of its tests and findings; else for the check as a whole.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial

from agents.analysis.check_failures import (
    FailuresByProgram,
    read_failures,
    read_junit,
)
from agents.analysis.missing_modules import read_missing_modules
from agents.analysis.service_start import wrap_with_services
from agents.analysis.services import Service
from agents.pipelines.stages.quality.confirm import Confirmation
from agents.pipelines.stages.quality.find import (
    find_checks,
    find_running_services,
    order_by_touched,
)
from agents.pipelines.stages.quality.flaky import find_known, note_flaky, recall_flaky
from agents.pipelines.stages.quality.lock_agreement import find_unlocked_manifests
from agents.pipelines.stages.quality.recover import ROUNDS, MissingPackages
from agents.pipelines.stages.quality.results import (
    NO_CHECKS,
    NOT_THERE,
    Baseline,
    CheckComparison,
    CheckResult,
    CheckStart,
    Starts,
    read_start,
)
from agents.pipelines.stages.quality.second_look import look_again, may_look_again
from agents.policy import Check
from agents.ports import CommandResult, FlakyTest, SetupResult, WorkTree
from agents.run import StageContext, stage
from agents.text import one_line, plain_output, printable

OUTPUT_KEPT = 6_000  # characters of a check's output that prompts and people see
OUTPUT_READ = 400_000  # bytes, half of them at the end, in which names are looked for
NAME_LIMIT = 60  # characters of a check's name in a table
TEST_LIMIT = 90  # and of a test's, which says most at its end
JOINERS = 30  # characters that may be put in between, so that a name sets nothing off
NEW_SHOWN = 3  # names in a table
NEW_TOLD = 40  # names in a prompt

GO_ON = "--continue-on-collection-errors --maxfail=0"
"""Has pytest run what can be run, whatever cannot be collected or failed before."""

COLLECT_ONLY = {"PYTEST_ADDOPTS": "--collect-only"}
LOOK_SECONDS = 300.0  # for one check that is only to show whether it starts

REPORT_READ = 8_000_000  # bytes of reports for programs; cut ones cannot be read
_REPORTERS = ("pytest", "Maven", "Gradle")
_WRITES = re.compile(r"\b(?:pytest|mvnw?|gradlew?|ctest|meson)\b")
_REPORTS = ".git/fettle"
"""Where reports are written: no file there is ever part of a change."""
_REPORTING = f"""
rm -rf {_REPORTS} && mkdir -p {_REPORTS} && : >{_REPORTS}/began
while [ $# -gt 1 ]; do
    name=${{1%%=*}}
    export "$name=${{!name:+${{!name}} }}${{1#*=}}"
    shift
done
if [ -f {_REPORTS}/began ]; then
    report="--junitxml='$PWD/{_REPORTS}/pytest.xml'"
    export PYTEST_ADDOPTS="${{PYTEST_ADDOPTS:+$PYTEST_ADDOPTS }}$report"
fi
exec bash -c "$1"
"""
COLLECT = f"""
find {_REPORTS} -name '*.xml' -type f -exec cat {{}} +
find . -name .git -prune -o -name node_modules -prune -o \\
    \\( -name 'TEST-*.xml' -o -name '*.junit.xml' \\) -type f \\
    -newer {_REPORTS}/began -exec cat {{}} +
"""
"""Writes out the reports of pytest, Surefire, Gradle, CTest and Meson, each by its name."""

_NEW = "These fail with the change and did not fail before it:"
_FLAKY = "These fail now and then, whatever was changed, so leave them alone:"
_WROTE = "What the check wrote:"


@stage
async def measure_base(run: StageContext, setup: SetupResult) -> Baseline:
    """Run the checks as things were before."""
    baseline = await _measure_base(run, setup)
    if not await may_look_again(run):
        return baseline
    look = partial(look_at_checks, run, broken=bool(baseline.setup.problems))
    looked = await look_again(run, baseline.setup, _read_starts(baseline), look)
    if looked.proposal is not None and looked.proposal.holds:
        return await _measure_base(run, looked)
    return baseline.model_copy(update={"setup": looked})


async def _measure_base(run: StageContext, setup: SetupResult) -> Baseline:
    checks, unavailable, source = await find_checks(run)
    services, unstarted = await find_running_services(run) if checks else ((), ())
    runs = await _measure(run, run.base, checks, services)
    lacking = MissingPackages(run)
    for _ in range(ROUNDS):
        if not await lacking.install(runs):
            break
        runs = await _measure(run, run.base, checks, services)
    other = await _measure(run, run.merging, checks, services) if run.merging else ()
    return Baseline(
        runs=runs,
        other=other,
        unavailable=unavailable,
        source=source,
        setup=setup.model_copy(update={"notes": (*setup.notes, *lacking.notes)}),
        services=services,
        unstarted=unstarted,
        form=3,
        divides=True,
    )


def _read_starts(baseline: Baseline) -> Starts:
    gone = dict.fromkeys(baseline.unavailable, CheckStart(runs=False, why=NOT_THERE))
    broken = bool(baseline.setup.problems)
    return gone | {each.command: read_start(each, broken=broken) for each in baseline.runs}


async def look_at_checks(run: StageContext, *, broken: bool) -> Starts:
    """Tell which checks of the base come to say anything; pytest collects and runs nothing.

    `broken`: the set-up failed.
    """
    checks, unavailable, _ = await find_checks(run)
    services, _ = await find_running_services(run) if checks else ((), ())
    starts = dict.fromkeys(unavailable, CheckStart(runs=False, why=NOT_THERE))
    for number, check in enumerate(checks):
        tree = await run.tree(run.base, changing=True, pristine=not number)
        short = check.model_copy(update={"timeout": min(check.timeout, LOOK_SECONDS)})
        ended = await _run_check(tree, short, services, COLLECT_ONLY)
        starts[check.run] = read_start(ended, broken=broken)
    return starts


@stage
async def check_quality(run: StageContext, baseline: Baseline) -> CheckComparison:
    """Run the checks with the change."""
    return await compare_checks(run, baseline, run.head)


async def compare_checks(run: StageContext, baseline: Baseline, commit: str) -> CheckComparison:
    """Run the checks on a commit of the run, and say what they tell against the baseline."""
    checks = [Check(name=r.name, run=r.command, timeout=r.timeout) for r in baseline.runs]
    changed = await (await run.tree()).list_changed_paths(run.base, commit)
    order = order_by_touched([check.run for check in checks], changed)
    measured = await _measure(run, commit, checks, baseline.services, order)
    known = await recall_flaky(run, measured)
    runs = [
        await _confirm(run, baseline, (*before, now), commit, find_known(known, now.command))
        for before, now in zip(baseline.before, measured, strict=True)
    ]
    await note_flaky(run, runs)
    quality = CheckComparison(
        commit=commit,
        runs=tuple(runs),
        baseline=baseline,
        added=tuple(await (await run.tree()).list_install_commands()),
        unlocked=await find_unlocked_manifests(run, changed, commit),
    )
    run.summarize(_say(quality.runs) or NO_CHECKS)
    return quality


async def _confirm(
    run: StageContext,
    baseline: Baseline,
    ended: Sequence[CheckResult],
    commit: str,
    known: Mapping[str, FlakyTest],
) -> CheckResult:
    """Return how a check ended with what it says of the commit; `ended`: before it, then on it."""
    *before, now = ended
    check = Check(name=now.name, run=now.command, timeout=now.timeout)

    async def run_check(at: str, variables: Mapping[str, str]) -> CheckResult:
        tree = await run.tree(at, changing=True)
        return await _run_check(tree, check, baseline.services, variables)

    confirmation = Confirmation(before, run.base, commit, run_check, known)
    judged = await confirmation.confirm(now)
    told = tuple(known[name] for name in (*judged.new, *judged.flaky) if name in known)
    return judged.model_copy(update={"known": told})


async def _measure(
    run: StageContext,
    commit: str,
    checks: Sequence[Check],
    services: Sequence[Service],
    order: Sequence[int] = (),
) -> tuple[CheckResult, ...]:
    """Run the checks on exactly that commit, in this order.

    What the engineer left in ignored files is not part of the change, and what one check did to
    the files must not decide the next; what it built may help the next.
    """
    runs: dict[int, CheckResult] = {}
    for at in order or range(len(checks)):
        tree = await run.tree(commit, changing=True, pristine=not runs)
        runs[at] = await _run_check(tree, checks[at], services)
    ended = tuple(runs[at] for at in sorted(runs))
    run.summarize(_say(ended) or "no checks that can run here")
    return ended


async def _run_check(
    tree: WorkTree,
    check: Check,
    services: Sequence[Service],
    variables: Mapping[str, str] | None = None,
) -> CheckResult:
    """Run a check; what stopped pytest on its way is passed over in a second run."""
    given = variables or {}
    result = await _run_reporting(tree, check, services, given)
    failures = await _read(tree, check, result)
    stopped = failures.told.get("pytest")
    if stopped and stopped.early and result.why == "exit":
        result = await _run_reporting(tree, check, services, {"PYTEST_ADDOPTS": GO_ON, **given})
        failures = await _read(tree, check, result)
    return CheckResult(
        name=check.name,
        command=check.run,
        timeout=check.timeout,
        exit_code=result.exit_code,
        seconds=round(result.seconds, 2),
        output=_shorten_output(result, check),
        stopped=result.why != "exit",
        failures=failures,
        missing=await asyncio.to_thread(read_missing_modules, result.output),
    )


async def _run_reporting(
    tree: WorkTree, check: Check, services: Sequence[Service], variables: Mapping[str, str]
) -> CommandResult:
    """Run it so that its test runner writes a report for programs, where one can be told to."""
    given = [f"{name}={value}" for name, value in variables.items()]
    reporting = ["bash", "-c", _REPORTING, "check", *given, check.run]
    argv = wrap_with_services(reporting, services)
    return await tree.run(argv, timeout=check.timeout, max_output=OUTPUT_READ)


async def _read(tree: WorkTree, check: Check, result: CommandResult) -> FailuresByProgram:
    """Return what fails by name, from what the check wrote for people and for programs."""
    exited = result.why == "exit"
    failures = await asyncio.to_thread(
        read_failures, result.output, check.run, exited=exited, name=check.name
    )
    runners = [told for name, told in failures.told.items() if name in _REPORTERS]
    if any(told.sessions > 1 for told in runners) or not (runners or _WRITES.search(check.run)):
        return failures  # each of several sessions overwrites the report of the one before
    wrote = await tree.run(
        ["bash", "-c", COLLECT], timeout=60, writable=False, max_output=REPORT_READ
    )
    report = await asyncio.to_thread(read_junit, wrote.output) if wrote.exit_code == 0 else None
    if report is None:
        return failures
    whole = report.whole and exited and not any(told.early for told in failures.told.values())
    return failures.model_copy(update={"report": report.model_copy(update={"whole": whole})})


def _shorten_output(result: CommandResult, check: Check) -> str:
    text = printable(plain_output(result.output)).strip() + _STOPPED[result.why].format(check=check)
    if len(text) <= OUTPUT_KEPT:
        return text
    third = OUTPUT_KEPT // 3  # the end of a test run says more than its beginning
    left_out = len(text) - OUTPUT_KEPT
    return f"{text[:third]}\n[... {left_out} characters left out ...]\n{text[-2 * third :]}"


def _say(runs: Sequence[CheckResult]) -> str:
    return ", ".join(f"{r.name} {_format_result(r)}" for r in runs)


def _format_result(run: CheckResult) -> str:
    if not run.exit_code:
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


_STOPPED = {
    "exit": "",
    "timeout": "\n[stopped after {check.timeout:.0f} s, before it had ended]",
    "output": "\n[stopped: it wrote far too much]",
    "killed": "\n[killed: out of processor time, by the size of a file, or by a signal]",
    "memory": "\n[killed: it used up the memory that a command may have]",
    "disk": "\n[stopped: its files take more of the disk than a run may have]",
}
