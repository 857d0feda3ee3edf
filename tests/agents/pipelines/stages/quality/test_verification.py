"""The headline of a change names what was run, what came of it, and what was not."""

import pytest

from agents.pipelines.stages.quality import headline
from agents.pipelines.stages.quality.results import Baseline, CheckComparison, CheckResult
from agents.ports import SetupResult

SETUP = SetupResult(source="nothing to install")


def end(name, exit_code=0, verdict="no worse", why=""):
    ended = {"exit_code": exit_code, "verdict": verdict, "why": why}
    return CheckResult(name=name, command=name, timeout=9, seconds=1, output="", **ended)


@pytest.mark.parametrize(
    ("runs", "missing", "said"),
    [
        ((end("a"), end("b")), (), "Checked: `a`, `b` passed."),
        ((end("a"), end("b", 1)), (), "Checked: `a` passed, `b` failed as before."),
        ((end("b", 1),), (), "Checked: `b` failed as before."),
        ((end("a"), end("b", 1, "worse")), (), "Worse than before: `b`."),
        (
            (end("a"), end("b", 1, "unknown", "it ran no test")),
            (),
            "Not verified: `b`: it ran no test. Besides, `a` passed.",
        ),
        ((end("a"),), ("c",), "Not verified: `c` cannot run here. Besides, `a` passed."),
        ((), (), "Not verified: no check of the repository was found."),
    ],
)
def test_it_says_what_was_run_and_what_was_not(runs, missing, said):
    base = Baseline(runs=runs, unavailable=missing, source="", setup=SETUP, form=4)

    assert headline(CheckComparison(commit="c", runs=runs, baseline=base)) == said
