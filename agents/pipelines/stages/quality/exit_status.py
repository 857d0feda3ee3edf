"""Find out whether the exit status of a check that counts no tests tells something of a change.

Many repositories have a script of their own as their test. That it passes is worth something where
the tests of the change make it fail on the files from before: then these tests run, and what fails
in them reaches the exit status. Where that is not seen, nothing is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents.analysis.check_failures import NEVER_COUNTED
from agents.analysis.outcome_lines import (
    list_new_lines,
    list_other_lines,
    list_strange_lines,
    says_not_built,
)
from agents.analysis.test_runners import (
    find_unheard,
    list_script_files,
    list_step_files,
    list_touched_steps,
)
from agents.analysis.weakening import FileDiff
from agents.errors import ToolError
from agents.pipelines.stages.quality.changed_tests import ChangedTests, read_changed_tests
from agents.pipelines.stages.quality.documentation import find_reader, is_documentation
from agents.pipelines.stages.quality.results import (
    Baseline,
    CheckComparison,
    CheckResult,
    RepositoryCheck,
)
from agents.pipelines.stages.quality.run_check import OUTPUT_KEPT, run_check
from agents.run import StageContext
from agents.text import code_span, one_line

LEVELS = 3  # scripts that run each other
TIMES = 2  # runs on the files from before: a test may fail now and then
_NOT_STARTED = (126, 127)  # bash(1), EXIT STATUS
_SHOWN = 120  # characters of a line or a path

_BY_EXIT_STATUS = (
    "**Told by the exit status alone:** {checks} names no test that ran. It fails on the files from"
    " before the change with the change's tests among them, and passes with the change."
)
_OF_DOCUMENTS = (
    "**Told by the exit status alone:** {checks} names no test that ran. The change is"
    " documentation alone, and with it the check passes and writes the same as before."
)
_TOUCHED = "the change touches {path}, which decides what it runs"
_UNREADABLE = "the change's diff cannot be read, so nobody can tell what its tests lose"
_LOST = "the change takes {line} out of the tests, and what that demanded nobody can tell"
_UNHEARD = (
    "its exit status does not tell whether {program} fails: have it stop there, such as by `set -e`"
    " in a script or `|| exit 1` in a loop"
)
_SPEAKS = "with the change it writes {line}, and it did not before"
_SILENT = "with the change it no longer writes {line}"
_PASSES = "it passes on the files from before with the tests of the change, too"
_TOO_LONG = "it writes more than can be compared with what it wrote before"
_OTHER = "it writes {line} only before the change, or only with it"
_READ = (
    "{path} may read the documentation that the change is, and whether anything fails by that, its"
    " exit status alone does not tell"
)
_NOT_LAID = "the tests of the change could not be put onto the files from before"
_NO_TEST = "on the files from before, with the tests of the change, it fails before a test runs"


async def ask_exit_status(
    run: StageContext,
    baseline: Baseline,
    before: Sequence[CheckResult],
    now: CheckResult,
    commit: str,
) -> CheckResult:
    """Return a check that passes and counts no tests with what its exit status says of the commit.

    `before`: how it ended before the change, in each branch that it is held against.
    """
    tests = await read_changed_tests(await run.tree(), run.base, commit)
    failed = any(each.exit_code or each.stopped for each in before)
    documents = is_documentation(tests.changes)
    if not (tests.paths or documents) or failed or run.merging:
        return now
    if documents:
        return await _ask_about_documents(run, before, now, tests.changes, commit)
    if not tests.changes:
        return _explain(now, _UNREADABLE)
    if line := await asyncio.to_thread(tests.find_lost_line):
        return _explain(now, _LOST.format(line=_code(line)))
    fault = await _find_touched(run, now, commit) or await _find_unheard(run, now, commit)
    fault = fault or _find_other_words(before, now) or await _try_without(run, baseline, now, tests)
    if fault:
        return _explain(now, fault)
    return now.model_copy(update={"verdict": "no worse", "why": "", "by_exit_status": True})


async def _ask_about_documents(
    run: StageContext,
    before: Sequence[CheckResult],
    now: CheckResult,
    changes: Sequence[FileDiff],
    commit: str,
) -> CheckResult:
    """Return a check with what it says of documentation, which nothing that runs reads."""
    fault = await _find_unheard(run, now, commit) or _find_other_words(before, now, exactly=True)
    paths = {each.path for each in changes}
    if not fault and (reader := await find_reader(run, now.command, paths, commit)):
        fault = _READ.format(path=_code(reader))
    if fault:
        return _explain(now, fault)
    return now.model_copy(update={"verdict": "no worse", "why": "", "of_documents": True})


def _explain(check: CheckResult, fault: str) -> CheckResult:
    return check.model_copy(update={"why": f"{NEVER_COUNTED}; {fault}"})


async def _find_touched(run: StageContext, check: CheckResult, commit: str) -> str:
    """Return why the check is not the same as before: a sentence's part; empty where it is."""
    paths = list_step_files(check.command)
    before, after = await run.read_texts(run.base, paths), await run.read_texts(commit, paths)
    changed = await (await run.tree()).list_changed_paths(run.base, commit)
    touched = await asyncio.to_thread(list_touched_steps, check.command, before, after, changed)
    return _TOUCHED.format(path=_code(touched[0])) if touched else ""


