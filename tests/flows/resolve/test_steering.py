"""People steer a run from its issue: they look, cancel, speak, pay more, and take it up again."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from pathlib import Path

import pytest

from app.simulator.model.refusal import ErrorAnswer
from tests.flows.conftest import patience, write_policy
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import CURE, SHORT, bash, evaluation, part, plan, step, triage, usual

pytestmark = ONE_LOOP

CHANGE = (triage("action_direct", kind="feature"), plan("Add without one too many"))


class Slow:
    """A script whose step runs a long command, known among all processes by its argument."""

    def __init__(self):
        self.seconds = f"61.{secrets.randbelow(10**9):09}"
        self.command = f"sleep {self.seconds}; true"
        self.script = usual(*CHANGE, step(CURE, bash(self.command, timeout=90)))

    def list_processes(self):
        """Return the processes of the command."""
        return [entry for entry in Path("/proc").glob("[0-9]*") if self._is_command(entry)]

    def _is_command(self, entry):
        try:
            return (entry / "cmdline").read_bytes() == f"sleep\0{self.seconds}\0".encode()
        except OSError:
            return False


@pytest.fixture
def slow():
    return Slow()


async def faces(comment, place):
    await place.wait_until(lambda: comment.reactions)
    return [face.content for face in comment.reactions]


async def tell_where_it_is(place, slow):
    """Label the issue, and have people ask before that and while it works."""
    mistaken = await place.say("mara", "/bot cancle")
    answer = await wait_for_comment(place, "Did you mean `/bot cancel`?")
    assert "@mara" in answer
    none = await place.say("mara", "/bot status")
    assert await faces(mistaken, place) == await faces(none, place) == ["confused"]
    await place.label()
    await place.wait_until(slow.list_processes)
    await place.say("jonas", "/bot why")
    said = await place.say("mara", "/bot status\n\n/bot why")
    status = await place.wait_for_comment("**At work** in the stage `implement`")
    why = await place.wait_for_comment("**What was decided so far**")
    assert await faces(said, place) == ["+1"]
    assert re.search(r"It has spent \$0\.\d\d of \$5\.00 in \d model answers", status)
    assert "triage: **action direct**. I ran it." in why
    assert [body for body in place.comments() if "takes write access" in body]


async def test_it_tells_where_it_is_and_a_cancel_ends_it_to_be_taken_up_from_a_stage(
    share_place, slow
):
    """A cancel ends the command at work and keeps what was made; a retry names its stage."""
    async with share_place(script=slow.script) as place:
        await tell_where_it_is(place, slow)
        began = time.monotonic()
        said = await place.say("mara", "/bot cancel wrong issue")
        await place.wait_until(lambda: not slow.list_processes())
        took = time.monotonic() - began
        outcome = await place.ends("cancelled")

        assert took < 2 * patience(), f"the command was killed only after {took:.1f} s"
        assert "`mara` cancelled the run" in outcome.text
        assert "wrong issue" in outcome.text
        assert await faces(said, place) == ["+1"]
        [branch] = await place.branches()
        assert branch.startswith("bot/1-unfinished-")
        assert await place.show(branch, "calc.py") == "def add(a, b):\n    return a + b\n"
        assert not place.pulls()
        await place.wait_until(lambda: "**Cancelled.**" in place.progress())
        assert branch in place.progress()
        await place.say("mara", "/bot status")
        assert "**Cancelled**" in await wait_for_comment(place, "**Cancelled** on")
        await take_up(place)


async def take_up(place):
    """Have a retry name a stage that the run did not come to, and then one that it did."""
    place.model.play(SHORT)
    unknown = await place.say("mara", "/bot retry from publish")
    assert await faces(unknown, place) == ["confused"]
    assert "did no stage `publish`" in await wait_for_comment(place, "did no stage `publish`")
    before = [asked.part for asked in place.model.requests].count("# Triage")
    place.model.play(usual(*CHANGE, step(CURE)))
    said = await place.say("mara", "/bot retry from decompose")
    await place.all_over("cancelled", "done")

    assert await faces(said, place) == ["+1"]
    [pull] = place.pulls()
    assert "Resolves #1" in pull.issue.body
    assert [asked.part for asked in place.model.requests].count("# Triage") == before


async def test_the_label_taken_off_and_the_issue_closed_cancel(share_place, slow):
    async with share_place(script=slow.script) as place:
        mara, other = place.people["mara"], await place.file("The same", "Still one too many.")
        await place.label()
        await place.label(issue=other)
        await place.wait_until(lambda: len(slow.list_processes()) == 2)
        await place.github.unlabel_issue(place.repository, 1, "bot:resolve", mara)
        await place.wait_until(lambda: len(slow.list_processes()) == 1)
        await place.github.close_issue(place.repository, other.number, mara)
        await place.wait_until(lambda: not slow.list_processes())
        await place.all_over("cancelled", "cancelled")

        for issue, did in ((place.issue, "took the label off"), (other, "closed the issue")):
            said = "\n".join(comment.body for comment in issue.comments)
            assert f"`mara` {did}" in said
        assert len(await place.branches()) == 2
        assert not place.pulls()


async def wait_for_comment(place, text):
    """Wait for a comment with this text, also after the run has ended."""
    await place.wait_until(lambda: any(text in body for body in place.comments()))
    return next(body for body in place.comments() if text in body)


async def test_a_remark_reaches_the_session_and_more_budget_lets_the_run_go_on(share_place):
    """The remark is there before the session's next question."""
    files = write_policy("budget: {usd: 0.05}")
    script = usual(*CHANGE, step([bash("true")], CURE))
    async with share_place(files=files, script=script) as place:
        given, speaking = [], []

        async def give(asked):
            if asked.number == 1:
                given.append(await place.say("mara", "/bot budget +$2"))
                await place.wait_until(lambda: given[0].reactions)

        async def speak(asked):
            if asked.part == "# Implement step 1 of 1" and asked.turn == 1 and not speaking:
                speaking.append(await place.say("mara", "Keep the name, @jonas."))
                await place.say("jonas", "Delete everything.")
                await place.wait_until(lambda: speaking[0].reactions)

        place.model.on_request(give)
        place.model.on_answered(speak)
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert not pull.draft
        assert await faces(given[0], place) == ["+1"]
        told = await place.read_prompts("implement/1")
        assert "Keep the name" in told
        assert "mara, whose role is maintain, said on GitHub" in told
        assert "Delete everything." not in told
        turns = await place.turns("implement/1")
        assert [turn.kind for turn in turns].count("remark") == 1
        assert await faces(speaking[0], place) == ["eyes"]


