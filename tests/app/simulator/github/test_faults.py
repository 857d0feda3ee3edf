"""Trouble on demand: what is planned happens, to these requests, and stands in the ledger."""

import asyncio

import aiohttp
import pytest


async def test_each_fault_takes_the_requests_it_was_planned_for(scene):
    call, faults = scene.call(), scene.github.faults
    path = f"{scene.base}/issues/1"
    faults.rate_limit("GET", "/issues/1$", retry_after=7)
    faults.secondary_limit("GET", "/issues/1$")
    faults.primary_limit("GET", "/issues/1$", reset_in=60)
    faults.status("GET", "/issues/1$", 502, times=2)
    limited = await call("GET", path)
    assert (limited.status, limited.headers["Retry-After"]) == (429, "7")
    secondary = await call("GET", path)
    assert secondary.status == 403
    assert "secondary rate limit" in secondary.json["message"]
    primary = await call("GET", path)
    assert (primary.status, primary.headers["X-RateLimit-Remaining"]) == (403, "0")
    assert [(await call("GET", path)).status for _ in range(3)] == [502, 502, 200]


async def test_faults_pass_by_what_they_do_not_mean(scene):
    scene.github.faults.status("POST", "/issues/1/comments$", 503)
    call = scene.call()
    assert (await call("GET", f"{scene.base}/issues/1/comments")).status == 200
    assert (await call("POST", f"{scene.base}/issues/1/comments", {"body": "x"})).status == 503
    scene.github.faults.status("*", ".", 503)
    scene.github.faults.clear()
    assert (await call("GET", scene.base)).status == 200


async def test_a_lost_answer_took_effect(scene):
    scene.github.faults.lose_answer("POST", "/comments$")
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await scene.call()("POST", f"{scene.base}/issues/1/comments", {"body": "x"})
    assert [each.body for each in scene.issue.comments] == ["x"]
    exchange = scene.github.requests[-1]
    assert (exchange.status, exchange.lost) == (201, True)


async def test_redirects_lead_where_they_are_told_to(scene):
    scene.github.faults.redirect("POST", "/labels$", "/api/v3/repositories/5/labels", status=307)
    moved = await scene.call()("POST", f"{scene.base}/labels", {"name": "x"})
    assert moved.status == 307
    assert moved.headers["Location"] == f"{scene.github.url}/api/v3/repositories/5/labels"


async def test_hooks_see_the_request_before_and_after_its_effect(scene):
    seen = []

    async def look(request):
        seen.append((request.method, len(scene.issue.comments)))

    scene.github.faults.call_before("POST", "/comments$", look)
    await scene.call()("POST", f"{scene.base}/issues/1/comments", {"body": "x"})
    scene.github.faults.call_after("POST", "/comments$", look)
    await scene.call()("POST", f"{scene.base}/issues/1/comments", {"body": "x"})
    assert seen == [("POST", 0), ("POST", 2)]


async def test_a_delay_holds_one_request_and_no_other(scene):
    scene.github.faults.delay("GET", "/issues/1$", 0.3)
    slow = asyncio.create_task(scene.call()("GET", f"{scene.base}/issues/1"))
    await asyncio.sleep(0.05)
    assert (await scene.call()("GET", scene.base)).status == 200
    assert not slow.done()
    assert (await slow).status == 200


async def test_the_ledger_keeps_what_was_asked_but_no_credentials(scene):
    token = scene.token()
    call = scene.with_credential(token)
    await call("POST", f"{scene.base}/issues/1/comments", {"body": "x"})
    exchange = scene.github.requests[-1]
    assert (exchange.method, exchange.status, exchange.body) == ("POST", 201, b'{"body": "x"}')
    assert exchange.path == f"/api/v3{scene.base}/issues/1/comments"
    assert b'"body":"x"' in exchange.answer
    assert token not in repr(exchange)
