"""An issue on GitHub, resolved from the terminal: here, or by the server that is there."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import signal

import pytest

from agents.errors import ConfigError
from agents.requests import Again
from app.cli.resolve.work_on_issue import work_on
from app.cli.runs.control import _cancel
from app.operator.issue_reference import IssueName
from app.operator.issue_request import Wanted
from app.operator.submit import is_served
from tests.app.operator.conftest import GOOD, PATIENCE, part, triage


async def test_without_a_server_the_command_does_the_work_and_after_ctrl_c_goes_on(place, capsys):
    assert not await is_served(place.settings())
    await place.play(*GOOD, latency=0.3)
    working, heard = asyncio.create_task(place.resolve()), []

    def plans():
        heard.append(capsys.readouterr().err)
        return _true("Plan the steps" in "".join(heard))

    await place.wait_until(plans)
    os.kill(os.getpid(), signal.SIGINT)
    async with asyncio.timeout(PATIENCE):
        assert await working == 130
    assert "this command does the work" in "".join(heard)
    assert "The same command goes on from there" in capsys.readouterr().err
    held = await place.newest()
    assert held.state == "running"

    assert await place.resolve() == 0
    said = capsys.readouterr()
    [pull] = place.pulls()
    assert pull.issue.title == "Add without one too many"
    assert f"{place.repository.full_name}/pull/{pull.issue.number}" in said.out
    for words in ("  edit calc.py", "-> sums passed"):
        assert words in said.err
    run = await place.newest()
    assert run.id == held.id
    named = f"Branch `{pull.head}` at commit `{pull.head_sha[:12]}`. Run `{run.id}`: "
    assert named in said.out
    assert (run.state, run.asked_by) == ("done", getpass.getuser())
    assert (await place.request(run.id))["via"] == "terminal"
    [message] = await place.messages(pull)
    assert "Co-authored-by" not in message, "the operator has no account there"
    answered = [asked.prefix for asked in place.model.requests if asked.answered]
    assert len(answered) == len(set(answered)), "an answer was paid for twice"


async def test_with_a_server_the_command_watches_and_may_leave(place, capsys):
    await place.play(*GOOD, latency=0.3)
    await place.server.start(place.app)
    watching = asyncio.create_task(place.resolve())
    run = await place.wait_until(place.newest)
    await place.wait_until(lambda: _true("Understand" in capsys.readouterr().err))
    os.kill(os.getpid(), signal.SIGINT)
    assert await watching == 130
    assert "The server goes on with it" in capsys.readouterr().err

    assert await place.resolve(json=True) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (told["id"], told["state"]) == (run.id, "done")
    assert "Going on with the run" in said.err
    assert len(place.pulls()) == 1


async def _true(value):
    return value


async def test_a_question_on_the_issue_ends_the_watching_and_a_cancel_ends_the_run(place, capsys):
    asked = {
        "question": "What should `add(1, 1)` give?",
        "why": "It decides the whole change.",
        "otherwise": "I would take it to be two.",
    }
    words = {"questions": [asked], "approaches": [], "recommendation": "", "reason": ""}
    ask = part("# Write the comment", {"submit_comment": words})
    await place.play(triage("ask"), ask)
    assert await place.resolve() == 2
    said = capsys.readouterr()
    assert f"issues/{place.issue.number}" in said.out
    run = await place.newest()
    assert run.state == "parked"
    assert f"Run `{run.id}`: " in said.out

    assert await _cancel(place.settings(), None, run.id[:16], "the wrong issue") == 2
    assert "Nobody works on the run" in capsys.readouterr().err
    await place.server.start(place.app)
    await place.wait_until(lambda: _has_ended(place))
    assert (await place.newest()).state == "cancelled"
    assert await _cancel(place.settings(), None, run.id, "") == 0


async def _has_ended(place):
    return (await place.newest()).outcome is not None


async def test_a_retry_keeps_what_was_done_before_its_stage(place, capsys):
    await place.play(*GOOD[:4])  # to the review of the documentation there is no answer
    assert await place.resolve() == 2, "what was made is a draft"
    failed = await place.newest()
    paid = len(place.model.requests)
    capsys.readouterr()

    await place.play(*GOOD)
    again = Again(run_id=failed.id, stage="docs_review")
    assert await place.resolve(again=again) == 0
    assert "-> kept 8 stages of it" in capsys.readouterr().err
    assert len(place.model.requests) < paid
    done = await place.newest()
    assert done.id != failed.id
    assert len(await place.messages(place.pulls()[-1])) == 1


@pytest.mark.parametrize("name", ["none", "calc"])
async def test_what_is_not_there_is_told(place, name):
    wanted = Wanted(IssueName("octo-org", name, 99))
    with pytest.raises(ConfigError, match="has to be installed"):
        await work_on(place.settings(), wanted, json=False)