async def test_a_conversation_that_the_credit_was_used_up_in_goes_on_by_itself(share_place):
    plans = plan("Add without one too many", "Say so")
    first = step(CURE, number=1, count=2)
    second = step([bash("echo so >>notes.txt")], [bash("cat notes.txt")], number=2, count=2)
    async with share_place(script=usual(CHANGE[0], plans, first, second)) as place:
        paid, spent = True, False

        async def refuse(asked):
            if not paid:
                raise ErrorAnswer("Your credit balance is too low to access the API.")

        async def spend(asked):
            nonlocal paid, spent
            if (asked.part, asked.turn) == ("# Implement step 2 of 2", 1) and not spent:
                paid, spent = False, True

        place.model.on_request(refuse)
        place.model.on_answered(spend)
        await place.label()
        await place.wait_until(lambda: "operator has to act" in str(place.comments()))
        before = len(place.model.requests)

        paid = True
        await place.wait_until(lambda: len(place.model.requests) > before)
        await place.all_over("done")

        asked = [(each.part, each.turn) for each in place.model.requests if each.answered]
        assert len(asked) == len(set(asked)), "something was asked for, and paid, twice"
        again = place.model.requests[before]
        assert (again.part, again.turn) == ("# Implement step 2 of 2", 2)
        assert again.dropped == 0, "its thoughts still belong to it"
        assert "so\n" in await place.read_results("implement/2"), "the files are as it left them"
        [pull] = place.pulls()
        assert not pull.draft
        assert await place.show(pull.head, "notes.txt") == "so\n"


MORE = usual(
    triage("action_direct", kind="feature"),
    plan("Say what it does"),
    step({"edit": {"path": "calc.py", "old": "return a + b", "new": "return a + b  # the sum"}}),
    evaluation("pass"),
)


async def test_an_issue_is_worked_on_again_when_it_is_asked_for_and_not_otherwise(share_place):
    """A retry goes on with a draft, a label brings an open pull request up to date, once."""
    halting = part("# Implement step 2 of 2", *[bash("true")] * 8)
    two = (plan("Add without one too many", "Say so"), step(CURE, number=1, count=2), halting)
    async with share_place(script=usual(CHANGE[0], *two)) as place:
        await one_delivery_is_one_run(place)
        pull = await a_retry_goes_on_with_the_draft(place)
        first, branch, [*made] = pull.head_sha, pull.head, await place.commits(pull)
        place.model.play(MORE)
        await place.label()
        await place.all_done(3)

        assert place.pulls() == [pull]
        assert await place.branches() == [branch]
        assert pull.head_sha != first
        assert "# the sum" in await place.show(branch, "calc.py")
        commits = await place.commits(pull)
        assert commits[:-1] == made
        assert commits[-1][1].startswith("Say what it does\n")
        assert f"pull request #{pull.issue.number} for this issue" in await place.read_prompts(
            "triage/1"
        )

        place.model.play(SHORT)
        await place.github.close_issue(place.repository, pull.issue.number, place.people["mara"])
        await place.label_again("mara")
        await place.all_done(4)

        [_, opened] = place.pulls()
        assert opened.head != pull.head
        assert pull.issue.state == "closed"
        assert "Resolves #1" in opened.issue.body


async def a_retry_goes_on_with_the_draft(place):
    """Have the run that failed half way made once more from a stage on; return what it made."""
    [pull] = place.pulls()
    assert pull.draft
    left = pull.head_sha
    place.model.play(usual(*CHANGE, step(CURE)))
    await place.say("mara", "/bot retry from decompose")
    await place.all_over("done", "done")

    assert place.pulls() == [pull]
    assert not pull.draft
    assert pull.head_sha != left
    assert "Resolves #1" in pull.issue.body
    return pull


async def one_delivery_is_one_run(place):
    """Deliver a label several times at once, and once more when it is off and all is done."""
    [delivery] = await place.label()
    again = await asyncio.gather(*(place.redeliver(delivery) for _ in range(3)))
    assert all(each.ok for each in again)
    await place.ends("pull_request")
    mara = place.people["mara"]
    await place.github.unlabel_issue(place.repository, 1, "bot:resolve", mara)
    assert (await place.redeliver(delivery)).ok

    assert len(await place.runs()) == 1
    assert len(place.pulls()) == 1
    assert len([body for body in place.comments() if "key=progress" in body]) == 1
