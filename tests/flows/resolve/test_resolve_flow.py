"""From a signed webhook to a pull request, through the front door.

The model knows more than the issue: instructions, decisions, linked issues, pictures.
"""

import json
import re

from app.demo.server_process import ServerProcess
from app.store.audit import read_entries
from tests.app.github.attachments.image_samples import png
from tests.flows.conftest import CALC, SCRIPT
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

FILES = CALC | {
    "AGENTS.md": "Sums are tested with unittest.\n",
    "docs/decisions/0001-whole-numbers.md": "# Whole numbers only\n\nNo fractions.\n",
}


FITTING = CALC | {
    ".github/fettle.yml": "quality: [{name: unittest, run: python3 -m unittest -q}]\n"
    "pull_requests: {labels: [bot], assignees: [mara, nobody], reviewers: [mara]}\n",
    "docs/PULL_REQUEST_TEMPLATE.md": "## Summary\n\n<!-- in a sentence -->\n\n## Checklist\n\n"
    "- [ ] Fettle's unittest passes\n- [ ] I have read CONTRIBUTING.md\n",
}
PROOF = "python3 -B -m unittest -q test_calc"


async def test_who_may_not_write_is_told_why_and_nothing_is_paid(share_place):
    async with share_place(script=SCRIPT) as place:
        await place.label(by="eve")
        outcome = await place.wait_for_end()

        assert outcome.kind == "refused"
        assert outcome.rule == "asker-may-write"
        [comment] = place.comments()
        assert "takes write access" in comment
        assert not place.model.requests
        assert not place.pulls()


async def test_a_labelled_issue_becomes_a_pull_request(share_place, rest_referee, webhook_referee):
    """What it leaves is the bot's, is described, is said once, and holds no secret."""
    async with share_place(FITTING, kind=ServerProcess, script=SCRIPT) as place:
        [delivery] = await place.label()
        outcome = await place.wait_for_end()

        assert delivery.status_code == 202
        assert outcome.kind == "pull_request"
        [pull] = place.pulls()
        fits_the_issue(pull)
        fits_the_repository(pull)
        subjects = [message.splitlines()[0] for _, message in await place.commits(pull)]
        assert subjects == ["Step 1/2: Add without one too many", "Step 2/2: Test the sum"]
        [comment] = place.comments()
        assert "**Done.**" in comment
        assert 'fettle_runs{state="done"} 1.0' in await place.server.metrics()
        assert [r.content for r in place.issue.reactions] == ["eyes"]
        for _, message in await place.commits(pull):
            assert "Co-authored-by: mara" in message
            assert re.search(r"^Fettle-Stage: implement/\d$", message, re.MULTILINE)

        called = [e for e in place.github.requests if e.path.startswith("/api/v3/")]
        assert len(called) > 8
        assert rest_referee.problems(called) == []
        assert webhook_referee.problems(place.github.webhooks.log) == []

        await changes_nothing(place, delivery)
        await each_privileged_act_is_audited(place, pull)
        await place.server.stop()
        holds_no_secret(place)


def fits_the_issue(pull):
    """It says what was done, and that the issue is over with it."""
    assert pull.issue.title == "Add without one too many"
    assert not pull.draft
    assert "Resolves #1" in pull.issue.body
    assert "`python3 -m unittest -q` | passed (exit 0" in pull.issue.body
    assert "**A test shows the bug.**" in pull.issue.body
    [row] = [line for line in pull.issue.body.splitlines() if f"`{PROOF}`" in line]
    assert re.search(r"failed \(exit 1, [\d.]+ s\) \| passed \(exit 0", row)


def fits_the_repository(pull):
    """Its own template is filled, and those whom its policy names are asked."""
    assert pull.issue.body.startswith("## Summary\n\nSums are right again.\n\n## Checklist\n\n")
    assert re.search(r"- \[x\] Fettle's unittest passes \(unittest: exit code 0", pull.issue.body)
    assert "- [ ] I have read CONTRIBUTING.md" in pull.issue.body
    assert [label.name for label in pull.issue.labels] == ["bot"]
    assert [each.login for each in pull.issue.assignees] == ["mara"]
    assert [each.login for each in pull.requested] == ["mara"]
    [said] = pull.issue.comments
    assert "- `nobody` could not be assigned." in said.body


