"""From GitHub's signed alert to a verified fix that people can merge, with made-up packages."""

from __future__ import annotations

import json

from app.demo.package_index.releases import package_lock
from app.simulator.github.state.alerts import Affected
from tests.flows.approvals.test_approval_commands import ID
from tests.flows.keeping import ONE_LOOP
from tests.flows.remediate.remedied import (
    PAINTER,
    SETTINGS,
    SHOP,
    SIGN,
    has_npm,
    index,
    merger,
    remedied,
)
from tests.flows.scripted import part, usual

__all__ = ["index", "remedied"]  # fixtures

pytestmark = [has_npm, ONE_LOOP]

FIXED = package_lock("shop", {"settings": "^2.0.0"}, [merger("1.0.1"), SETTINGS])
PLAIN = SHOP | {".github/fettle.yml": "quality: []\nsetup: {run: []}\n"}
"""Where only the fix itself counts."""
FOLLOWS = {
    "edit": {
        "path": "sign.js",
        "old": "const {render}",
        "new": "const {template: render}",
    }
}
ADAPTS = part(
    "# Adapt the code to an update",
    FOLLOWS,
    {"submit_adaptation": {"summary": "render is called template now.", "tried": "node test.js"}},
)
SUMS_UP = part(
    "# Summarize the update",
    {
        "submit_summary": {
            "text": "The new release renames render, so sign.js follows it. Look there."
        }
    },
)
WRONG = {
    "category": "incomplete",
    "severity": "high",
    "description": "sign.js:1 hides that the name is another one now.",
    "suggestion": "Call template by its own name.",
}


def verifies(*, passed):
    return part(
        "# Verify the update",
        {"bash": {"command": "node test.js"}},
        {
            "submit_verification": {
                "passed": passed,
                "issues": [] if passed else [WRONG],
                "feedback": "" if passed else "Call template by its own name.",
                "reasoning": "I ran the tests and read sign.js line by line.",
            }
        },
    )


def harmless(text):
    """Return whether nothing of a hostile advisory came through."""
    return not [
        word for word in ("evil.example", "hidden order", "/bot approve", "@mara") if word in text
    ]


async def test_an_alert_becomes_a_verified_pull_request_without_a_token(remedied):
    async with remedied() as at:
        alert = await at.raise_alert()
        [outcome] = await at.ends("pull_request")

        [pull] = at.place.pulls()
        body = pull.issue.body
        assert pull.issue.title == "Update deepmerger from 1.0.0 to 1.0.1"
        assert f"/security/dependabot/{alert.number})" in body
        assert alert.advisory.ghsa_id in body
        for line in (
            "Only the lock file changes: every requirement stays as it is.",
            "| `deepmerger` | `1.0.0` | `1.0.1` | patch |",
            "| `tests` | passed | passed |",
            "- Every copy of deepmerger (1.0.1) is outside of the ranges of 1 alert.",
            "- `npm ci --dry-run` accepted the files as they are (exit code 0).",
            "It cost nothing.",
        ):
            assert line in body
        notes = "```text\n## 1.0.1\n\n- Hold it."
        assert f"What the package itself says of the release:\n\n{notes}" in body
        assert len(body.split()) < 500
        assert harmless(body.partition(notes)[0])  # in a block of code nothing acts
        assert not pull.draft
        assert await at.run_exploit("main") == "polluted: yes"
        assert await at.run_exploit(pull.head) == "polluted: undefined"
        changed = [await at.place.show(ref, "package-lock.json") for ref in ("main", pull.head)]
        lines = [set(text.splitlines()) for text in changed]
        assert len(lines[1] - lines[0]) == 2, lines[1] - lines[0]  # version and integrity
        assert await at.place.show(pull.head, "package.json") == FIXED["package.json"]
        assert at.questions() == []
        assert at.place.comments() == []
        assert at.place.model.requests == []
        assert at.results([outcome]) == ["fixed"]


async def test_a_lock_file_that_nobody_can_prove_asks_for_a_person_and_dependabots_is_proved(
    remedied,
):
    old = {"name": "shop", "version": "1.0.0", "lockfileVersion": 1, "requires": True}
    old |= {"dependencies": {"deepmerger": {"version": "1.0.0"}}}
    async with remedied({**SHOP, "package-lock.json": json.dumps(old)}) as at:
        await _ask_for_a_person(at)
        mara, newer = at.place.people["mara"], {"package-lock.json": SHOP["package-lock.json"]}
        await at.github.commit(at.repository, newer, author=mara, message="m", branch="main")

        # Dependabot's own pull request is proved and not competed with.
        pull = await at.github.bot_pull(
            at.repository,
            at.github.dependabot,
            branch="dependabot/npm_and_yarn/deepmerger-1.0.1",
            files={"package-lock.json": FIXED["package-lock.json"]},
            title="Bump deepmerger from 1.0.0 to 1.0.1",
        )
        await at.raise_alert()
        _, outcome = await at.ends("failed", "comment")

        assert at.place.pulls() == [pull]
        assert await at.place.branches() == []
        [comment] = pull.issue.comments
        assert comment.author.account.login == "fettle[bot]"
        assert "| `tests` | passed | passed |" in comment.body
        assert "`npm ci --dry-run` accepted the files as they are" in comment.body
        assert at.results([outcome]) == ["fixed"]
        assert at.place.model.requests == []


