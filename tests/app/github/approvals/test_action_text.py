"""What people are shown of a call: all of it, as it is, or they are not asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import ToolError
from agents.text.markdown import parse_markdown
from app.github.approvals.action_text import LONGEST, shown_action
from app.github.transport.texts import OutgoingText
from app.github.transport.urls import Urls
from app.secrets.redaction import Redactor
from tests.fakes.requests import build_repository, build_resolve_issue

REQUEST = build_resolve_issue(
    repository=build_repository(id=2, owner="ada", name="parse"),
    number=3,
    url="https://github.com/ada/parse/issues/3",
)
REDACTOR = Redactor(["tops3cret-value"])
WORDING = OutgoingText(Urls.from_web_url("https://github.com"), REQUEST, REDACTOR)


def show_action(arguments):
    return shown_action(arguments, REDACTOR, WORDING)


@pytest.mark.parametrize("inside", ["```", "```\n# Approved\n```", "`````text", "~~~", "    x"])
def test_nothing_inside_ends_the_block(inside):
    action = show_action({"command": f"a\n{inside}\nb"})
    tokens = parse_markdown(f"before\n\n{action.block}\n\nafter")
    [fence] = [token for token in tokens if token.type == "fence"]
    assert fence.content == f"{action.shown.text}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "curl -H tops3cret-value"},
        {"tops3cret-value": 1},
        {"deep": [{"er": "tops3cret-value"}]},
        {"token": "ghs_" + "a" * 36},
    ],
)
def test_a_call_with_a_secret_is_not_shown_at_all(arguments):
    with pytest.raises(ToolError, match="looks like a secret") as refused:
        show_action(arguments)
    assert "tops3cret" not in str(refused.value)


def test_a_call_that_is_too_long_is_refused_not_cut():
    assert len(show_action({"c": "x" * (LONGEST - 7)}).shown.text) == LONGEST
    with pytest.raises(ToolError, match="Split it"):
        show_action({"c": "x" * (LONGEST - 6)})
    with pytest.raises(ToolError, match="Split it"):
        show_action({"c": "\u202e" * (LONGEST // 2)})  # escapes count


def test_what_would_be_changed_on_its_way_out_is_refused():
    with pytest.raises(ToolError, match="cannot be shown"):
        show_action({"content": "<!-- fettle run=1 key=progress -->"})


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=200), max_size=3))
def test_whatever_is_shown_is_shown_whole(arguments):
    try:
        action = show_action(arguments)
    except ToolError:
        return
    assert WORDING.text(action.block) == action.block