async def changes_nothing(place, delivery):
    """Have GitHub deliver again what a run came of."""
    before = await place.end_state()
    asked = len(place.model.requests)

    again = await place.redeliver(delivery)

    assert again.status_code == 202
    assert await place.end_state() == before
    assert len(place.model.requests) == asked


def _mints(exchange):
    return exchange.path.endswith("/access_tokens") and exchange.status == 201


async def each_privileged_act_is_audited(place, pull):
    """Who asked, what each token may reach, what was pushed: once each, in a chain that holds."""
    entries = await place.database().read(lambda c: list(read_entries(c)))
    pairs = zip([None, *entries], entries, strict=False)
    assert not [each for before, each in pairs if each.find_fault(before)]
    acts = [each.act for each in entries]
    assert [act["actor"] for act in acts if act["kind"] == "run.asked"] == ["mara"]
    [push] = [act for act in acts if act["kind"] == "push"]
    assert push["details"] == {"branch": pull.head, "commit": pull.head_sha}
    minted = [act for act in acts if act["kind"] == "token.minted"]
    asked = [json.loads(each.body) for each in place.github.requests if _mints(each)]
    narrow = [each for each in asked if {"repositories", "repository_ids"} & each.keys()]
    assert len([act for act in minted if act["details"]["repositories"] != "all"]) == len(narrow)
    wide = [act["details"] for act in minted if act["details"]["repositories"] == "all"]
    assert {details["noted"] for details in wide} == {"once a day"}
    assert len({json.dumps(details["permissions"]) for details in wide}) == len(wide)
    assert {"contents": "write"} in [act["details"]["permissions"] for act in minted]
    [ended] = [act for act in acts if act["kind"] == "run.ended"]
    assert ended["details"]["pull_request"] == pull.issue.number
    kinds = [act["kind"] for act in acts]
    assert kinds.index("settings.changed") < kinds.index("run.asked") < kinds.index("push")


def holds_no_secret(place):
    """Look through log, database and every other file of a server that has stopped."""
    assert len(place.tokens()) >= 3
    stored = b"".join(
        path.read_bytes()
        for path in place.server.data.rglob("*")
        if path.is_file() and path.name != "app.pem"
    )
    for secret in place.secrets():
        assert secret.encode() not in stored


async def test_what_belongs_to_an_issue_reaches_the_model(share_place):
    async with share_place(files=FILES) as place:
        earlier = await place.file("It was right once", "Before the last change.")
        address = place.github.attach_file(place.repository, png())
        text = f"As #{earlier.number} says.\n\n![what I see]({address})\n"
        issue = await place.file("It adds one too many", text)
        commit_meanwhile(place, {"calc.py": "def add(*numbers):\n    return sum(numbers)\n"})
        await place.label(issue=issue)
        outcome = await place.ends("pull_request")

        told = await place.read_prompts("triage/1")
        assert "Sums are tested with unittest." in told
        assert "0001-whole-numbers" in told
        assert "Before the last change." in told
        first = (await place.turns("triage/1"))[1].content  # the head comes before it
        assert [block["type"] for block in first] == ["text", "image"]
        assert first[1]["source"]["media_type"] == "image/png"
        assert "Sums are tested with unittest." in await place.read_prompts("evaluation/1")
        [pull] = place.pulls()
        found = "`python3 -m unittest -q` | passed (exit 0"
        assert found in pull.issue.body, "no policy names its checks"
        says_what_came_meanwhile(pull, outcome, contradicts=True)


def commit_meanwhile(place, files):
    """Have a commit come to the default branch while the model is at work, once."""
    made = []

    async def commit(asked):
        if asked.number >= 4 and not made:
            made.append(asked)
            mara = place.people["mara"]
            await place.github.commit(
                place.repository, files, author=mara, message="Meanwhile", branch="main"
            )

    place.model.on_request(commit)


def says_what_came_meanwhile(pull, outcome, *, contradicts):
    """See that people are told of that commit, and whether the two contradict each other."""
    assert "### What came to the default branch meanwhile\n\nA commit came" in pull.issue.body
    warning = "**The two contradict each other** in `calc.py`."
    assert (warning in pull.issue.body) is contradicts
    assert (warning in outcome.text) is contradicts
    assert ("`/bot update`" in pull.issue.body) is contradicts
