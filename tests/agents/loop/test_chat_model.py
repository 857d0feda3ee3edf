"""Models behind chat completions, with a server that takes what the SDK's own types allow."""

from __future__ import annotations

import json
from collections import deque
from contextlib import asynccontextmanager
from typing import get_type_hints

import pytest
from aiohttp import web
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from agents.errors import ConfigError, ContextFull, Overloaded, RunError, TransientError
from agents.loop.chat_messages import UNREADABLE
from agents.loop.chat_model import ChatModel
from agents.loop.model_names import CORE
from agents.loop.prices import ModelPrice, PriceList
from agents.ports import Query

pytestmark = pytest.mark.slow

KEY = "sk-very-secret"
SHAPE = TypeAdapter(CompletionCreateParamsStreaming)
KNOWN = get_type_hints(CompletionCreateParamsStreaming)
READ = {
    "name": "read",
    "description": "Read.",
    "strict": True,
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    },
}
PRICES = PriceList({"openai:house": ModelPrice(input=1, output=2, cache_read=0.5)})


class ChatServer:
    """Answers with what it was given, piece by piece, and keeps what it was asked."""

    def __init__(self):
        self.asked, self.answers, self.old = [], deque(), False

    async def answer(self, request):
        if request.headers["Authorization"] != f"Bearer {KEY}":
            return self.refuse(401, f"Incorrect API key provided: {KEY}", "invalid_api_key")
        body = await request.json()
        SHAPE.validate_python(body)
        assert body.keys() <= KNOWN.keys()
        roles = [message["role"] for message in body["messages"]]
        assert roles[0] == "system"
        if self.old and "max_completion_tokens" in body:
            return self.refuse(400, "max_completion_tokens: unknown field", None)
        self.asked.append(body)
        said = self.answers.popleft()
        if isinstance(said, web.Response):
            return said
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in said]
        return web.Response(
            text="".join([*lines, "data: [DONE]\n\n"]), content_type="text/event-stream"
        )

    async def describe(self, request):
        name = request.match_info["name"]
        if request.headers["Authorization"] != f"Bearer {KEY}":
            return self.refuse(401, f"Incorrect API key provided: {KEY}", "invalid_api_key")
        if name == "no-page":
            return web.json_response({"detail": "Not Found"}, status=404)
        if name == "express":
            return web.Response(text=f"Cannot GET {request.path}", status=404)
        if name == "questions-only":
            return self.refuse(403, "Missing scopes: api.model.read", None)
        if name == "gpt-6":
            return self.refuse(404, f"The model `{name}` does not exist", "model_not_found")
        return web.json_response({"id": name, "object": "model", "created": 1, "owned_by": "us"})

    @staticmethod
    def refuse(status, message, code, headers=None):
        error = {"message": message, "type": "invalid_request_error", "code": code, "param": None}
        return web.json_response({"error": error}, status=status, headers=headers)


def chunk(delta=None, reason=None, usage=None):
    choices = [] if usage else [{"index": 0, "delta": delta or {}, "finish_reason": reason}]
    return {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "house-2",
        "choices": choices,
        "usage": usage,
    }


def call(number, arguments, name="read"):
    start = {"index": number, "id": f"c{number}", "type": "function"}
    half = len(arguments) // 2
    yield chunk({"tool_calls": [{**start, "function": {"name": name, "arguments": ""}}]})
    for part in (arguments[:half], arguments[half:]):
        yield chunk({"tool_calls": [{"index": number, "function": {"arguments": part}}]})


USED = {
    "prompt_tokens": 1_000_000,
    "completion_tokens": 500_000,
    "total_tokens": 1_500_000,
    "prompt_tokens_details": {"cached_tokens": 400_000},
}


@pytest.fixture
async def local():
    server = ChatServer()
    async with serve(server) as url:
        server.url = url
        yield server


@asynccontextmanager
async def serve(server):
    runner = web.AppRunner(web.Application())
    runner.app.router.add_post("/v1/chat/completions", server.answer)
    runner.app.router.add_get("/v1/models/{name}", server.describe)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/v1"
    await runner.cleanup()


@pytest.fixture
async def model(local):
    made = ChatModel(KEY, local.url, prices=PRICES, tries=2, backoff=0.01)
    yield made
    await made.close()


def ask(*messages, **more):
    first = {"role": "user", "content": [{"type": "text", "text": "# Go"}]}
    return Query("house", "Be brief.", [READ], [first, *messages], capabilities=CORE, **more)


