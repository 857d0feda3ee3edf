"""GitHub's limits are obeyed exactly, whatever comes in whatever order: time is the test's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.errors import RunError, TransientError
from app.github.transport.client import GitHub
from app.github.transport.installation_client import InstallationClient
from app.github.transport.rate_limits import SECONDARY_WAIT
from app.github.transport.throttle import AT_ONCE, HOUR, HOURLY, KEPT_FOR_PEOPLE, Throttle
from app.github.transport.tokens import Profile
from app.secrets.redaction import Redactor
from tests.gears import examples

ISSUE = "/repos/ada/parse/issues/1"
COMMENTS = f"{ISSUE}/comments"
SPACING = 1.0
LOST = 0.5
"""Seconds that real work may take between two looks at the clock."""

troubles = st.lists(
    st.one_of(
        st.tuples(st.just("rate_limit"), st.integers(1, 90)),
        st.tuples(st.just("secondary_limit"), st.one_of(st.none(), st.integers(1, 90))),
        st.tuples(st.just("primary_limit"), st.integers(1, 90)),
        st.tuples(st.just("status"), st.sampled_from([500, 502, 503])),
        st.tuples(st.just("lose_answer"), st.none()),
        st.tuples(st.just("none"), st.none()),
    ),
    max_size=8,
)
callers = st.lists(st.sampled_from(["read", "write", "progress"]), min_size=1, max_size=AT_ONCE + 8)


@dataclass
class Sent:
    """One request as it left, and its answer."""

    method: str
    began: float
    ended: float = 0.0
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Watched:
    """A client whose waits move its clock, and all that it sent."""

    client: InstallationClient
    sent: list[Sent]
    clock: Any


class Times:
    """Time that real work takes, and on top all that was slept."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.slept = 0.0
        world.clock_skew = timedelta()

    def monotonic(self) -> float:
        return time.monotonic() + self.slept

    def unix(self) -> float:
        return time.time() + self.slept

    async def sleep(self, seconds: float) -> None:
        """Pass the time for everybody: others who sleep meanwhile sleep no longer for it."""
        until = self.monotonic() + seconds
        await asyncio.sleep(0.002)
        if (more := until - self.monotonic()) > 0:
            self.slept += more
            self.world.clock_skew = timedelta(seconds=self.slept)


@asynccontextmanager
async def watch_client(scene) -> AsyncIterator[Watched]:
    times, sent = Times(scene.server.world), []
    signer = copy(scene.github.app.jwt)
    signer._clock, signer._offset, signer._made = times.unix, 0.0, ("", 0.0)
    async with aiohttp.ClientSession(trace_configs=[_make_trace_config(times, sent)]) as session:
        github = GitHub(
            scene.github.urls,
            signer,
            Redactor(),
            session=session,
            write_spacing=SPACING,
            sleep=times.sleep,
            clock=times.monotonic,
        )
        where = scene.installation.id, scene.repository.id
        client = await github.installation(*where, Profile.REPORT)
        sent.clear()
        yield Watched(client, sent, times)
    scene.server.faults.clear()
    scene.server.world.clock_skew = timedelta()


def _make_trace_config(times: Times, sent: list[Sent]) -> aiohttp.TraceConfig:
    config = aiohttp.TraceConfig()

    async def start(_session, held, params) -> None:
        held.sent = Sent(params.method, times.monotonic())
        sent.append(held.sent)

    async def end(_session, held, params) -> None:
        held.sent.ended, held.sent.status = times.monotonic(), params.response.status
        held.sent.headers = {k.lower(): v for k, v in params.response.headers.items()}

    async def record_break(_session, held, _params) -> None:
        held.sent.ended = times.monotonic()

    config.on_request_start.append(start)
    config.on_request_end.append(end)
    config.on_request_exception.append(record_break)
    return config


def plan_fault(faults, trouble) -> None:
    """Have the next request meet it."""
    kind, what = trouble
    match kind:
        case "rate_limit" | "secondary_limit":
            getattr(faults, kind)("*", "/repos/", retry_after=what)
        case "primary_limit":
            faults.primary_limit("*", "/repos/", reset_in=what)
        case "status":
            faults.status("*", "/repos/", what)
        case "lose_answer":
            faults.lose_answer("*", "/repos/")


def named_wait(sent: Sent) -> float | None:
    """Return for how long GitHub asked to stay away; the least where it named no time."""
    if sent.status not in (403, 429):
        return None
    if "retry-after" in sent.headers:
        return float(sent.headers["retry-after"])
    return SECONDARY_WAIT


