"""Runs checks as runs of Fettle do, in a folder of the test, with the tools of this machine."""

import subprocess
from dataclasses import dataclass

import pytest

from agents.analysis.check_failures import FailuresByProgram, read_failures
from agents.analysis.test_runners import (
    NOTHING,
    RunnerCall,
    find_manifest,
    find_runner_call,
    join_reports,
    make_argv,
    make_collecting_argv,
    read_reports,
    render_reports,
    run_afresh,
    select_tests,
    split_files,
)

MARK = "0f3c9a"


@dataclass
class Played:
    """A check as it ended."""

    exit_code: int
    output: str
    failures: FailuresByProgram
    call: RunnerCall | None
    files: list[tuple[str, str]]

    def select(self, names):
        """Return what runs these tests alone and afresh."""
        chosen = select_tests(self.failures, names, self.call)
        return chosen and run_afresh(self.failures, self.call).join(chosen)


@pytest.fixture
def play(tmp_path):
    """Run a command in the test's folder; return how it ended and what its reports say."""

    def run(command, given=NOTHING, folder=tmp_path):
        (folder / ".git").mkdir(exist_ok=True)
        manifest = find_manifest(command)
        path = folder / manifest
        text = path.read_text() if manifest and path.exists() else ""
        call = find_runner_call(command, text)
        done = _run(make_argv(command, call, given), folder)
        files = split_files(_run(make_collecting_argv(MARK), folder).stdout, MARK)
        output = done.stdout + render_reports(files)
        told = read_failures(output, command, exited=True)
        programs = {*told.told, *({call.runner.name} if call else ())}
        reports = read_reports(files, programs)
        failures = join_reports(told, reports, exited=True)
        return Played(done.returncode, output, failures, call, files)

    return run


def _run(argv, folder):
    return subprocess.run(
        argv,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
