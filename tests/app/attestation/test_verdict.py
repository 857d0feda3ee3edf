"""The verdict on what was pushed: ready or not, what fails newly, and what to look at in place."""

from __future__ import annotations

from agents.ports import PullRequest
from agents.run import Outcome
from app.attestation.stages import find_standing, list_stages
from app.attestation.verdict import NOT_READY, READY, build_verdict
from app.store.runs.history import KeptStep

OUTCOME = Outcome(kind="pull_request", text="Opened pull request #2. Checked: `tests` passed.")
GRAVE = {"path": "tests/test_a.py", "line": 3, "kind": "skipped", "text": "skip it"}
LIGHT = {"path": "a.py", "line": 9, "kind": "host", "text": "new.acme.dev", "grave": False}
WHOLE = {"path": "pyproject.toml", "line": 0, "kind": "licence", "text": "x: MIT", "grave": False}


def step(name, output):
    return KeptStep(f"stage/{name}", 1.0, 2.0, {"output": output, "standing": {}})


def test_it_is_ready_where_the_run_says_so_and_names_the_page():
    found = build_verdict(OUTCOME, [], signed=True, url="https://fettle.example/runs/r1")
    assert (found.ready, found.url) == (True, "https://fettle.example/runs/r1")
    assert found.title == READY
    assert "`fettle verify`" in found.summary
    plain = build_verdict(OUTCOME, [], signed=False, url="")
    assert plain.summary == OUTCOME.text


def test_a_push_to_a_branch_that_ends_in_a_comment_is_judged_alike():
    """What reviews, a merge of the base or failing checks asked for has no pull request to open."""
    answered = OUTCOME.model_copy(update={"kind": "comment"})
    assert build_verdict(answered, [], signed=False, url="").ready
    left = answered.model_copy(update={"ready": False})
    assert not build_verdict(left, [], signed=False, url="").ready


def test_no_title_claims_a_check_that_no_record_tells_of():
    found = build_verdict(
        OUTCOME.model_copy(update={"text": "Opened #2."}), [], signed=False, url=""
    )
    assert "check" not in f"{found.title} {found.summary}".lower()


def test_a_draft_and_an_early_end_are_not_ready():
    words = dict.fromkeys(("url", "branch", "head", "base", "title", "body"), "x")
    draft = PullRequest(number=2, draft=True, **words)
    for changes in (
        {"ready": False},
        {"kind": "failed"},
        {"kind": "cancelled"},
        {"pull_request": draft},
    ):
        found = build_verdict(OUTCOME.model_copy(update=changes), [], signed=True, url="")
        assert not found.ready
        assert found.title == NOT_READY


def test_what_the_last_look_found_is_placed_and_what_fails_newly_is_named():
    steps = [
        step("inspect/1", {"findings": [GRAVE]}),
        step("check_quality/1", {"runs": [{"new": ["test_old"]}]}),
        step("inspect/2", {"findings": [GRAVE, LIGHT, WHOLE, {"kind": "of a later version"}]}),
        step("check_quality/2", {"runs": [{"new": ["test_`sum`", "test_zero"]}, {"new": []}]}),
        KeptStep("finish/1", 1.0, 2.0, True),
    ]
    found = build_verdict(OUTCOME, list_stages(steps), signed=False, url="")
    assert [(n.path, n.line, n.level, n.title) for n in found.notes] == [
        ("tests/test_a.py", 3, "warning", "test no longer counts"),
        ("a.py", 9, "notice", "new address on the network"),
    ]
    assert "test_zero" in found.summary
    assert "test_old" not in found.summary


def test_a_stage_that_ran_again_is_the_newest():
    """Where the run stands, and what fails, is what was recorded last."""
    again = KeptStep("stage/a/1~1", 3.0, 4.0, {"output": 3, "standing": {"head": "new"}})
    stages = list_stages([step("a/1", 1), step("b/1", 2), again])
    assert [(each.occurrence, each.output) for each in stages] == [("b/1", 2), ("a/1", 3)]
    assert find_standing(stages).head == "new"


def test_records_of_another_shape_are_passed_over():
    for output in (None, [], {"findings": "x"}, {"findings": [1]}, {"runs": [1]}):
        found = build_verdict(
            OUTCOME, list_stages([step("inspect/1", output)]), signed=False, url=""
        )
        assert found.notes == ()
