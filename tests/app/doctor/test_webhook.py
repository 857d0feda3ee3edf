"""The webhook as GitHub has it, and how its deliveries fared, on real HTTP servers."""

from __future__ import annotations

import pytest

from app.doctor.webhook import hook_findings
from tests.app.doctor.conftest import by_subject, levels


async def examine_hook(scene, expected=None):
    async with scene.open() as github:
        return await hook_findings(github, expected)


async def test_all_is_well(scene):
    await scene.label("bot:resolve")
    found = await examine_hook(scene, scene.receiver.url)
    assert levels(found) == {"webhook": "ok", "webhook from here": "ok", "deliveries": "ok"}
    assert scene.receiver.url in by_subject(found)["webhook"].said


async def test_nothing_is_written_or_sent_again(scene):
    await examine_hook(scene)
    assert {each.method for each in scene.github.requests} == {"GET"}


async def test_no_url(scene):
    scene.app.webhook_url = None
    found = by_subject(await examine_hook(scene))
    assert found["webhook"].level == "failed"
    assert "webhook from here" not in found


async def test_another_url_than_ours(scene):
    found = by_subject(await examine_hook(scene, "https://fettle.example.com/webhook"))["webhook"]
    assert found.level == "failed"
    assert "https://fettle.example.com/webhook" in found.said


async def test_no_secret(scene):
    scene.app.webhook_secret = ""
    found = by_subject(await examine_hook(scene))["webhook"]
    assert (found.level, "unsigned" in found.said) == ("failed", True)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "the webhook secret here is not the one at GitHub"),
        (404, "forward POST /webhook"),
        (502, "Is `fettle serve` running"),
        (503, "Its log says which"),
        (418, "The server answered 418"),
    ],
)
async def test_what_failed_is_named_with_its_reason(scene, status, words):
    await scene.label("a")
    scene.receiver.status = status
    await scene.label("bot:resolve")
    found = by_subject(await examine_hook(scene))["deliveries"]
    assert found.level == "failed"
    assert "issues.labeled at 20" in found.said
    assert f"Invalid HTTP Response: {status}" in found.said
    assert words in found.remedy


async def test_nobody_listens(scene):
    scene.app.webhook_url = "http://127.0.0.1:9/webhook"
    await scene.label("bot:resolve")
    found = by_subject(await examine_hook(scene))
    assert found["webhook from here"].level == "warning"
    assert "failed to connect to host" in found["deliveries"].said
    assert "did not reach" in found["deliveries"].remedy


async def test_a_failure_that_is_over_is_a_warning_and_one_that_was_sent_again_is_none(scene):
    scene.receiver.status = 503
    await scene.label("bot:resolve")
    scene.receiver.status = 202
    await scene.label("other")
    last = scene.github.webhooks.log[-1]
    object.__setattr__(last, "delivered_at", last.delivered_at.replace(year=2100))
    assert by_subject(await examine_hook(scene))["deliveries"].level == "warning"
    for each in [each for each in scene.github.webhooks.log if not each.ok]:
        scene.github.webhooks.redeliver(each)
    await scene.github.webhooks.wait_until_settled()
    assert by_subject(await examine_hook(scene))["deliveries"].level == "ok"


async def test_nothing_was_sent_yet(scene):
    scene.github.webhooks.log.clear()
    assert by_subject(await examine_hook(scene))["deliveries"].level == "skipped"


async def test_something_else_answers_in_our_place(scene):
    scene.receiver.get_status = 200
    found = by_subject(await examine_hook(scene))["webhook from here"]
    assert (found.level, "200" in found.said) == ("warning", True)
