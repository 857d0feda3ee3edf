"""GitHub's rules for retries and rate limits, decided on plain values without I/O.

https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

NO_ANSWER = 0
"""Stands for a status when the connection broke or the time ran out."""

SECONDARY_WAIT = 60.0
"""Seconds to stay away after a secondary limit that names no time; doubled each time."""

LONGEST_WAIT = 3600.0
"""Seconds; GitHub's windows are an hour at most."""

TRIES = 4
"""How often one call is made at most with the same token."""

FRESH = 10.0
"""Seconds in which a token may be unknown to some of GitHub's machines."""


@dataclass(frozen=True)
class Call:
    """A request to GitHub, as far as a retry depends on it."""

    method: str
    path: str
    """The path for people: without host, query and credentials."""
    repeatable: bool
    """Asking twice does what asking once does."""
    named: bool = False
    """It is there, as a delivery named it or all hangs on it: a 404 or 403 may soon be over."""
    as_app: bool = False
    """Signed with the App's key instead of an installation's token."""
    route: str = ""
    """The path's template, if there is one: safe for logs, since no names are in it."""


@dataclass(frozen=True)
class Reply:
    """An answer other than success."""

    status: int
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Keys in lower case."""


@dataclass(frozen=True)
class RemainingRequests:
    """How many requests an installation has left in this hour, by an answer's headers."""

    remaining: int
    limit: int
    reset: float
    """When the next hour begins: unix seconds by GitHub's clock."""


@dataclass(frozen=True)
class RetryAfter:
    """An instruction to make the same call again."""

    after: float
    """Seconds to wait before."""
    remint: bool = False
    """With a new token."""


def plan_retry(
    call: Call, reply: Reply, *, tries: int, token_age: float, reminted: bool
) -> RetryAfter | None:
    """Return how to repeat the call, or None: the failure stands.

    `tries` counts the calls made so far with this token. A write is repeated only after a 401,
    since GitHub answers that before doing anything; after other failures the caller looks first.
    """
    if reply.status == 401 and not call.as_app:
        return _again_with_token(tries, token_age, reminted)
    if not call.repeatable or tries >= TRIES:
        return None
    if reply.status == NO_ANSWER or reply.status >= 500:
        return RetryAfter(_retry_after(reply) or 2.0 ** (tries - 1))
    if reply.status in _list_passing(call):
        return RetryAfter(2.0 ** (tries - 2))
    return None


def _list_passing(call: Call) -> Collection[int]:
    """Return the refusals that may be gone in seconds, as where a part of GitHub is in trouble.

    What hangs on a call of the App is whether an account has it at all: to believe one answer would
    end all of the account's runs.
    """
    if call.as_app:
        return (401, 404)
    return (403, 404) if call.named else ()


def _again_with_token(tries: int, token_age: float, reminted: bool) -> RetryAfter | None:
    if token_age < FRESH and tries < TRIES:
        return RetryAfter(0.5 + tries / 2)
    return None if reminted else RetryAfter(0, remint=True)


def limit_wait(reply: Reply, *, strikes: int, now: float) -> float | None:
    """Return how many seconds to wait, or None when the reply is no rate limit.

    `strikes` counts the limits met in a row before; `now` is GitHub's time in unix seconds.
    https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
    """
    if not _is_limit(reply):
        return None
    wait = _retry_after(reply)
    if wait is None and reply.headers.get("x-ratelimit-remaining") == "0":
        reset = _number(reply.headers.get("x-ratelimit-reset"))
        wait = None if reset is None else max(reset - now, 0) + 1
    if wait is None:
        wait = SECONDARY_WAIT * 2 ** min(strikes, 10)
    return min(wait, LONGEST_WAIT)


def left_of(headers: Mapping[str, str]) -> RemainingRequests | None:
    """Return the remaining REST requests by these headers; None for other limits, or none.

    Searches and GraphQL have limits of their own, which `x-ratelimit-resource` names.
    https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#checking-the-status-of-your-rate-limit
    """
    if headers.get("x-ratelimit-resource", "core") != "core":
        return None
    names = ("x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset")
    remaining, limit, reset = (_number(headers.get(name)) for name in names)
    if remaining is None or limit is None or reset is None:
        return None
    return RemainingRequests(int(remaining), int(limit), reset)


def _is_limit(reply: Reply) -> bool:
    if reply.status == 429:
        return True
    if reply.status != 403:
        return False
    said = reply.message.lower()
    return (
        "retry-after" in reply.headers
        or reply.headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in said
        or "abuse" in said
    )


def _retry_after(reply: Reply) -> float | None:
    return _number(reply.headers.get("retry-after"))


def _number(text: str | None) -> float | None:
    """Return the number; None for none, and for what a proxy may put there instead."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
