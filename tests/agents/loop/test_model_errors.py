"""What ClaudeModel makes of servers that are busy, broken, unwilling or gone."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from agents.errors import ModelClosed, RunError, TransientError
from agents.loop.access import AnthropicAccess
from agents.loop.model import ClaudeModel
from agents.ports import Query
from app.simulator.model import LocalModel, Script

pytestmark = pytest.mark.slow

KEY = "sk-ant-very-secret"
MODEL = "claude-opus-5-5"


@pytest.fixture
def script() -> Script:
    calls = [{"read": {"path": "a.py"}}, {"read": {"path": "b.py"}}]
    return Script.model_validate([{"when": "# Go", "turns": [{"say": "Both.", "call": calls}]}])


@pytest.fixture
async def local(script) -> AsyncIterator[LocalModel]:
    server = await LocalModel.start(script)
    yield server
    await server.stop()


@pytest.fixture
async def ask(local: LocalModel):
    models = []

    def make(**options) -> ClaudeModel:
        options.setdefault("backoff", 0.01)
        models.append(ClaudeModel(AnthropicAccess(KEY, local.url), **options))
        return models[-1]

    yield make
    for model in models:
        await model.close()


def query() -> Query:
    messages = [{"role": "user", "content": [{"type": "text", "text": "# Go"}]}]
    return Query(model=MODEL, system="You are a test.", tools=[], messages=messages)


@pytest.mark.parametrize("kind", ["overloaded", "stream_error", "truncated", "drop", "rate_limit"])
async def test_short_troubles_are_ridden_out(ask, local, kind):
    local.fail_next(kind, times=2, retry_after=0)
    answer = await ask().answer(query())
    assert answer.stop_reason == "tool_use"
    assert [r.fault for r in local.requests] == [kind, kind, None]
    assert [r.answered for r in local.requests] == [False, False, True]
    assert len({r.prefix for r in local.requests}) == 1


@pytest.mark.parametrize("kind", ["overloaded", "stream_error", "truncated", "drop"])
async def test_long_troubles_go_back_to_the_engine(ask, local, kind):
    local.fail_next(kind, times=9)
    with pytest.raises(TransientError):
        await ask(tries=3).answer(query())
    assert len(local.requests) == 3


async def test_a_long_rate_limit_is_not_waited_for(ask, local):
    local.fail_next("rate_limit", retry_after=3600)
    with pytest.raises(TransientError) as caught:
        await ask().answer(query())
    assert caught.value.retry_after == 3600
    assert len(local.requests) == 1


async def test_an_unreachable_server_is_transient(ask, local):
    await local.stop()
    with pytest.raises(TransientError, match="out of reach"):
        await ask(tries=2).answer(query())


async def test_silence_is_transient(ask, script):
    server = await LocalModel.start(script, latency=5)
    model = ClaudeModel(AnthropicAccess(KEY, server.url), tries=1, timeout=0.1)
    with pytest.raises(TransientError):
        await model.answer(query())
    await model.close()
    await server.stop()


@pytest.mark.parametrize("kind", ["refusal", "max_tokens"])
async def test_refusals_and_cut_off_answers_are_told_not_raised(ask, local, kind):
    local.fail_next(kind)
    answer = await ask().answer(query())
    assert answer.stop_reason == kind
    assert answer.usage.output > 0


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (401, "authentication_error", ModelClosed),
        (403, "permission_error", ModelClosed),
        (402, "billing_error", ModelClosed),
        (400, "invalid_request_error", RunError),
        (404, "not_found_error", RunError),
        (413, "request_too_large", RunError),
        (408, "timeout_error", TransientError),
        (500, "api_error", TransientError),
        (503, "api_error", TransientError),
    ],
)
@pytest.mark.parametrize("inside_stream", [False, True])
async def test_the_class_says_who_must_act(status, kind, expected, inside_stream):
    error = {"type": kind, "message": f"no, not with {KEY}"}

    async def refuse(request: web.Request) -> web.Response:
        body = json.dumps({"type": "error", "error": error})
        headers = {"request-id": "req_7"}
        if inside_stream:
            text = f"event: error\ndata: {body}\n\n"
            return web.Response(text=text, content_type="text/event-stream", headers=headers)
        return web.Response(
            text=body, status=status, content_type="application/json", headers=headers
        )

    async with serve(refuse) as url:
        model = ClaudeModel(AnthropicAccess(KEY, url), tries=2, backoff=0.01)
        with pytest.raises(expected) as caught:
            await model.answer(query())
        await model.close()
    assert "req_7" in str(caught.value)
    assert KEY not in str(caught.value)
    if expected is ModelClosed:
        assert "ANTHROPIC_API_KEY" in str(caught.value)


LIMITED = {
    "type": "rate_limit_error",
    "message": "limit reached",
    "details": {"error_code": "enforced_spend_limit_reached"},
}
NO_CREDIT = {
    "type": "invalid_request_error",
    "message": "Your credit balance is too low to access the API.",
}


@pytest.mark.parametrize(("status", "error"), [(429, LIMITED), (400, NO_CREDIT)])
async def test_used_up_money_is_the_operators_business(status, error):
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"type": "error", "error": error}, status=status)

    async with serve(refuse) as url:
        model = ClaudeModel(AnthropicAccess(KEY, url))
        with pytest.raises(ModelClosed, match="limit"):
            await model.answer(query())
        await model.close()


@pytest.mark.parametrize(
    "body",
    [
        "<html>welcome</html>",
        "event: message_start\ndata: {not json\n\n",
        'event: content_block_stop\ndata: {"type": "content_block_stop", "index": 3}\n\n',
        "",
    ],
)
async def test_what_is_no_stream_is_transient(body):
    async def babble(request: web.Request) -> web.Response:
        return web.Response(text=body, content_type="text/event-stream")

    async with serve(babble) as url:
        model = ClaudeModel(AnthropicAccess(KEY, url), tries=2, backoff=0.01)
        with pytest.raises(TransientError):
            await model.answer(query())
        await model.close()


async def test_cut_off_arguments_never_become_a_call(ask):
    """The SDK alone would hand out {"path": "a"} for arguments that end in mid-string."""

    async def cut(request: web.Request) -> web.Response:
        events = [
            {
                "type": "message_start",
                "message": {
                    "id": "m",
                    "type": "message",
                    "role": "assistant",
                    "model": MODEL,
                    "content": [],
                    "stop_reason": None,
                    "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                },
            },
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "tool_use", "id": "t", "name": "read", "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": '{"path": "a'},
            },
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                "usage": {"output_tokens": 5},
            },
            {"type": "message_stop"},
        ]
        text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
        return web.Response(text=text, content_type="text/event-stream")

    async with serve(cut) as url:
        model = ClaudeModel(AnthropicAccess(KEY, url), tries=1)
        with pytest.raises(TransientError, match="JSON"):
            await model.answer(query())
        await model.close()


@asynccontextmanager
async def serve(handler: Callable) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_post("/v1/messages", handler)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()
