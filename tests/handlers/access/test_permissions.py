"""Which permissions a request takes, and what people are told who have not granted them."""

from __future__ import annotations

import pytest

from app.github.transport.tokens import every_permission
from handlers.access.permissions import NEEDS, list_lacking, permissions_granted
from tests.fakes.requests import build_resolve_issue

PAGE = "https://example.org/settings/installations/7"
HELD = {"contents": "write", "issues": "write", "pull_requests": "write"}
WISH = build_resolve_issue()


def test_nothing_is_said_where_all_is_granted():
    assert permissions_granted(WISH, HELD, "octo", PAGE) is None


@pytest.mark.parametrize("held", [{}, {**HELD, "contents": "read"}, {**HELD, "contents": "odd"}])
def test_people_are_told_what_is_lacking_and_where_it_is_granted(held):
    refusal = permissions_granted(WISH, held, "octo", PAGE)
    if held.get("contents") == "odd":  # a level of tomorrow
        assert refusal is None
        return
    assert (refusal.rule, refusal.silent) == ("permissions-granted", False)
    assert "`contents: write`" in refusal.text
    assert f"`{PAGE}`" in refusal.text
    assert "put the label `bot:resolve` on again" in refusal.text


def test_no_request_needs_more_than_the_app_asks_for():
    for needed in NEEDS.values():
        assert not list_lacking(every_permission(), needed)
