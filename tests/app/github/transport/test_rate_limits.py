"""When a call is made again, and how long GitHub wants us to stay away."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import ConfigError, FettleError, RunError, TransientError
from app.github.transport.errors import (
    InstallationGone,
    NotFound,
    NotPermitted,
    Suspended,
    Unprocessable,
    graphql_reply,
    mint_fault,
    permissions_text,
    to_error,
)
from app.github.transport.rate_limits import (
    LONGEST_WAIT,
    NO_ANSWER,
    TRIES,
    Call,
    Reply,
    limit_wait,
    plan_retry,
)

GET = Call("GET", "/x", repeatable=True)
NAMED = Call("GET", "/x", repeatable=True, named=True)
POST = Call("POST", "/x", repeatable=False)
AS_APP = Call("GET", "/app", repeatable=True, as_app=True)
OLD = {"token_age": inf, "reminted": True}

calls = st.sampled_from([GET, NAMED, POST, AS_APP])
headers = st.dictionaries(
    st.sampled_from(["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset", "date"]),
    st.one_of(st.integers(-5, 2**40).map(str), st.sampled_from(["", "soon", "nan", "inf", "1e9"])),
)
replies = st.builds(
    Reply,
    status=st.one_of(st.just(NO_ANSWER), st.integers(300, 599)),
    message=st.sampled_from(["", "secondary rate limit", "Not Found", "suspended", "'iat'"]),
    headers=headers,
)


@pytest.mark.parametrize("status", [NO_ANSWER, 500, 502, 503, 504])
def test_reads_are_repeated_with_growing_waits_and_then_given_up(status):
    waits = [plan_retry(GET, Reply(status), tries=n, **OLD) for n in range(1, TRIES + 1)]

    assert [wait and wait.after for wait in waits] == [1, 2, 4, None]


@pytest.mark.parametrize("status", [NO_ANSWER, 403, 404, 409, 422, 429, 500, 502, 503])
def test_writes_are_not_repeated(status):
    assert plan_retry(POST, Reply(status), tries=1, token_age=0, reminted=False) is None


@pytest.mark.parametrize(
    ("call", "status"), [(NAMED, 404), (NAMED, 403), (AS_APP, 404), (AS_APP, 401)]
)
def test_a_refusal_that_may_pass_is_repeated(call, status):
    waits = [plan_retry(call, Reply(status), tries=n, **OLD) for n in (1, 2, 3, 4)]
    assert [each and each.after for each in waits] == [0.5, 1, 2, None]


def test_what_may_not_be_there_is_asked_for_once():
    assert plan_retry(GET, Reply(404), tries=1, **OLD) is None
    assert plan_retry(GET, Reply(403), tries=1, **OLD) is None
    assert plan_retry(AS_APP, Reply(403), tries=1, **OLD) is None  # such as a suspended one


def test_a_fresh_token_is_tried_again_before_another_is_made():
    decisions = [
        plan_retry(POST, Reply(401), tries=n, token_age=1.0, reminted=False)
        for n in range(1, TRIES + 1)
    ]

    assert [decision.remint for decision in decisions] == [False, False, False, True]
    assert sum(decision.after for decision in decisions) <= 5


def test_an_old_token_is_replaced_once():
    assert plan_retry(GET, Reply(401), tries=1, token_age=60, reminted=False).remint
    assert plan_retry(GET, Reply(401), tries=1, token_age=60, reminted=True) is None


@pytest.mark.parametrize(
    ("reply", "wait"),
    [
        (Reply(429, headers={"retry-after": "7"}), 7),
        (Reply(403, headers={"retry-after": "7"}), 7),
        (Reply(403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1030"}), 31),
        (Reply(429, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "900"}), 1),
        (Reply(403, "You have exceeded a secondary rate limit."), 60),
        (Reply(403, "You have triggered an abuse detection mechanism."), 60),
        (Reply(429), 60),
        (Reply(429, headers={"retry-after": "999999"}), LONGEST_WAIT),
        (Reply(403, "Resource not accessible by integration"), None),
        (Reply(403, headers={"x-ratelimit-remaining": "12"}), None),
        (Reply(502), None),
    ],
)
def test_what_is_a_limit_and_for_how_long(reply, wait):
    assert limit_wait(reply, strikes=0, now=1000) == wait


def test_limits_in_a_row_double_the_wait():
    waits = [limit_wait(Reply(429), strikes=n, now=0) for n in range(8)]

    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]


@given(
    call=calls,
    reply=replies,
    tries=st.integers(1, 10),
    age=st.floats(0, 1e6),
    reminted=st.booleans(),
    strikes=st.integers(0, 99),
)
def test_whatever_comes_the_decision_is_finite_and_bounded(
    *, call, reply, tries, age, reminted, strikes
):
    wait = limit_wait(reply, strikes=strikes, now=1e9)
    decision = plan_retry(call, reply, tries=tries, token_age=age, reminted=reminted)

    assert wait is None or 0 <= wait <= LONGEST_WAIT
    assert decision is None or 0 <= decision.after <= 2**40
    if decision and not decision.remint:
        assert tries < TRIES
    if decision and not call.repeatable:
        assert reply.status == 401
    assert isinstance(to_error(call, reply, wait=wait), FettleError)


@pytest.mark.parametrize(
    ("call", "reply", "kind"),
    [
        (GET, Reply(NO_ANSWER), TransientError),
        (GET, Reply(502), TransientError),
        (GET, Reply(401, "Bad credentials"), TransientError),
        (AS_APP, Reply(401, "A JSON web token could not be decoded"), ConfigError),
        (AS_APP, Reply(404, "Integration not found"), ConfigError),
        (GET, Reply(403, "This installation has been suspended"), Suspended),
        (GET, Reply(403, "Repository was archived so is read-only."), NotPermitted),
        (GET, Reply(404), NotFound),
        (GET, Reply(410), NotFound),
        (POST, Reply(422, "Validation Failed"), Unprocessable),
        (GET, Reply(301), RunError),
        (GET, Reply(418), RunError),
    ],
)
def test_the_class_says_who_must_act(call, reply, kind):
    error = to_error(call, reply)

    assert type(error) is kind
    assert reply.message in str(error)


def test_a_missing_permission_is_named_with_who_must_act():
    reply = Reply(
        403,
        "Resource not accessible by integration",
        {"x-accepted-github-permissions": "issues=write,contents=read; pull_requests=write"},
    )
    error = to_error(POST, reply)

    assert isinstance(error, NotPermitted)
    assert "`issues: write` and `contents: read`, or `pull_requests: write`" in str(error)
    assert "an owner" in str(error)


def test_permissions_in_words():
    assert permissions_text("metadata=read") == "`metadata: read`"


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (Reply(404, "Not Found"), InstallationGone, "not installed"),
        (Reply(403, "This installation has been suspended"), Suspended, "lift the suspension"),
        (Reply(422, "The permissions requested are not granted"), NotPermitted, "`issues: write`"),
        (Reply(404, "Integration not found"), ConfigError, "FETTLE_APP_ID"),
        (Reply(503), TransientError, "503"),
    ],
)
def test_a_refused_token_says_why_and_who_must_act(reply, kind, text):
    call = Call("POST", "/app/installations/1/access_tokens", repeatable=True, as_app=True)
    error = mint_fault(call, reply, {"issues": "write"})

    assert type(error) is kind
    assert text in str(error)


@pytest.mark.parametrize(
    ("errors", "status"),
    [
        ([{"type": "RATE_LIMITED", "message": "m"}], 429),
        ([{"type": "RATE_LIMIT", "code": "graphql_rate_limit", "message": "m"}], 429),
        ([{"message": "API rate limit already exceeded for installation ID 7."}], 429),
        ([{"message": "You have exceeded a secondary rate limit. Please wait."}], 429),
        ([{"type": "RESOURCE_LIMITS_EXCEEDED", "message": "m"}], 502),
        ([{"type": "NOT_FOUND", "message": "m"}], 404),
        ([{"type": "FORBIDDEN", "message": "m"}, {"type": "NOT_FOUND", "message": "n"}], 403),
        ([{"message": "Something went wrong while executing your query."}], 502),
        ([{"message": "Parse error"}], 422),
    ],
)
def test_graphql_errors_mean_what_rest_would_say(errors, status):
    assert graphql_reply(errors).status == status
