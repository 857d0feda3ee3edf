"""`fettle address` and `fettle update` as they are typed: what is meant, and how it ends."""

from __future__ import annotations

import pytest

from agents.run import Outcome
from app.cli.resolve.work_on_issue import code_of
from tests.fakes.requests import build_address_review, build_fix_checks, build_update_branch

REQUESTS = [build_address_review(), build_update_branch(), build_fix_checks()]


@pytest.mark.parametrize("command", ["address", "update"])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (["."], "is no pull request"),
        (["lib", "31 things"], "is no pull request"),
        (["https://github.com/octo/lib/issues/31"], "works on pull requests"),
        (["octo/lib#31"], "FETTLE_APP_ID"),
    ],
)
def test_what_a_person_has_to_mend(fettle, command, said, told):
    code, out, err = fettle(command, *said)
    assert (code, out) == (2, "")
    assert told in err


@pytest.mark.parametrize("command", ["address", "update"])
def test_the_manual_says_how_it_ends(fettle, command):
    code, out, _ = fettle(command, "--help")
    assert code == 0
    for words in ("Exit codes", f"fettle {command} octo/lib#31", "130"):
        assert words in out


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each.kind)
@pytest.mark.parametrize(
    ("kind", "code"),
    [("comment", 0), ("covered", 0), ("refused", 2), ("failed", 1), ("cancelled", 1)],
)
def test_how_work_on_a_pull_request_ends(request_, kind, code):
    assert code_of(request_, Outcome(kind=kind, text="t")) == code
    if kind == "comment":
        assert code_of(request_, Outcome(kind=kind, text="t", ready=False)) == 2