async def _find_unheard(run: StageContext, check: CheckResult, commit: str) -> str:
    """Return which of its programs its exit status says nothing of; empty where none is known."""
    texts = await run.read_texts(commit, list_step_files(check.command))
    for _ in range(LEVELS):
        known = await asyncio.to_thread(list_script_files, check.command, texts)
        texts |= await run.read_texts(commit, [each for each in known if each not in texts])
    lost = await asyncio.to_thread(find_unheard, check.command, texts)
    return _UNHEARD.format(program=_code(lost)) if lost else ""


def _find_other_words(
    before: Sequence[CheckResult], now: CheckResult, *, exactly: bool = False
) -> str:
    """Return what it says that may not reach its exit status: a failure, or a success less.

    `exactly`: or anything else that it did not say before, or says no more.
    """
    for each in before:
        if new := list_new_lines(each.failure_lines, now.failure_lines):
            return _SPEAKS.format(line=_code(new[0]))
        if gone := list_new_lines(now.success_lines, each.success_lines):
            return _SILENT.format(line=_code(gone[0]))
        whole = max(len(each.output), len(now.output)) < OUTPUT_KEPT
        if strange := list_strange_lines(each.output, now.output) if whole else []:
            return _SPEAKS.format(line=_code(strange[0]))
        if each.lines_lack or now.lines_lack or (exactly and not whole):
            return _TOO_LONG
        if exactly and (other := list_other_lines(each.output, now.output)):
            return _OTHER.format(line=_code(other[0]))
    return ""


async def _try_without(
    run: StageContext, baseline: Baseline, check: CheckResult, tests: ChangedTests
) -> str:
    """Return why its exit status says nothing of these tests; empty where it does."""
    same = RepositoryCheck(name=check.name, run=check.command, timeout=check.timeout, named=False)
    for _ in range(TIMES):
        tree = await run.tree(
            run.base, changing=True, pristine=True, set_up_for=baseline.set_up_for
        )
        try:
            await tests.lay(tree)
        except ToolError:
            return _NOT_LAID
        ended = await run_check(tree, run.base, same, baseline.services)
        if not ended.exit_code and not ended.stopped:
            return _PASSES
        if ended.stopped or ended.exit_code in _NOT_STARTED or says_not_built(ended.output):
            return _NO_TEST
    return ""


def format_by_exit_status(quality: CheckComparison) -> str:
    """Return which checks of a change only their exit status told of, as Markdown; else nothing."""
    kinds = (
        (_BY_EXIT_STATUS, [each for each in quality.runs if each.by_exit_status]),
        (_OF_DOCUMENTS, [each for each in quality.runs if each.of_documents]),
    )
    named = [(text, ", ".join(_code(each.name) for each in runs)) for text, runs in kinds]
    return "\n\n".join(text.format(checks=checks) for text, checks in named if checks)


def _code(text: str) -> str:
    return code_span(one_line(text, _SHOWN))
