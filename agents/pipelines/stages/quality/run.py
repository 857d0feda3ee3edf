"""Stages measure_base, check_quality: run the checks on the default branch, then on the change.

The exit codes are recorded by our process. A check that failed before the change is shown to
people but not held against it: only new failures count. Where a check says by name what fails,
that holds for each of its tests and findings; else for the check as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents.analysis.check_failures import (
    FailuresByProgram,
    confirm_failures,
    find_new_failures,
    read_failures,
)
from agents.pipelines.stages.quality.find import find_checks
from agents.policy import Check
from agents.ports import CommandResult, SetupResult, WorkTree
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import one_line, plain_output, printable

OUTPUT_KEPT = 6_000  # characters of a check's output that prompts and people see
OUTPUT_READ = 400_000  # bytes, half of them at the end, in which names are looked for
NAME_LIMIT = 60  # characters of a check's name in a table
TEST_LIMIT = 90  # and of a test's, which says most at its end
JOINERS = 30  # characters that may be put in between, so that a name sets nothing off
NEW_SHOWN = 3  # names in a table
NEW_TOLD = 40  # names in a prompt

_NEW = "These fail with the change and did not fail before it:"
_FLAKY = "These failed once and not again when it was run once more, so leave them alone:"
_WROTE = "What the check wrote:"


class CheckResult(Frozen):
    """One check as it ran on one commit."""

    name: str
    command: str
    timeout: float
    exit_code: int
    seconds: float
    output: str
    failures: FailuresByProgram = FailuresByProgram()
    """What it says fails, by name."""
    new: tuple[str, ...] = ()
    """The names of what fails in it and did not before the change, so far as that can be told."""
    flaky: tuple[str, ...] = ()
    """Those that did not fail again when it was run once more: nothing is held against them."""


class Baseline(Frozen):
    """What the checks say about the default branch."""

    runs: tuple[CheckResult, ...]
    other: tuple[CheckResult, ...] = ()
    """What they say about the other branch of a merge; empty where nothing is merged."""
    unavailable: tuple[str, ...] = ()
    """Commands that the repository suggests but that cannot run in the sandbox."""
    source: str
    """Where the list of checks comes from, for people."""
    setup: SetupResult
    """What was installed for them."""

    @property
    def before(self) -> tuple[tuple[CheckResult, ...], ...]:
        """Return how each check ended before, in both branches of a merge."""
        return tuple(zip(self.runs, self.other or self.runs, strict=True))


class CheckComparison(Frozen):
    """What the checks say about the change, against the default branch."""

    commit: str
    runs: tuple[CheckResult, ...]
    baseline: Baseline
    added: tuple[str, ...] = ()
    """Commands that installed something, with people's approval, which the checks could use."""

    @property
    def compared(self) -> tuple[tuple[CheckResult, CheckResult], ...]:
        """Return each check as it ran before and after the change."""
        return tuple(zip(self.baseline.runs, self.runs, strict=True))

    @property
    def failing(self) -> tuple[CheckResult, ...]:
        """Return the checks that are worse than before, in both branches of a merge.

        They fail and passed there, or tests and findings fail in them that did not fail there.
        """
        return tuple(
            now
            for before, now in zip(self.baseline.before, self.runs, strict=True)
            if now.exit_code and (now.new or not any(each.exit_code for each in before))
        )

    @property
    def passed(self) -> bool:
        """Return whether nothing fails that passed before."""
        return not self.failing

    def red_before(self, check: CheckResult) -> bool:
        """Return whether one of these checks failed before the change, too."""
        pairs = zip(self.baseline.before, self.runs, strict=True)
        return any(each.exit_code for before, now in pairs if now == check for each in before)


@stage
async def measure_base(run: StageContext, setup: SetupResult) -> Baseline:
    """Run the checks as things were before."""
    checks, unavailable, source = await find_checks(run)
    runs = await _measure(run, run.base, checks)
    other = await _measure(run, run.merging, checks) if run.merging else ()
    return Baseline(runs=runs, other=other, unavailable=unavailable, source=source, setup=setup)


@stage
async def check_quality(run: StageContext, baseline: Baseline) -> CheckComparison:
    """Run the checks with the change."""
    checks = [Check(name=r.name, run=r.command, timeout=r.timeout) for r in baseline.runs]
    measured = await _measure(run, run.head, checks)
    pairs = zip(baseline.before, measured, strict=True)
    runs = tuple([await _told_apart(run, before, now) for before, now in pairs])
    run.summarize(_say(runs) or run.summary)
    added = tuple(await (await run.tree()).list_install_commands())
    return CheckComparison(commit=run.head, runs=runs, baseline=baseline, added=added)


async def _told_apart(
    run: StageContext, before: Sequence[CheckResult], now: CheckResult
) -> CheckResult:
    """Return how a check ended with what is new in it.

    A check that failed before is run once more first: a flaky test may have passed there.
    """
    new = find_new_failures(before, now)
    if not new or not any(each.exit_code for each in before):
        return now.model_copy(update={"new": new})
    check = Check(name=now.name, run=now.command, timeout=now.timeout)
    again = await _run_check(await run.tree(run.head, changing=True), check)
    certain = confirm_failures(new, find_new_failures(before, again))
    flaky = tuple(name for name in new if name not in certain)
    return now.model_copy(update={"new": certain, "flaky": flaky})


async def _measure(
    run: StageContext, commit: str, checks: Sequence[Check]
) -> tuple[CheckResult, ...]:
    """Run the checks on exactly that commit.

    What the engineer left in ignored files is not part of the change, and what one check did to
    the files must not decide the next; what it built may help the next.
    """
    runs: list[CheckResult] = []
    for check in checks:
        tree = await run.tree(commit, changing=True, pristine=not runs)
        runs.append(await _run_check(tree, check))
    run.summarize(_say(runs) if runs else "no checks that can run here")
    return tuple(runs)


async def _run_check(tree: WorkTree, check: Check) -> CheckResult:
    argv = ["bash", "-c", check.run]
    result = await tree.run(argv, timeout=check.timeout, max_output=OUTPUT_READ)
    exited = result.why == "exit"
    failures = await asyncio.to_thread(read_failures, result.output, check.run, exited=exited)
    return CheckResult(
        name=check.name,
        command=check.run,
        timeout=check.timeout,
        exit_code=result.exit_code,
        seconds=round(result.seconds, 2),
        output=_shorten_output(result, check),
        failures=failures,
    )


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
        parts.append(f"{len(run.flaky)} only once")
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
