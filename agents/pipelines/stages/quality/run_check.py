"""Run one check on one commit, and read what it says: in its output, and in its runner's report."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.analysis.check_failures import FailuresByProgram, read_failures
from agents.analysis.missing_modules import read_missing_modules
from agents.analysis.outcome_lines import is_read_whole, read_failure_lines, read_success_lines
from agents.analysis.service_start import wrap_with_services
from agents.analysis.services import Service
from agents.analysis.test_runners import (
    NOTHING,
    Additions,
    RunnerCall,
    find_manifest,
    find_runner_call,
    join_reports,
    list_step_files,
    make_argv,
    make_collecting_argv,
    read_reports,
    render_reports,
    runs_several,
    split_files,
)
from agents.pipelines.stages.quality.results import CheckResult, RepositoryCheck
from agents.ports import CommandResult, WorkTree
from agents.text import plain_output, printable

OUTPUT_KEPT = 6_000  # characters of a check's output that prompts and people see
OUTPUT_READ = 400_000  # bytes, half of them at the end, in which names are looked for
REPORT_READ = 8_000_000  # bytes of reports for programs; cut ones cannot be read
MANIFEST_READ = 500_000  # bytes of a file with scripts
COLLECTING_SECONDS = 60

GO_ON = Additions(variables={"PYTEST_ADDOPTS": "--continue-on-collection-errors --maxfail=0"})
"""Has pytest run what can be run, whatever cannot be collected or failed before."""


@dataclass(frozen=True)
class _Ran:
    """A command as it ended, with what it told."""

    result: CommandResult
    failures: FailuresByProgram


async def find_call(tree: WorkTree, commit: str, command: str) -> RunnerCall | None:
    """Return which runner of tests a command calls on that commit; None where nobody can tell."""
    manifest = find_manifest(command)
    text = await _read_manifest(tree, commit, manifest) if manifest else ""
    if text is None:
        return None
    return await asyncio.to_thread(find_runner_call, command, text)


async def _read_manifest(tree: WorkTree, commit: str, path: str) -> str | None:
    """Return a file that says what a command runs; empty: there is none, None: it is too long."""
    found = await tree.show(commit, path) or b""
    return None if len(found) > MANIFEST_READ else found.decode("utf-8", "replace")


async def _runs_several(tree: WorkTree, commit: str, command: str) -> bool:
    paths = list_step_files(command)
    texts = {path: await _read_manifest(tree, commit, path) or "" for path in paths}
    return await asyncio.to_thread(runs_several, command, texts)


async def run_check(
    tree: WorkTree,
    commit: str,
    check: RepositoryCheck,
    services: Sequence[Service],
    given: Additions = NOTHING,
) -> CheckResult:
    """Run a check; what stopped pytest on its way is passed over in a second run.

    So is what a report was asked for in vain: a runner that does not know the words for it fails.

    The tree stands at that commit. `given`: what is added to the command.
    """
    call = await find_call(tree, commit, check.run)
    ran = await _run(tree, check, services, call, given)
    exited = ran.result.why == "exit"
    if call and call.runner.report and exited and ran.result.exit_code and not ran.failures.best:
        ran = await _run(tree, check, services, call, given, asking=False)
    stopped = ran.failures.told.get("pytest")
    if stopped and stopped.early and ran.result.why == "exit":
        ran = await _run(tree, check, services, call, GO_ON.join(given))
    result = ran.result
    return CheckResult(
        name=check.name,
        command=check.run,
        timeout=check.timeout,
        named=check.named,
        exit_code=result.exit_code,
        seconds=round(result.seconds, 2),
        output=_shorten_output(result, check),
        stopped=result.why != "exit",
        several=bool(result.exit_code) and await _runs_several(tree, commit, check.run),
        failures=ran.failures,
        missing=await asyncio.to_thread(read_missing_modules, result.output),
        **await asyncio.to_thread(_read_outcome_lines, ran),
    )


def _read_outcome_lines(ran: _Ran) -> dict[str, Any]:
    """Return the fields that tell of a run of tests what it does not count."""
    if ran.result.exit_code or ran.failures.counted or not ran.failures.of_tests:
        return {}
    text = plain_output(ran.result.output)
    failures, successes = read_failure_lines(text), read_success_lines(text)
    return {
        "failure_lines": failures,
        "success_lines": successes,
        "lines_lack": not is_read_whole(text, failures, successes),
    }


async def _run(
    tree: WorkTree,
    check: RepositoryCheck,
    services: Sequence[Service],
    call: RunnerCall | None,
    given: Additions,
    *,
    asking: bool = True,
) -> _Ran:
    argv = wrap_with_services(make_argv(check.run, call, given, asking=asking), services)
    result = await tree.run(argv, timeout=check.timeout, max_output=OUTPUT_READ)
    ran = await asyncio.to_thread(_read_output, check, result)
    if not (call or ran.failures.of_tests or ran.failures.told):
        return ran
    return await asyncio.to_thread(_read_reports, check, ran, call, await _collect(tree))


async def _collect(tree: WorkTree) -> list[tuple[str, str]]:
    """Return names and texts of the reports that the last command wrote; none if one is cut."""
    mark = secrets.token_hex(16)
    wrote = await tree.run(
        make_collecting_argv(mark),
        timeout=COLLECTING_SECONDS,
        writable=False,
        max_output=REPORT_READ,
    )
    return await asyncio.to_thread(split_files, wrote.output, mark) if wrote.why == "exit" else []


def _read_output(check: RepositoryCheck, result: CommandResult) -> _Ran:
    """Return what failed by name, from what the check wrote for people."""
    exited = result.why == "exit"
    return _Ran(result, read_failures(result.output, check.run, exited=exited, name=check.name))


def _read_reports(
    check: RepositoryCheck, ran: _Ran, call: RunnerCall | None, files: Sequence[tuple[str, str]]
) -> _Ran:
    """Return it with what stands in the reports; one may stand in for what people read."""
    if instead := render_reports(files):
        ran = _read_output(check, replace(ran.result, output=f"{ran.result.output}{instead}"))
    programs = {*ran.failures.told, *({call.runner.name} if call else ())}
    reports = read_reports(files, programs)
    joined = join_reports(ran.failures, reports, exited=ran.result.why == "exit")
    return replace(ran, failures=joined)


def _shorten_output(result: CommandResult, check: RepositoryCheck) -> str:
    text = printable(plain_output(result.output)).strip() + _STOPPED[result.why].format(check=check)
    if len(text) <= OUTPUT_KEPT:
        return text
    third = OUTPUT_KEPT // 3  # the end of a test run says more than its beginning
    left_out = len(text) - OUTPUT_KEPT
    return f"{text[:third]}\n[... {left_out} characters left out ...]\n{text[-2 * third :]}"


_STOPPED = {
    "exit": "",
    "timeout": "\n[stopped after {check.timeout:.0f} s, before it had ended]",
    "output": "\n[stopped: it wrote far too much]",
    "killed": "\n[killed: out of processor time, by the size of a file, or by a signal]",
    "memory": "\n[killed: it used up the memory that a command may have]",
    "disk": "\n[stopped: its files take more of the disk than a run may have]",
}
