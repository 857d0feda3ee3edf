"""Which run a pull request is of: its own word, where Fettle wrote it, however the run began."""

from __future__ import annotations

import pytest

from agents.requests import Person
from app.github.pulls.text import KEY, LOWER_KEY
from app.github.pulls.withdraw import read_run_of_pull
from app.github.transport import make_marker
from app.github.transport.bot_identity import BotIdentity

OWN = BotIdentity(3, "fettle", Person(id=9, login="fettle[bot]"))
RUNS = {
    "a delivery": "0006614d9c1c7cce-44d2619f-c135-4622-aa07-b113b8288c42",
    "the clock": "0006614d9c1c7cce-fettle.guidance-0123456789abcdef0123456789abcdef",
    "a page": "0006614d9c1c7cce-fettle.page-0123456789abcdef0123456789abcdef",
    "the terminal": "0006614d9c1c7cce-fettle.terminal-0123456789abcdef",
    "a merge": "0006614d9c1c7cce-44d2619f-c135-4622-aa07-b113b8288c42-update-12",
}


@pytest.mark.parametrize("key", [KEY, LOWER_KEY])
@pytest.mark.parametrize("began", RUNS)
def test_it_is_found_however_it_was_asked_for(began, key):
    pull = {"user": {"id": 9}, "body": f"Words.\n\n{make_marker(RUNS[began], key)}"}
    assert read_run_of_pull(pull, OWN) == RUNS[began]


@pytest.mark.parametrize(
    "pull",
    [
        {"user": {"id": 8}, "body": make_marker(RUNS["a page"], KEY)},
        {"user": {"id": 9}, "body": make_marker(RUNS["a page"], "progress")},
        {"user": {"id": 9}, "body": make_marker("../etc", KEY)},
        {"user": {"id": 9}, "body": None},
    ],
    ids=["of somebody else", "another mark", "no id", "nothing"],
)
def test_nothing_else_says_so(pull):
    assert read_run_of_pull(pull, OWN) == ""
