"""A decline or a decision becomes a pull request of its own and a comment; the issue stays open."""

from __future__ import annotations

from tests.flows.conftest import CHECKED, write_policy
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import CURE, SHORT, part, triage, usual

pytestmark = ONE_LOOP

LOG = "docs/decisions/0001-record-decisions.md"
FIRST = "# 1. Record decisions\n\n## Status\n\nAccepted\n"
RECORD = "# 2. Add as it is\n\n## Status\n\nProposed\n\n## Decision\n\nThe sum stays.\n"
WORDS = {
    "branch": "keep-the-sum",
    "title": "Keep the sum as it is",
    "reasons": "Others count on the one, @everyone.",
    "reconsider": "Nobody counts on it.",
}


def decide(decision, *calls):
    return usual(
        triage(decision),
        part(
            "# Record the decision",
            *calls,
            {"submit_decision_record": {"title": "Add as it is", "summary": "It is relied on."}},
        ),
        part("# Write the decision's pull request", {"submit_decision_words": WORDS}),
    )


def write(path, content=RECORD):
    return {"write": {"path": path, "content": content}}


async def test_a_decline_is_recorded_in_the_log_and_told_on_the_issue(share_place):
    record = "docs/decisions/0002-add-as-it-is.md"
    script = decide("decline", [{"read": {"path": LOG}}], [write(record), CURE])
    async with share_place(files=CHECKED | {LOG: FIRST}, script=script) as place:
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert pull.issue.title == "Keep the sum as it is"
        assert pull.head.startswith("bot/1-decision-keep-the-sum-")
        assert not pull.draft
        assert "Resolves #1" not in pull.issue.body
        assert "Closes #1" not in pull.issue.body
        assert "`calc.py`" in pull.issue.body, "what was put back is not told"
        assert await place.show(pull.head_sha, record) == RECORD
        assert "a + b + 1" in await place.show(pull.head_sha, "calc.py")
        [(_, message)] = await place.commits(pull)
        assert message.startswith("Record the decision: Add as it is\n")

        answer = await place.wait_for_comment("Others count on the one")
        assert f"#{pull.issue.number}" in answer
        assert "@everyone" not in answer
        assert place.issue.state == "open"


async def test_a_decision_begins_a_log_where_there_is_none_and_leaves_the_issue_open(share_place):
    script = decide("decision", write("docs/decisions/0001-add-as-it-is.md"))
    async with share_place(script=script) as place:
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert await place.show(pull.head_sha, "docs/decisions/0001-add-as-it-is.md") == RECORD
        assert "Resolves #1" not in pull.issue.body
        assert "Closes #1" not in pull.issue.body
        answer = await place.wait_for_comment("Others count on the one")
        assert f"#{pull.issue.number}" in answer
        assert place.issue.state == "open"


async def test_owners_who_want_no_record_get_a_comment_and_it_can_be_wished_again(share_place):
    files = write_policy("decisions: {record: false}")
    async with share_place(files=files, script=usual(triage("decline"))) as place:
        await place.label()
        await place.ends("comment")

        answer = await place.wait_for_comment("### I would not make this change")
        assert "`decisions.record`" in answer
        assert place.issue.state == "open"
        assert not place.pulls()
        assert not await place.branches()

        place.model.play(SHORT)
        await place.say("mara", "Do it all the same.")
        await place.say("mara", "/bot retry")
        await place.all_done(2)

        assert "Do it all the same." in await place.read_prompts("triage/1")
        [pull] = place.pulls()
        assert "Resolves #1" in pull.issue.body