async def test_a_conversation_with_calls_and_pictures_goes_there_and_back(local, model):
    local.answers += [
        [
            chunk({"role": "assistant", "content": "Both"}),
            chunk({"content": " now."}),
            *call(0, '{"path": "a.py"}'),
            *call(1, '{"path": "b.py"}'),
            chunk(reason="tool_calls"),
            chunk(usage=USED),
        ],
        [chunk({"content": "Done."}), chunk(reason="stop"), chunk(usage=USED)],
    ]
    first = await model.answer(ask())
    assert [block["type"] for block in first.content] == ["text", "tool_use", "tool_use"]
    assert [block["input"] for block in first.content[1:]] == [{"path": "a.py"}, {"path": "b.py"}]
    assert (first.stop_reason, first.usage.input, first.usage.cache_read) == (
        "tool_use",
        600_000,
        400_000,
    )
    assert first.cost_usd == pytest.approx(0.6 + 0.2 + 1.0)

    picture = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "x"}
        for block in first.content[1:]
    ]
    seen = [{"type": "image", "source": picture}, {"type": "text", "text": "Go on."}]
    thought = [{"type": "thinking", "thinking": "hm", "signature": "s"}, *first.content]
    last = await model.answer(
        ask(
            {"role": "assistant", "content": thought},
            {"role": "user", "content": [*results, *seen]},
        )
    )
    assert (last.stop_reason, last.content) == ("end_turn", [{"type": "text", "text": "Done."}])
    roles = [message["role"] for message in local.asked[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    assert "hm" not in json.dumps(local.asked[1])
    [shown] = [p for p in local.asked[1]["messages"][-1]["content"] if p["type"] == "image_url"]
    assert shown["image_url"]["url"] == "data:image/png;base64,aGk="


async def test_what_is_declared_is_asked_for_and_nothing_else(local, model):
    local.answers += [[chunk({"content": "yes"}), chunk(reason="stop"), chunk(usage=USED)]] * 2
    await model.answer(ask())
    declared = {"house": {"effort": True, "strict_tools": True, "longest_answer": 2_000}}
    other = ChatModel(KEY, local.url, prices=PRICES, declared=declared)
    can = await other.capabilities("house")
    query = ask()
    await other.answer(Query("house", "s", [READ], query.messages, effort="low", capabilities=can))
    await other.close()
    plain, rich = local.asked
    assert "reasoning_effort" not in plain
    assert "strict" not in plain["tools"][0]["function"]
    assert (rich["reasoning_effort"], rich["max_completion_tokens"]) == ("low", 2_000)
    assert rich["tools"][0]["function"]["strict"] is True


async def test_an_older_server_is_told_the_limit_by_its_older_name(local, model):
    local.old = True
    local.answers += [[chunk({"content": "yes"}), chunk(reason="stop"), chunk(usage=USED)]] * 2
    for _ in range(2):
        await model.answer(ask())
    assert [each["max_tokens"] for each in local.asked] == [32_000, 32_000]


@pytest.mark.parametrize(
    ("reason", "meant"),
    [("length", "max_tokens"), ("content_filter", "refusal"), ("stop", "end_turn")],
)
async def test_ends_mean_the_same_as_elsewhere(local, model, reason, meant):
    local.answers.append([chunk({"content": "Hm"}), chunk(reason=reason), chunk(usage=USED)])
    assert (await model.answer(ask())).stop_reason == meant


async def test_arguments_that_are_no_json_reach_the_tool_as_such(local, model):
    broken = '{"path": "a.py'
    local.answers.append([*call(0, broken), chunk(reason="tool_calls"), chunk(usage=USED)])
    [block] = (await model.answer(ask())).content
    assert block["input"] == {UNREADABLE: broken}


async def test_a_stream_that_breaks_off_is_asked_for_again(local, model):
    local.answers += [
        [chunk({"content": "half"})],
        [chunk({"content": "whole"}), chunk(reason="stop"), chunk(usage=USED)],
    ]
    assert (await model.answer(ask())).content[0]["text"] == "whole"


REFUSED = [
    (429, "slow down", "rate_limit_exceeded", Overloaded),
    (429, "no credit", "insufficient_quota", ConfigError),
    (500, "oops", None, TransientError),
    (400, "too long", "context_length_exceeded", ContextFull),
    (404, "no such model", "model_not_found", RunError),
]


@pytest.mark.parametrize("refusal", REFUSED)
async def test_refusals_say_who_must_act(local, model, refusal):
    status, text, code, kind = refusal
    local.answers += [local.refuse(status, text, code), local.refuse(status, text, code)]
    with pytest.raises(kind, match=text):
        await model.answer(ask())


async def test_a_wrong_key_is_told_without_it(local):
    wrong = ChatModel("sk-another", local.url, prices=PRICES, tries=1)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        await wrong.answer(ask())
    await wrong.close()
    assert "sk-another" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "name", "words"),
    [
        ("sk-another", "house", "refuses our credentials.*OPENAI_API_KEY"),
        (KEY, "gpt-6", "does not know the model `gpt-6`: .*does not exist.*FETTLE_MODEL"),
        (KEY, "house", ""),
        (KEY, "no-page", ""),
        (KEY, "express", ""),
        (KEY, "questions-only", ""),
    ],
)
async def test_key_and_model_are_looked_at_before_a_question(local, key, name, words):
    prices = PriceList({f"openai:{name}": ModelPrice(input=1, output=2)})
    model = ChatModel(key, local.url, prices=prices, tries=1)
    if words:
        with pytest.raises(ConfigError, match=words):
            await model.capabilities(name)
    else:
        assert await model.capabilities(name) == CORE
    await model.close()
    assert not local.asked


async def test_tokens_that_a_server_does_not_count_are_estimated_and_that_is_said(
    local, model, caplog
):
    for _ in range(2):
        local.answers.append([chunk({"content": "yes " * 300}), chunk(reason="stop")])
        said = await model.answer(ask())
    assert said.estimated
    assert 50 < said.usage.input < 500
    assert 300 < said.usage.output < 600
    assert said.cost_usd == pytest.approx((said.usage.input + 2 * said.usage.output) / 1e6)
    [told] = [each.message for each in caplog.records]
    assert "the model house does not say how many tokens" in told

    local.answers.append([chunk({"content": "yes"}), chunk(reason="stop"), chunk(usage=USED)])
    assert not (await model.answer(ask())).estimated


async def test_a_model_without_a_price_is_not_begun_with(local):
    model = ChatModel(KEY, local.url)
    with pytest.raises(ConfigError, match="No price is known for the model `openai:house`"):
        await model.capabilities("house")
    await model.capabilities("gpt-5")
    await model.close()
