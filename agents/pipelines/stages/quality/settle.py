"""Settle which of the found checks count, by what they say of the default branch itself.

A check that could not even tell that the default branch is no worse than itself tells nothing of
any change. Where it was only added or guessed, others may do without it.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.analysis.check_failures import compare
from agents.pipelines.stages.quality.find import FoundChecks
from agents.pipelines.stages.quality.results import COMMAND_LIMIT, CheckResult
from agents.text import code_span, one_line

_DROPPED = (
    "; {command} would run all tests, of which its workflows run parts, and is left out: {why}"
)


def drop_silent(
    found: FoundChecks, runs: Sequence[CheckResult]
) -> tuple[tuple[CheckResult, ...], str]:
    """Return the runs without whole suites that nobody named and that tell nothing; and a remark.

    The parts that workflows run are then all there is, as they are for whoever reads the workflows.
    """
    silent = {each.command: compare([each], each).why for each in runs}
    dropped = [each for each in runs if each.command in found.besides and silent[each.command]]
    remarks = (
        _DROPPED.format(
            command=code_span(one_line(each.command, COMMAND_LIMIT)), why=silent[each.command]
        )
        for each in dropped
    )
    return tuple(each for each in runs if each not in dropped), "".join(remarks)
