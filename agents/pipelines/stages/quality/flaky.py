"""Tests that fail now and then, as earlier runs on the repository saw them.

The memory says which tests to look at for longer, and people read it. It excuses no test that fails
twice: what a run has not seen itself decides only of one that failed once and never again, and that
failed without a change before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from agents.analysis.check_failures import list_names
from agents.pipelines.stages.quality.results import CheckComparison, CheckResult
from agents.ports import FlakySighting, FlakyTest
from agents.run import StageContext

MOST_NOTED = 40  # tests of one check: where more fail and pass again, something else was wrong

_KNOWN = "Seen to fail now and then in earlier runs on this repository: {tests}."
_SEEN = "{name} (in {runs}, {unchanged} of them without a change; last on {day})"
_SHOWN = 5


async def recall_flaky(run: StageContext, runs: Iterable[CheckResult]) -> Sequence[FlakyTest]:
    """Return what earlier runs saw; nothing where all of these runs passed, so nobody asks."""
    memory = run.ports.flaky_tests
    if memory is None or not any(each.failed for each in runs):
        return ()
    return await memory.list_known()


def find_known(known: Iterable[FlakyTest], check: str) -> Mapping[str, FlakyTest]:
    """Return the known tests of this check, which is named by its command."""
    return {test.name: test for test in known if test.command == check}


async def note_flaky(run: StageContext, runs: Iterable[CheckResult]) -> None:
    """Remember what these runs saw fail and pass in the same files.

    Nothing is learnt on a stranger's commits: they choose the names, and what fails.
    """
    memory = run.ports.flaky_tests
    if memory is None or run.foreign:
        return
    seen = [
        FlakySighting(
            command=each.command,
            name=name,
            unchanged=run.head == run.base or name in each.flaky_before,
        )
        for each in runs
        if len(each.flaky) <= MOST_NOTED
        for name in each.flaky
    ]
    if seen:
        await memory.note(seen)


def format_known(quality: CheckComparison) -> str:
    """Return what earlier runs saw of the tests that are told of, as Markdown; else nothing."""
    known = [test for run in quality.runs for test in run.known]
    shown = [_format_seen(test) for test in known[:_SHOWN]]
    if len(known) > _SHOWN:
        shown.append(f"and {len(known) - _SHOWN} more")
    return _KNOWN.format(tests="; ".join(shown)) if known else ""


def _format_seen(test: FlakyTest) -> str:
    return _SEEN.format(
        name=list_names([test.name]),
        runs="1 run" if test.runs == 1 else f"{test.runs} runs",
        unchanged=test.unchanged,
        day=f"{datetime.fromtimestamp(test.last_at, UTC):%Y-%m-%d}",
    )
