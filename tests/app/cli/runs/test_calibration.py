"""How often triage was right: what it said of each pull request against what became of it."""

from __future__ import annotations

import json

import pytest

from agents.run import Outcome
from app.store.ended_pulls import EndedPulls
from app.store.runs.runs import Runs
from app.views.calibration import Prediction, calibrate
from handlers.notifications import PullClosed
from tests.app.github.approvals.test_action_text import REQUEST
from tests.fakes.pull_requests import build_pull_request


@pytest.fixture
def tell(store):
    """Store a run whose triage was so sure, and how its pull request ended; None: not yet."""

    def store_run(number, confidence, *, merged=None, ident=""):
        pull = build_pull_request(number)
        ident = ident or f"000660d62102{number:04x}-bfb0ec9f"

        async def work(database):
            runs = Runs(database)
            await runs.create(ident, REQUEST)
            outcome = Outcome(
                kind="pull_request", text="Opened.", pull_request=pull, confidence=confidence
            )
            await runs.record_end(ident, outcome)
            if merged is not None:
                closed = PullClosed(
                    installation_id=1, repository=REQUEST.repository, number=number, merged=merged
                )
                await EndedPulls(database).note(closed)

        store.execute(work)

    return store_run


def test_predictions_are_held_against_what_was_merged(fettle, tell):
    for number, confidence, merged in ((1, 90, True), (2, 90, True), (3, 10, False)):
        tell(number, confidence, merged=merged)
    tell(4, 80, merged=False)
    tell(5, 80)  # open
    tell(6, None, merged=True)  # did not say

    code, out, err = fettle("runs", "calibration")
    assert (code, err) == (0, "")
    assert "4 pull requests, 50% of them merged. Brier score 0.168; who always says 50%" in out
    lines = [line.split() for line in out.splitlines()[2:]]
    assert lines == [
        ["0", "to", "20", "%", "1", "10%", "0%"],
        ["80", "to", "100", "%", "3", "87%", "67%"],
    ]

    code, out, _ = fettle("runs", "calibration", "--json")
    told = json.loads(out)
    assert (told["count"], told["merged"], told["always"]) == (4, 0.5, 0.25)
    assert round(told["brier"], 4) == 0.1675
    assert fettle("runs", "calibration", "--repository", "other/lib")[0] == 0


def test_a_pull_request_counts_once_by_its_last_run(fettle, tell):
    tell(1, 20, ident="000660d621020001-aaaaaaaa")
    tell(1, 100, merged=True, ident="000660d621020002-aaaaaaaa")
    told = json.loads(fettle("runs", "calibration", "--json")[1])
    assert (told["count"], told["brier"]) == (1, 0.0)


def test_without_any_it_says_so(fettle, store):
    store.run("000660d621020001-aaaaaaaa")
    code, out, err = fettle("runs", "calibration")
    assert (code, out) == (0, "")
    assert "has been merged or closed yet" in err


@pytest.mark.parametrize(
    ("said", "brier"), [([(100, True)], 0.0), ([(0, True)], 1.0), ([(50, True), (50, False)], 0.25)]
)
def test_the_score_is_the_mean_of_squared_differences(said, brier):
    found = calibrate([Prediction(*each) for each in said])
    assert found.brier == brier
    assert sum(row.count for row in found.rows) == len(said)