async def _call(client, kind: str, name: str) -> str:
    try:
        if kind == "read":
            await client.getitem(ISSUE)
        else:
            await client.post(COMMENTS, data={"body": name}, yielding=kind == "progress")
    except (TransientError, RunError):
        return "gave up"
    return "done"


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(trouble=troubles, kinds=callers)
async def test_nothing_is_sent_before_its_time_and_no_write_happens_twice(scene, trouble, kinds):
    scene.issue.comments.clear()
    async with watch_client(scene) as seen:
        faults = scene.server.faults
        for each in trouble:
            plan_fault(faults, each)
        ends = await asyncio.gather(
            *(_call(seen.client, kind, f"c{n}") for n, kind in enumerate(kinds))
        )

    for limit in seen.sent:
        if (wait := named_wait(limit)) is None or "x-ratelimit-reset" in limit.headers:
            continue
        early = [s for s in seen.sent if limit.ended < s.began < limit.ended + wait - LOST]
        assert not early, f"sent {early[0].began - limit.ended:.1f} s after a limit of {wait} s"
    writes = sorted(s.began for s in seen.sent if s.method == "POST")
    assert all(later - earlier >= SPACING - 0.05 for earlier, later in pairwise(writes))
    bodies = [comment.body for comment in scene.issue.comments]
    assert len(bodies) == len(set(bodies))
    for number, (kind, end) in enumerate(zip(kinds, ends, strict=True)):
        assert kind == "read" or end != "done" or f"c{number}" in bodies


async def test_after_a_limit_one_call_goes_first_and_the_others_follow_it(scene):
    async with watch_client(scene) as seen:
        scene.server.faults.rate_limit("*", "/repos/", retry_after=5, times=1)
        scene.server.faults.delay("GET", "/issues/1$", 0.05, times=100)
        await asyncio.gather(*(_call(seen.client, "read", "") for _ in range(AT_ONCE * 3)))

        limit = next(each for each in seen.sent if each.status == 429)
        after = sorted((s for s in seen.sent if s.began > limit.ended), key=lambda s: s.began)

    first, second = after[0], after[1]
    assert first.began >= limit.ended + 5 - LOST
    assert second.began >= first.ended  # not all at once the moment the pause is over
    assert len(after) >= AT_ONCE * 2


async def test_with_nothing_left_of_the_hour_nobody_asks_until_it_is_over(scene):
    async with watch_client(scene) as seen:
        limits = scene.server.limits
        await seen.client.getitem(ISSUE)
        used = limits.hourly - int(seen.sent[-1].headers["x-ratelimit-remaining"])
        limits.hourly = used + 1  # as if the hour's requests were nearly used up
        await seen.client.getitem(COMMENTS)

        with pytest.raises(TransientError) as error:
            await seen.client.getitem(ISSUE)
        asked = len(seen.sent)
        seen.clock.slept += error.value.retry_after + 1
        scene.server.world.clock_skew = timedelta(seconds=seen.clock.slept)
        limits.hourly = 5000
        await seen.client.getitem(ISSUE)

    assert asked == 2, "the one that GitHub would have refused was not sent"
    assert error.value.retry_after > 3000
    assert all(each.status < 400 for each in seen.sent)


async def test_what_has_not_changed_costs_no_request(scene):
    async with watch_client(scene) as seen:
        first = await seen.client.getitem(ISSUE)
        second = await seen.client.getitem(ISSUE)
        first["title"] = "changed by who asked"
        third = await seen.client.getitem(ISSUE)
        await scene.server.comment(scene.repository, 1, scene.people["bob"], "news")
        fourth = await seen.client.getitem(ISSUE)

    left = [int(each.headers["x-ratelimit-remaining"]) for each in seen.sent]
    assert [each.status for each in seen.sent] == [200, 304, 304, 200]
    assert left[0] == left[1] == left[2] == left[3] + 1
    assert second == third
    assert second["title"] == "Six digits only"
    assert fourth["comments"] == 1


async def test_an_hour_holds_so_many_writes_and_answers_have_some_of_their_own():
    clock = [0.0]

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    pace = Throttle(spacing=1, clock=lambda: clock[0], sleep=sleep)
    progress = answers = 0
    with pytest.raises(TransientError):  # noqa: PT012 - whichever of them it is
        while True:
            async with pace.write(yielding=True):
                progress += 1
    with pytest.raises(TransientError, match="500 writes") as error:  # noqa: PT012 - the same
        while True:
            async with pace.write():
                answers += 1
    clock[0] += error.value.retry_after
    async with pace.write():
        assert clock[0] >= HOUR

    assert (progress, progress + answers) == (HOURLY - KEPT_FOR_PEOPLE, HOURLY)
