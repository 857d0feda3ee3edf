"""Writing a pull request's text where the repository has a template for it."""

import pytest

from agents.text.pull_template import LIMIT
from tests.agents.pipelines.resolve.conftest import FILES, messages_of

TEMPLATE = """\
## Summary
<!-- @mara: SECRET WORDS -->
What it does, in a sentence.

## Checklist

- [ ] The tests pass
- [ ] I have signed the CLA
"""
FILLED = """\
## Summary
It adds right now.

## Checklist
Checked.
- [x] The tests pass (tests)
- [x] I have signed the CLA (tests)
"""
WITH_TEMPLATE = FILES | {".github/pull_request_template.md": TEMPLATE}


@pytest.fixture
def text(talk):
    words = {"branch": "add-right", "title": "Add right, always", "rejected": "Rounding."}
    why = "The one was there by mistake."
    return [talk.use("submit_pull_request", **words, why=why, notes="", template=FILLED)]


async def test_the_template_takes_the_place_of_the_reasons(make, acts, request_, text):
    world = make([acts.triage(), *acts.straight()[:-1], text], WITH_TEMPLATE)
    body = (await world.resolve(request_)).pull_request.body

    asked = messages_of(world, -1)
    assert "What it does, in a sentence." in asked
    assert "- tests: exit code 0 on" in asked
    assert "SECRET WORDS" not in asked
    assert body.startswith("## Summary\n\nIt adds right now.\n\n## Checklist\n\nChecked.")
    assert "- [x] The tests pass (tests: exit code 0 on" in body
    assert "- [ ] I have signed the CLA" in body
    assert "by mistake" not in body
    for heading in ("What was considered and rejected", "How it was verified", "Cost"):
        assert f"### {heading}" in body


async def test_where_a_model_leaves_it_empty_its_reasons_stand_in_it(make, acts, request_):
    world = make([acts.triage(), *acts.straight()], WITH_TEMPLATE)
    body = (await world.resolve(request_)).pull_request.body
    assert body.startswith("## Summary\n\nThe one was there by mistake.\n\n## Checklist\n\n- [ ] ")
    assert "[x]" not in body, "nobody looked at the boxes"


async def test_without_a_template_no_word_is_said_of_one(make, acts, request_, text):
    long = FILES | {".github/pull_request_template.md": TEMPLATE + "x" * LIMIT}
    for files in (FILES, long):
        world = make([acts.triage(), *acts.straight()[:-1], text], files)
        body = (await world.resolve(request_)).pull_request.body
        assert "exit code 0 on" not in messages_of(world, -1)
        assert body.startswith("### Why")


async def test_on_the_fast_path_the_steps_words_stand_in_the_template(make, acts, request_):
    step = {"title": "Add right, always", "brief": "Take the one away in add()."}
    policy = {".github/fettle.yml": "path: fast\nquality: [{name: tests, run: check}]"}
    done = acts.step(
        "The one was there by mistake.", documentation="None.", rejected="-", notes="-"
    )
    answers = [acts.triage(steps=[step]), acts.change(), done, acts.verdict()]
    world = make(answers, WITH_TEMPLATE | policy)
    body = (await world.resolve(request_)).pull_request.body
    assert body.startswith("## Summary\n\nThe one was there by mistake.\n\n## Checklist\n\n- [ ] ")
    assert len(world.model.asked) == len(answers), "no further answer is asked for"


async def test_the_policy_says_before_whom_it_is_brought(make, acts, request_):
    policy = "pull_requests: {labels: [bot], reviewers: [octo/core]}"
    checks = "quality: [{name: tests, run: check}]"
    files = FILES | {".github/fettle.yml": f"{policy}\n{checks}"}
    world = make([acts.triage(), *acts.straight()], files)
    await world.resolve(request_)
    assert world.publisher.terms.labels == ("bot",)
    assert world.publisher.terms.reviewers == ("octo/core",)
