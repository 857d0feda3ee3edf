"""Asking at the terminal while a run on a clone waits: shown whole, answered in words."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from app.cli.runs.approval_prompt import ask_here, choose_here
from app.records.approvals import StoredApproval
from tests.app.commands.answering_scene import make_asking
from tests.patience import PATIENCE


def make_approval(**changes):
    about = {
        "id": "k3f9x2",
        "run_id": "run-1",
        "repository": "local/parse",
        "repository_id": 0,
        "number": 0,
        "asking": make_asking(),
        "tool": "bash",
        "binding": "b",
        "branch": None,
        "state": "waiting",
        "asked_at": time.time(),
        "expires_at": time.time() + 60,
        "comment_id": None,
        "decided_at": None,
        "decided_by": "",
        "decided_by_id": None,
        "decided_via": "",
        "reason": "",
        "used_at": None,
    }
    return StoredApproval(**about | changes)


@pytest.fixture
def keyboard(monkeypatch):
    """Return a function that types lines at a terminal of our own."""
    master, slave = os.openpty()
    with os.fdopen(slave, "r") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield lambda text: os.write(master, text.encode())
    os.close(master)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("yes\n", ("approved", "")),
        ("Y\n", ("approved", "")),
        ("no\nkeep the history\n", ("denied", "keep the history")),
        ("n\n\n", ("denied", "")),
        ("later\n", None),
        ("\n", None),
        ("what?\nyes\n", ("approved", "")),
    ],
)
async def test_an_answer_in_words(keyboard, capsys, typed, answer):
    keyboard(typed)
    assert await asyncio.wait_for(ask_here(make_approval()), PATIENCE) == answer
    told = capsys.readouterr().err
    assert "k3f9x2: bash, for local/parse, in the stage implement/2" in told
    assert "    git reset --hard HEAD~1" in told


async def test_what_nobody_can_read_cannot_be_approved(keyboard):
    keyboard("yes\nno\n\n")
    answer = await asyncio.wait_for(ask_here(make_approval(asking=None)), PATIENCE)
    assert answer == ("denied", "")


async def test_it_can_be_called_off_while_nobody_types(keyboard):
    asked = asyncio.create_task(ask_here(make_approval()))
    await asyncio.sleep(0.05)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("go\n", "resume"), ("\n", "resume"), ("new\n", "fresh"), ("what?\nN\n", "fresh")],
)
async def test_a_run_that_failed_goes_on_or_makes_room_for_another(keyboard, capsys, typed, chosen):
    keyboard(typed)
    async with asyncio.timeout(PATIENCE):
        assert await choose_here() == chosen
    assert capsys.readouterr().err.count("Go on there, or begin anew?") == typed.count("\n")
