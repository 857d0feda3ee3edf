"""The receiver's decisions, on plain headers and bytes."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import DeliveryError
from app.webhooks.receiver import (
    MAX_BODY,
    Delivery,
    ImmediateAnswer,
    OwnIdentity,
    WebhookReceiver,
    read_head,
    verify,
)

SECRET = "It's a Secret to Everybody"  # this and the next: from GitHub's own documentation
HELLO = b"Hello, World!"
HELLO_SIGNED = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


@pytest.fixture
def identity():
    return OwnIdentity()


@pytest.fixture
def receiver(identity):
    return WebhookReceiver(["older", SECRET], identity)


def refusal(receiver, delivery):
    with pytest.raises(DeliveryError) as caught:
        receiver.admit(*delivery)
    text = str(caught.value)
    assert "\n" not in text
    assert text.isascii()
    return caught.value.status


def test_githubs_own_example():
    assert verify([SECRET.encode()], HELLO, HELLO_SIGNED) == 0


def test_every_secret_is_tried():
    assert verify([b"a", b"b", SECRET.encode()], HELLO, HELLO_SIGNED) == 2
    assert verify([b"a", b"b"], HELLO, HELLO_SIGNED) is None


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "sha256=",
        HELLO_SIGNED[:-1],
        HELLO_SIGNED + "0",
        HELLO_SIGNED.upper(),
        HELLO_SIGNED[7:],
        " " + HELLO_SIGNED,
        HELLO_SIGNED + "\n",
        "sha1=" + "0" * 40,
        "sha256=" + "é" * 64,
        "sha256=" + "\udcff" * 64,
        "sha256=" + "٣" * 64,  # digits, but not ours
    ],
)
def test_other_signatures_do_not_pass(signature):
    assert verify([SECRET.encode()], HELLO, signature) is None


@given(st.text(max_size=80), st.binary(max_size=80))
def test_no_text_makes_the_verifier_fail(signature, body):
    assert verify([SECRET.encode()], body, signature) is None


@pytest.mark.parametrize("secrets", [[], [""], ["one", ""]])
def test_an_empty_secret_is_refused(secrets):
    with pytest.raises(ValueError, match="empty"):
        WebhookReceiver(secrets, OwnIdentity())


def test_an_actionable_delivery_is_kept(receiver, sender):
    headers, body = sender.make()
    kept = receiver.admit(headers, body)
    assert isinstance(kept, Delivery)
    assert (kept.id, kept.event, kept.action) == (headers["X-GitHub-Delivery"], "issues", "labeled")
    assert kept.installation_id == 4242
    assert kept.digest == headers["X-Hub-Signature-256"][7:]
    assert kept.body == body


def test_an_older_secret_still_counts(receiver, sender):
    assert isinstance(receiver.admit(*sender.make(secret="older")), Delivery)
    assert refusal(receiver, sender.make(secret="oldest")) == 401


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (400, {"X_GitHub_Event": None}),
        (400, {"X_GitHub_Event": ""}),
        (400, {"X_GitHub_Event": "issues\x00"}),
        (400, {"X_GitHub_Event": "a" * 61}),
        (400, {"X_GitHub_Event": "Issues"}),
        (400, {"X_GitHub_Event": "issues\n"}),
        (400, {"X_GitHub_Delivery": None}),
        (400, {"X_GitHub_Delivery": ""}),
        (400, {"X_GitHub_Delivery": "a" * 81}),
        (400, {"X_GitHub_Delivery": "../x"}),
        (400, {"X_GitHub_Delivery": "é"}),
        (401, {"X_Hub_Signature_256": None}),
        (401, {"X_Hub_Signature_256": None, "X_Hub_Signature": "sha1=" + "0" * 40}),
        (401, {"X_Hub_Signature_256": "sha1=" + "0" * 40}),
        (401, {"X_Hub_Signature_256": "sha256=" + "0" * 64}),
        (401, {"X_Hub_Signature_256": "sha256=\udcff\udcfe"}),
        (413, {"Content_Length": str(MAX_BODY + 1)}),
        (413, {"Content_Length": "9" * 4000}),
        (415, {"Content_Type": None}),
        (415, {"Content_Type": "application/x-www-form-urlencoded"}),
        (415, {"Content_Type": "application/jsonp"}),
        (415, {"Content_Encoding": "gzip"}),
    ],
)
def test_headers_that_are_not_githubs(receiver, sender, status, headers):
    assert refusal(receiver, sender.make(**headers)) == status


@pytest.mark.parametrize(
    "kind",
    ["application/json; charset=utf-8", "Application/JSON;charset=klingon", "application/json "],
)
def test_a_charset_changes_nothing(receiver, sender, kind):
    assert isinstance(receiver.admit(*sender.make(Content_Type=kind)), Delivery)


def test_checks_come_in_order(sender):
    everything_wrong = {
        "Content_Length": str(MAX_BODY + 1),
        "Content_Type": "text/plain",
        "X_GitHub_Event": "?",
        "X_Hub_Signature_256": "?",
    }
    receiver = WebhookReceiver(["x"], OwnIdentity())
    for status, fixed in [
        (413, "Content_Length"),
        (415, "Content_Type"),
        (400, "X_GitHub_Event"),
        (401, "X_Hub_Signature_256"),
    ]:
        assert refusal(receiver, sender.make(body=b"[", **everything_wrong)) == status
        del everything_wrong[fixed]
    assert refusal(receiver, sender.make(body=b"[", secret="x")) == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"1",
        b"{",
        b'{"action": "labeled"',
        b'{"action": "labeled", "n": NaN}',
        b'{"action": "labeled", "n": 1e999x}',
        b"\xff\xfe{}",
        b'{"action": "labeled", "t": "\xff"}',
        b'{"action": "labeled", "t": "\\ud800"}',
        b'{"action": "labeled", "t": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 100_000,
        b"{'action': 'labeled'}",
        b"payload=%7B%7D",
    ],
)
def test_signed_bodies_that_are_no_json_object(receiver, sender, body):
    assert refusal(receiver, sender.make(body=body)) == 400


def test_a_body_over_the_limit(receiver, sender):
    assert refusal(receiver, sender.make(body=b" " * (MAX_BODY + 1))) == 413


@pytest.mark.parametrize("event", ["star", "push", "fork"])
def test_events_nobody_handles_are_not_even_parsed(receiver, sender, event):
    assert receiver.admit(*sender.make(event=event, body=b"no JSON")).status == 204


@pytest.mark.parametrize(
    "payload",
    [
        {"action": "assigned"},
        {"issue": {}, "action": "assigned"},
        {"issue": {}},
        {"action": None},
        {"action": 5},
        {"action": ["labeled"]},
        {"action": {"labeled": 1}},
    ],
)
def test_actions_nobody_handles(receiver, sender, payload):
    assert receiver.admit(*sender.make(payload)) == ImmediateAnswer(204, "", "unhandled")


def test_the_action_counts_wherever_it_stands(receiver, sender):
    payload = sender.payload()
    payload["action"] = payload.pop("action")
    assert isinstance(receiver.admit(*sender.make(payload)), Delivery)
    twice = b'{"issue": {}, "action": "assigned", "action": "labeled"}'
    assert isinstance(receiver.admit(*sender.make(body=twice)), Delivery)


def test_ping(receiver, sender):
    assert receiver.admit(*sender.make({"zen": "Keep it"}, event="ping")) == ImmediateAnswer(
        200, "pong", "pong"
    )
    assert refusal(receiver, sender.make(event="ping", body=b"[]")) == 400


@pytest.mark.parametrize("issue", [{"number": 1}, {"number": 1, "pull_request": {"url": "x"}}])
def test_what_people_say_is_for_the_store_to_judge(receiver, sender, issue):
    """A run may listen there."""
    payload = {"action": "created", "comment": {"body": "Looks good."}, "issue": issue}
    assert isinstance(receiver.admit(*sender.make(payload, event="issue_comment")), Delivery)


@pytest.mark.parametrize(
    ("conclusion", "kept"),
    [
        ("success", False),
        ("neutral", False),
        ("skipped", False),
        ("cancelled", False),
        ("action_required", False),  # as of Fettle's own question
        ("failure", True),
        ("timed_out", True),
        ("startup_failure", True),
        (None, True),  # for the handler to judge
        (7, True),
    ],
)
def test_checks_that_have_not_failed_are_not_kept(receiver, sender, conclusion, kept):
    payload = {"action": "completed", "check_suite": {"conclusion": conclusion}}
    found = receiver.admit(*sender.make(payload, event="check_suite"))
    assert isinstance(found, Delivery) if kept else found == ImmediateAnswer(204, "", "passed")


@pytest.mark.parametrize("suite", [None, [], "x", 7, {}])
def test_odd_suites_are_left_to_the_handler(receiver, sender, suite):
    payload = {"action": "completed", "check_suite": suite}
    assert isinstance(receiver.admit(*sender.make(payload, event="check_suite")), Delivery)


@pytest.mark.parametrize("who", [{"id": 31, "login": "fettle[bot]"}, {"id": 5, "login": "ci[bot]"}])
def test_what_others_say_of_our_own_push_comes_in_our_name_and_is_kept(
    receiver, identity, sender, who
):
    """GitHub names as sender who pushed the commit, not whose checks they are."""
    identity.bot_id = 31
    failed = {"action": "completed", "check_suite": {"conclusion": "failure"}}
    payload = failed | {"sender": who | {"type": "Bot"}}
    assert isinstance(receiver.admit(*sender.make(payload, event="check_suite")), Delivery)


def test_own_and_other_bots_are_dropped(receiver, identity, sender):
    bot = {"login": "fettle[bot]", "id": 31, "type": "Bot"}
    assert receiver.admit(*sender.make(sender.payload(sender=bot))).outcome == "from_bot"
    quiet = bot | {"type": "User"}
    assert isinstance(receiver.admit(*sender.make(sender.payload(sender=quiet))), Delivery)
    identity.bot_id = 31
    assert receiver.admit(*sender.make(sender.payload(sender=quiet))).outcome == "from_bot"


@pytest.mark.parametrize("odd", [None, [], "x", 7, {"id": None}, {"id": [31]}, {"type": ["Bot"]}])
def test_odd_senders_are_left_to_the_handler(receiver, identity, sender, odd):
    identity.bot_id = 31
    assert isinstance(receiver.admit(*sender.make(sender.payload(sender=odd))), Delivery)


@pytest.mark.parametrize(
    "odd", [None, [], 5, {"id": "5"}, {"id": True}, {"id": 2**63}, {"id": 10**30}, {"id": -1}, {}]
)
def test_odd_installations_are_not_looked_up(receiver, sender, odd):
    kept = receiver.admit(*sender.make(sender.payload(installation=odd)))
    assert kept.installation_id is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_any_signed_json_is_answered(value):
    receiver = WebhookReceiver([SECRET], OwnIdentity(31))
    from_test = json.dumps({"action": "labeled", "sender": value, "installation": value}).encode()
    for body in (json.dumps(value).encode(), from_test):
        try:
            found = receiver.decide(read_head(headers_for(body)), body)
        except DeliveryError as error:
            assert error.status == 400  # noqa: PT017 - both ways are right
        else:
            assert isinstance(found, ImmediateAnswer | Delivery)


def headers_for(body):
    signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": "d-1",
        "X-Hub-Signature-256": f"sha256={signed}",
    }
