"""The `issues` handler: which labels ask for a pull request, and what the request holds."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import handlers
from agents.requests import Person, Repository, ResolveIssue
from handlers.ignored import Ignored
from handlers.issues import BOARD
from handlers.notifications import BoardTicked, Suspicion

PAYLOAD = {
    "action": "labeled",
    "issue": {
        "number": 12,
        "title": "It is broken",
        "body": "See\r\nthe title.",
        "user": {"login": "author", "id": 7, "type": "User"},
        "html_url": "https://github.com/octo/hello/issues/12",
        "state": "open",
    },
    "label": {"id": 1, "name": "bot:resolve"},
    "repository": {
        "id": 99,
        "name": "hello.py",
        "owner": {"login": "octo", "id": 3},
        "default_branch": "main",
        "private": True,
    },
    "sender": {"login": "maintainer", "id": 8, "type": "User"},
    "installation": {"id": 4242, "node_id": "x"},
}


def route(**changes):
    return handlers.route("issues", {**copy.deepcopy(PAYLOAD), **changes})


def issue(**changes):
    return {**PAYLOAD["issue"], **changes}


def test_the_trigger_label_makes_a_request():
    assert route() == ResolveIssue(
        installation_id=4242,
        repository=Repository(
            id=99, owner="octo", name="hello.py", default_branch="main", private=True
        ),
        number=12,
        title="It is broken",
        body="See\r\nthe title.",
        author=Person(id=7, login="author"),
        asked_by=Person(id=8, login="maintainer"),
        label="bot:resolve",
        url="https://github.com/octo/hello/issues/12",
    )


def test_an_issue_without_text_has_an_empty_body():
    assert route(issue=issue(body=None)).body == ""


@pytest.mark.parametrize("name", ["bug", "bot:resolve ", "Bot:Resolve", "bot:resolved", ""])
def test_only_the_label_itself_counts(name):
    assert isinstance(route(label={"name": name}), Ignored)


def test_the_label_that_was_put_on_counts_not_those_that_are_on():
    every = issue(labels=[{"name": "bot:resolve"}])
    assert isinstance(route(issue=every, label={"name": "bug"}), Ignored)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"label": None}, "label"),
        ({"issue": issue(pull_request={"url": "x"})}, "pull request"),
        ({"issue": issue(pull_request={})}, "pull request"),
        ({"installation": None}, "installation"),
        ({"sender": None}, "who put the label on"),
        ({"sender": {"login": "ghost", "id": 10137, "type": "User"}}, "who put the label on"),
        ({"issue": issue(user=None)}, "author"),
        ({"issue": issue(user={"login": "ghost", "id": 10137})}, "author"),
    ],
)
def test_what_asks_for_nothing_says_why(changes, reason):
    found = route(**changes)
    assert isinstance(found, Ignored)
    assert reason in found.reason


@pytest.mark.parametrize("missing", ["label", "sender", "installation"])
def test_keys_that_github_does_not_promise_may_be_absent(missing):
    payload = {key: value for key, value in PAYLOAD.items() if key != missing}
    assert isinstance(handlers.route("issues", payload), Ignored)


@pytest.mark.parametrize("name", [".", "..", "...", "a/b", "a b", "a\n", "-" * 101, "", "a\x00"])
def test_names_that_would_change_a_path_are_refused(name):
    with pytest.raises(ValidationError):
        route(repository={**PAYLOAD["repository"], "name": name})


@pytest.mark.parametrize("number", [0, -1, "12", True, 1.5, None, 2**63])
def test_numbers_are_numbers(number):
    with pytest.raises(ValidationError):
        route(issue=issue(number=number))


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://x y", "https://x>)", "", "//x"])
def test_addresses_are_addresses(url):
    with pytest.raises(ValidationError):
        route(issue=issue(html_url=url))


def test_the_bots_of_github_are_accounts_too():
    bot = {"login": "dependabot[bot]", "id": 49699333, "type": "Bot"}
    assert route(issue=issue(user=bot)).author.login == "dependabot[bot]"


@pytest.mark.parametrize(("action", "via"), [("unlabeled", "label"), ("closed", "issue")])
def test_a_request_is_called_back_by_the_label_or_the_issue(action, via):
    [command] = route(action=action)
    assert (command.verb, command.via, command.comment_id) == ("cancel", via, None)
    assert (command.asked_by.id, command.number, command.repository.id) == (8, 12, 99)
    assert command.lane == "99#12/commands"
    assert command.for_live_runs


@pytest.mark.parametrize("action", ["unlabeled", "closed"])
@pytest.mark.parametrize(
    "changes",
    [
        {"issue": issue(pull_request={"url": "x"})},
        {"installation": None},
        {"sender": None},
    ],
)
def test_what_calls_nothing_back(action, changes):
    assert isinstance(route(action=action, **changes), Ignored)


@pytest.mark.parametrize("label", [None, {"name": "bug"}])
def test_only_the_trigger_label_calls_back(label):
    assert isinstance(route(action="unlabeled", label=label), Ignored)


def test_bots_may_call_back_but_not_ask():
    assert handlers.ROUTES["issues", "labeled"].people_only
    assert not handlers.ROUTES["issues", "unlabeled"].people_only
    assert not handlers.ROUTES["issues", "closed"].people_only


def test_what_is_known():
    assert handlers.is_handled("issues")
    assert handlers.is_handled("issues", "labeled")
    assert not handlers.is_handled("issues", "assigned")
    assert not handlers.is_handled("star")
    assert isinstance(handlers.route("star", {"action": "created"}), Ignored)
    assert isinstance(handlers.route("issues", {}), Ignored)


@given(
    st.sampled_from(sorted(PAYLOAD)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
)
def test_any_payload_is_a_request_ignored_or_invalid(part, value):
    try:
        found = route(**{part: value})
    except ValidationError:
        return
    assert isinstance(found, ResolveIssue | Ignored)


def route_opened(body, association="MEMBER", **changes):
    named = issue(title="It broke", body=body, author_association=association, **changes)
    return route(action="opened", issue=named)


def test_a_new_issue_of_an_owner_names_the_changes_that_it_suspects():
    body = "Since #31, https://github.com/octo/hello/pull/32 and 0123456789abcdef it fails. See #31"
    found = route_opened(body)
    assert isinstance(found, Suspicion)
    assert (found.named, found.branch) == (("31", "32", "0123456789abcdef"), "")


@pytest.mark.parametrize(
    ("body", "association"),
    [
        ("Since #31 it fails.", "NONE"),
        ("Since #31 it fails.", "FIRST_TIME_CONTRIBUTOR"),
        ("Since #31 it fails.", ""),
        ("It fails: a#31, &#31; ##31, 0123456.", "OWNER"),
        (None, "OWNER"),
    ],
)
def test_a_new_issue_that_names_nothing_or_is_a_strangers_raises_no_suspicion(body, association):
    assert isinstance(route_opened(body, association), Ignored)


def test_a_long_issue_names_no_more_than_a_few():
    assert len(route_opened(" ".join(f"#{number}" for number in range(1, 9_000))).named) == 20


# --- boxes of a dashboard -------------------------------------------------------------------------

BOX = "- [{}] <!-- fettle:approve={} -->"


def route_edited(before, after, **changes):
    issue = {**PAYLOAD["issue"], "body": f"{BOARD}\r\n{after}"}
    told = {"body": {"from": f"{BOARD}\r\n{before}"}}
    return route(**{"action": "edited", "issue": issue, "changes": told, **changes})


@pytest.mark.parametrize("mark", ["x", "X"])
def test_what_was_ticked_is_passed_on_with_who_did_it(mark):
    others = "\r\n* [ ] <!-- fettle:again=0001-run --> Look again"
    found = route_edited(
        BOX.format(" ", "k3f9x2") + others, f"{BOX.format(mark, 'k3f9x2')} Approve{others}"
    )

    assert isinstance(found, BoardTicked)
    assert (found.approve, found.again, found.number) == (("k3f9x2",), (), 12)
    assert (found.asked_by.login, found.installation_id) == ("maintainer", 4242)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BOX.format("x", "k3f9x2"), BOX.format("x", "k3f9x2")),
        (BOX.format("x", "k3f9x2"), BOX.format(" ", "k3f9x2")),
        ("", "    " + BOX.format("x", "k3f9x2")),
        ("", "> " + BOX.format("x", "k3f9x2")),
        ("", "- [x] <!-- fettle:deny=k3f9x2 -->"),
        ("", "- [x] <!-- fettle:approve=" + "a" * 101 + " -->"),
    ],
)
def test_other_edits_tick_nothing(before, after):
    assert isinstance(route_edited(before, after), Ignored)


@pytest.mark.parametrize(
    "changes",
    [
        {"sender": None},
        {"changes": {"title": {"from": "x"}}},
        {"changes": None},
        {"installation": None},
    ],
)
def test_a_tick_counts_where_a_person_and_an_edit_can_be_named(changes):
    box = BOX.format
    try:
        found = route_edited(box(" ", "k3f9x2"), box("x", "k3f9x2"), **changes)
    except ValidationError:
        return
    assert isinstance(found, Ignored)


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_breaks_the_reader_of_boxes(before, after):
    found = route_edited(before, after)
    assert isinstance(found, Ignored | BoardTicked)


def test_a_body_of_boxes_is_read_within_bounds():
    many = "\n".join(BOX.format("x", number) for number in range(9_000))
    assert len(route_edited("", many).approve) == 20
