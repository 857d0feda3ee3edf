"""What ClaudeModel asks, what it makes of the answer, and what the cache has of it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from agents.errors import ConfigError, PrefixChanged, RunError
from agents.loop.access import AnthropicAccess
from agents.loop.model import ClaudeModel
from agents.loop.model_names import CORE
from agents.ports import Answer, Query
from app.simulator.model import LocalModel, load_script

KEY = "sk-ant-very-secret"
MODEL = "claude-opus-5-5"
TOOLS = [
    {
        "name": "read",
        "description": "Read a file.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
    {
        "name": "submit_done",
        "description": "End.",
        "strict": True,
        "input_schema": {
            "type": "object",
            "properties": {"summary": {"type": "string"}},
            "required": ["summary"],
            "additionalProperties": False,
        },
    },
]
SCRIPT = """
- when: "# Go"
  turns:
    - think: I read two files.
      say: I look at both.
      call:
        - read: {path: a.py}
        - read: {path: b.py}
    - call: [{submit_done: {summary: fine}}]
      repeat: 60
- when: "# Wide"
  turns:
    - call: [READS]
    - call: [READS]
    - say: done
""".replace("READS", ", ".join(f"{{read: {{path: f{i}.py}}}}" for i in range(25)))


@pytest.fixture
def script(tmp_path: Path):
    path = tmp_path / "script.yml"
    path.write_text(SCRIPT)
    return load_script(path)


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


def query(*messages: dict, **changes) -> Query:
    first = {"role": "user", "content": [{"type": "text", "text": "# Go\nplease"}]}
    return Query(
        **{
            "model": MODEL,
            "system": "You are a test.",
            "tools": TOOLS,
            "messages": messages or (first,),
            **changes,
        }
    )


def extend(messages: list[dict], answer: Answer) -> list[dict]:
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": f"file {i} " * 20}
        for i, block in enumerate(answer.content)
        if block["type"] == "tool_use"
    ]
    # Through JSON and back, as the journal does it.
    answered = json.loads(json.dumps({"role": "assistant", "content": answer.content}))
    return [*messages, answered, {"role": "user", "content": results}]


async def test_answer_has_verbatim_blocks_usage_and_cost(ask, local):
    answer = await ask().answer(query())
    assert [block["type"] for block in answer.content] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert answer.content[0]["thinking"] == "I read two files."
    assert answer.content[0]["signature"]
    assert answer.content[2]["input"] == {"path": "a.py"}
    assert answer.stop_reason == "tool_use"
    assert answer.model == MODEL
    assert answer.request_id == "req_local_000001"
    assert answer.usage.cache_write_1h == 0
    assert answer.usage.cache_write_5m > 0
    assert answer.usage.input == 0
    assert answer.cost_usd == pytest.approx(
        (answer.usage.cache_write_5m * 5 + answer.usage.output * 20) / 1e6
    )
    assert local.requests[0].answered


async def test_each_turn_reads_the_whole_earlier_prefix_from_the_cache(ask, local):
    model = ask()
    messages = list(query().messages)
    known = 0
    for _ in range(5):
        answer = await model.answer(query(*messages))
        assert answer.usage.cache_read == known
        known += answer.usage.cache_write_1h + answer.usage.cache_write_5m
        messages = extend(messages, answer)
    assert [request.status for request in local.requests] == [200] * 5


async def test_many_parallel_calls_still_hit_the_cache(ask, local):
    model = ask()
    messages = [{"role": "user", "content": [{"type": "text", "text": "# Wide"}]}]
    before = json.dumps(messages)
    known = 0
    for _ in range(3):
        answer = await model.answer(query(*messages))
        assert answer.usage.cache_read == known
        known += answer.usage.cache_write_1h + answer.usage.cache_write_5m
        messages = extend(messages, answer)
        # A stage that ends here: the next one's prompt follows as a message of its own.
        messages.append({"role": "user", "content": [{"type": "text", "text": "And now?"}]})
    assert json.dumps(messages).startswith(before[:-1])
    assert "cache_control" not in json.dumps(messages)


async def test_a_changed_history_is_refused_as_the_real_api_would(ask):
    model = ask()
    answer = await model.answer(query())
    messages = extend(list(query().messages), answer)
    messages[0] = {"role": "user", "content": [{"type": "text", "text": "# Go\nplease!"}]}
    with pytest.raises(RunError, match="signature"):
        await model.answer(query(*messages))


async def test_a_model_with_the_core_alone_is_asked_for_the_core_of_the_api_alone(ask, local):
    bodies = []

    async def watch(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.json_response({"type": "error", "error": {"type": "x"}}, status=400)

    async with serve(watch) as url:
        model = ClaudeModel(AnthropicAccess(base_url=url))
        with pytest.raises(RunError):
            await model.answer(query(capabilities=CORE))
        await model.close()
    assert bodies[0].keys() == {"model", "max_tokens", "system", "tools", "messages", "stream"}
    assert bodies[0]["system"] == "You are a test."
    assert all("strict" not in tool for tool in bodies[0]["tools"])
    answer = await ask().answer(query(capabilities=CORE))
    assert [block["type"] for block in answer.content] == ["text", "tool_use", "tool_use"]


async def test_messages_go_out_exactly_as_given_and_the_query_stays_as_it_was(ask):
    bodies = []

    async def watch(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.json_response({"type": "error", "error": {"type": "x"}}, status=400)

    asked = query(
        {"role": "user", "content": [{"type": "text", "text": "é\u202e\U0001f600 # Go"}]},
        {
            "role": "assistant",
            "content": [
                {"signature": "s", "thinking": "t", "type": "thinking"},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"z": 1.0, "a": None}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]},
    )
    before = json.dumps([asked.tools, asked.messages])
    async with serve(watch) as url:
        model = ClaudeModel(AnthropicAccess(KEY, url))
        with pytest.raises(RunError):
            await model.answer(asked)
        await model.close()
    sent = bodies[0]["messages"]
    assert sent[-1]["content"][-1].pop("cache_control") == {"type": "ephemeral"}  # no content
    assert json.dumps(sent) == json.dumps(list(asked.messages))
    assert json.dumps([asked.tools, asked.messages]) == before


def test_without_key_and_server_the_operator_is_told():
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        AnthropicAccess()


class CountingAccess(AnthropicAccess):
    """Keeps the clients that it opens."""

    async def open(self, timeout):
        opened = await super().open(timeout)
        self.__dict__.setdefault("clients", []).append(opened)
        return opened


async def test_of_clients_that_were_opened_at_once_none_stays_open(local):
    access = CountingAccess(KEY, local.url)
    model = ClaudeModel(access)
    await asyncio.gather(*(model.capabilities(MODEL) for _ in range(4)))
    await model.close()
    assert access.clients
    assert all(client.is_closed() for client in access.clients)


async def test_the_environment_is_not_consulted(monkeypatch, local):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    seen = []

    async def watch(request: web.Request) -> web.Response:
        seen.append(request.headers.get("authorization", "") + request.headers.get("x-api-key", ""))
        return web.json_response({"type": "error", "error": {"type": "x"}}, status=400)

    async with serve(watch) as url:
        model = ClaudeModel(AnthropicAccess(KEY, url))
        with pytest.raises(RunError):
            await model.answer(query())
        await model.close()
    assert KEY in seen[0]
    assert "environment" not in seen[0]


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


async def test_thoughts_under_another_head_are_refused_unless_they_are_to_be_dropped(ask, local):
    first = query()
    answer = await ask().answer(first)
    messages = extend(list(first.messages), answer)
    changed = {"system": "You are another test."}

    with pytest.raises(PrefixChanged, match="signature"):
        await ask().answer(query(*messages, **changed))
    await ask().answer(query(*messages, **changed, drop_unbound=True))
    await ask().answer(query(*messages))

    assert [(each.status, each.dropped) for each in local.requests[1:]] == [
        (400, 0),
        (200, 1),
        (200, 0),
    ]
