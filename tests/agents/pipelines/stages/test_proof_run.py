"""A run of test commands that passed shows something only where a test ran in it."""

import pytest

from agents.pipelines.stages.proof_run import Trial, says_too_little
from agents.ports import CommandResult


def pass_with(output):
    return Trial("run", CommandResult(0, "exit", output, 1.0))


@pytest.mark.parametrize(
    "output",
    [
        "1 skipped in 0.02s",
        "Tests:       2 skipped, 2 total",
        "Ran 1 test in 0.1s\n\nOK (skipped=1)",
        "--- SKIP: TestSum (0.00s)\nPASS\nok  \tpkg\t0.1s",
        "Skipped! - Failed:     0, Passed:     0, Skipped:     1, Total:     1 - S.dll",
    ],
)
def test_a_run_in_which_all_is_skipped_is_no_passing_test(output):
    assert "runs no test at all" in says_too_little(pass_with(output))


def test_a_run_in_which_a_test_fails_is_no_passing_test_whatever_its_exit_code():
    failed = "  1 passing (1s)\n  1 failing\n\n  1) suite\n       adds one:\n"

    assert "and yet suite adds one failed in it" in says_too_little(pass_with(failed))


@pytest.mark.parametrize(
    "output",
    [
        "1 passed, 1 skipped in 0.02s",
        "--- SKIP: TestA (0.00s)\n--- PASS: TestB (0.00s)\nok  \tpkg\t0.1s",
        "Skipped! - Failed: 0, Passed: 0, Skipped: 1\nPassed! - Failed: 0, Passed: 2,",
    ],
)
def test_a_run_in_which_some_are_skipped_passes(output):
    assert says_too_little(pass_with(output)) == ""
