"""Webhooks: signed, logged, redelivered under their GUID, and given up on in time."""

import asyncio
import hashlib
import hmac
import json

import pytest
from aiohttp import web


class ScriptedReceiver:
    def __init__(self):
        self.taken = []
        self.status = 202
        self.seconds = 0.0
        self.before_answer = None

    async def take(self, request):
        self.taken.append((request.headers.copy(), await request.read()))
        if self.before_answer:
            await self.before_answer(request)
        await asyncio.sleep(self.seconds)
        return web.Response(status=self.status, text="told")


@pytest.fixture
async def receiver(scene, aiohttp_server):
    receiver = ScriptedReceiver()
    app = web.Application()
    app.router.add_post("/webhook", receiver.take)
    server = await aiohttp_server(app)
    await scene.github.set_webhook(scene.credentials.app_id, str(server.make_url("/webhook")))
    return receiver


async def test_a_label_arrives_signed(scene, receiver):
    [delivery] = await scene.github.label_issue(scene.repository, 1, "bot:resolve", scene.ada)
    assert delivery.ok
    [_ping, (headers, body)] = receiver.taken
    assert headers["X-GitHub-Event"] == "issues"
    assert headers["X-GitHub-Delivery"] == delivery.guid
    signature = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["X-Hub-Signature-256"] == f"sha256={signature}"
    payload = json.loads(body)
    assert payload["label"]["name"] == "bot:resolve"
    assert payload["sender"]["id"] == scene.ada.id
    assert payload["installation"]["id"] == scene.installation.id
    assert [each["name"] for each in payload["issue"]["labels"]] == ["bug", "bot:resolve"]


async def test_what_an_app_does_because_of_a_label_is_no_delivery_of_the_label(scene, receiver):
    async def comment_at_once(request):
        if request.headers["X-GitHub-Event"] == "issues":
            await scene.call()("POST", f"{scene.base}/issues/1/comments", {"body": "on it"})

    receiver.before_answer = comment_at_once
    [delivery] = await scene.github.label_issue(scene.repository, 1, "bot:resolve", scene.ada)
    assert delivery.event == "issues"
    await scene.github.webhooks.wait_until_settled()
    assert {each.event for each in scene.github.webhooks.log} == {"ping", "issues", "issue_comment"}


async def test_apps_hear_of_what_they_themselves_do(scene, receiver):
    await scene.call()("POST", f"{scene.base}/issues/1/comments", {"body": "x"})
    await scene.github.webhooks.wait_until_settled()
    headers, body = receiver.taken[-1]
    assert headers["X-GitHub-Event"] == "issue_comment"
    assert json.loads(body)["sender"]["id"] == scene.credentials.bot_id


async def test_a_refused_delivery_stands_in_the_log_and_can_be_sent_again(scene, receiver):
    receiver.status = 503
    [lost] = await scene.github.label_issue(scene.repository, 1, "bot:resolve", scene.ada)
    as_app = scene.as_app()
    failures = await as_app("GET", "/app/hook/deliveries?status=failure")
    [listed] = failures.json
    assert (listed["guid"], listed["status_code"]) == (lost.guid, 503)
    assert listed["status"] == "Invalid HTTP Response: 503"
    whole = await as_app("GET", f"/app/hook/deliveries/{listed['id']}")
    assert whole.json["request"]["payload"]["action"] == "labeled"
    assert whole.json["response"]["payload"] == "told"
    receiver.status = 202
    sent = await as_app("POST", f"/app/hook/deliveries/{listed['id']}/attempts")
    assert sent.status == 202
    await scene.github.webhooks.wait_until_settled()
    again = scene.github.webhooks.log[-1]
    assert (again.guid, again.redelivery, again.ok) == (lost.guid, True, True)
    assert receiver.taken[-1][1] == receiver.taken[-2][1]


async def test_the_log_is_read_with_a_cursor(scene, receiver):
    for _ in range(3):
        await scene.github.comment(scene.repository, 1, scene.ada, "x")
    as_app, seen = scene.as_app(), []
    url = "/app/hook/deliveries?per_page=2"
    while url:
        answer = await as_app("GET", url)
        seen += [each["id"] for each in answer.json]
        url = answer.headers.get("Link", "").partition(">")[0].strip("<")
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == len(scene.github.webhooks.log)


async def test_a_receiver_that_is_slow_or_gone_has_not_been_told(scene, receiver):
    scene.github.webhooks.timeout = 0.2
    receiver.seconds = 1
    [slow] = await scene.github.label_issue(scene.repository, 1, "a", scene.ada)
    assert (slow.status_code, slow.status) == (0, "timed out")
    scene.github.world.apps[scene.credentials.app_id].webhook_url = "http://127.0.0.1:9/"
    [gone] = await scene.github.label_issue(scene.repository, 1, "b", scene.ada)
    assert (gone.status_code, gone.status) == (0, "failed to connect to host")


async def test_a_suspended_installation_hears_nothing(scene, receiver):
    await scene.github.suspend(scene.installation, scene.owner)
    heard = len(receiver.taken)
    await scene.github.label_issue(scene.repository, 1, "bot:resolve", scene.ada)
    assert len(receiver.taken) == heard


async def test_a_button_is_heard_of_by_the_app_alone_whose_check_run_it_is(scene, receiver):
    button = {"label": "Approve", "description": "Go on", "identifier": "approve:k3f9x2"}
    new = {"name": "ask", "head_sha": "main", "conclusion": "action_required", "actions": [button]}
    made = await scene.call()("POST", f"{scene.base}/check-runs", new)
    other = scene.github.create_app("other", webhook_url="http://127.0.0.1:9/")
    await scene.github.install(other.app_id, [scene.repository])
    run = scene.repository.check_runs[made.json["id"]]
    [sent] = await scene.github.press_button(scene.repository, run, "Approve", scene.ada)

    assert (sent.event, sent.app.id) == ("check_run", scene.credentials.app_id)
    told = json.loads(receiver.taken[-1][1])
    assert told["action"] == "requested_action"
    assert told["requested_action"] == {"identifier": "approve:k3f9x2"}
    assert (told["sender"]["id"], told["check_run"]["id"]) == (scene.ada.id, run.id)


async def test_comments_that_change_are_told_with_what_they_were(scene, receiver):
    comment = await scene.github.comment(scene.repository, 1, scene.ada, "Yes")
    await scene.github.edit_comment(comment, scene.owner, "No")
    told = json.loads(receiver.taken[-1][1])
    assert (told["action"], told["changes"]["body"]["from"]) == ("edited", "Yes")
    assert (told["comment"]["body"], told["sender"]["id"]) == ("No", scene.owner.id)
    assert told["comment"]["user"]["id"] == scene.ada.id
    await scene.github.delete_comment(comment, scene.owner)
    assert json.loads(receiver.taken[-1][1])["action"] == "deleted"