async def _ask_for_a_person(at):
    await at.raise_alert()
    [outcome] = await at.ends("failed")

    assert at.results([outcome]) == ["by_hand"]
    assert outcome.text.startswith("It takes a person: ")
    assert "is of lockfileVersion 1" in outcome.text
    assert "On a machine with the tool, run `npm" in outcome.text
    [issue] = at.questions()
    said = "\n".join(each.body for each in issue.comments)
    assert "is of lockfileVersion 1" in said or "knows what has to move" in said
    assert at.place.model.requests == []
    assert at.place.pulls() == []


async def test_a_major_version_is_a_draft_or_after_a_yes_more_with_code_that_follows_it(remedied):
    script = usual(ADAPTS, verifies(passed=True), SUMS_UP)
    async with remedied(SIGN, script=script) as at:
        await at.raise_alert(Affected("npm", "painter", "< 2.0.0", "2.0.0"))
        await at.ends("pull_request")

        [pull] = at.place.pulls()
        assert pull.draft
        assert at.questions() == []
        assert "`2.0.0` is another major version" in pull.issue.body
        assert "read the second commit" in pull.issue.body
        assert "model answers, in 1 run: what led to this pull request" in pull.issue.body
        assert "template: render" in await at.place.show(pull.head, "sign.js")
        await at.github.close_issue(at.repository, pull.issue.number, at.place.people["mara"])
        await _say_yes(at, pull)


async def _say_yes(at, closed):
    """Where people are asked first, one of them who may say so has the code follow."""
    policy, mara = ".github/fettle.yml", at.place.people["mara"]
    asks = {policy: f"{SIGN[policy]}remediation: {{majors: ask}}\n"}
    await at.github.commit(at.repository, asks, author=mara, message="Ask", branch="main")
    at.place.model.play(usual(ADAPTS, verifies(passed=True), SUMS_UP))
    await at.raise_alert(Affected("npm", "painter", "< 2.0.0", "2.0.0"))
    await at.place.wait_for_parked()
    [issue] = at.questions()
    question = next(c.body for c in issue.comments if ID.search(c.body))
    assert "painter" in issue.title
    assert "painter" in question
    assert "    2.0.0\n" in question
    assert harmless(question.replace("/bot approve", ""))
    await at.place.say("eve", f"/bot approve {ID.search(question)[1]}", issue)
    await at.place.say("mara", f"/bot approve {ID.search(question)[1]}", issue)
    await at.ends("pull_request", "pull_request")

    [pull] = [each for each in at.place.pulls() if each is not closed]
    subjects = [message.splitlines()[0] for _, message in await at.place.commits(pull)]
    assert subjects == [
        "Update painter from 1.0.0 to 2.0.0",
        "Adapt the code to the new painter",
    ]
    assert "template: render" in await at.place.show(pull.head, "sign.js")
    assert "| `painter` | `1.0.0` | `2.0.0` | major |" in pull.issue.body
    assert harmless(pull.issue.body)
    told = await at.place.read_prompts("verify/1")
    assert "hidden order" not in told
    assert "render is called template now" not in told  # the fixer's words are not for it
    assert issue.state == "closed"


async def test_a_fix_that_is_found_wrong_three_times_is_not_published(remedied):
    script = usual(ADAPTS, verifies(passed=False))
    async with remedied(SIGN, script=script) as at:
        await at.raise_alert(PAINTER)
        [outcome] = await at.ends("failed")

        assert at.results([outcome]) == ["verify_failed"]
        assert len(outcome.details["failed"]) == 3
        assert at.place.pulls() == []
        assert await at.place.branches() == []
        again = await at.place.read_prompts("adapt/2")
        assert "Call template by its own name." in again


async def test_dismissed_in_the_middle_of_the_fix_nothing_is_published(remedied):
    async with remedied(PLAIN) as at:
        alert = await at.raise_alert()
        await at.reaches("stage/fix/1")
        await at.github.dismiss_alert(alert, at.place.people["mara"])
        await at.ends("cancelled")
        assert at.pushes() == 0
        assert at.place.pulls() == []
        assert at.questions() == []
