"""The local model over HTTP: answers, streams, hooks, faults, an asker that dies."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from app.simulator.model import LocalModel, load_script

HEADERS = {"x-api-key": "dummy", "anthropic-version": "2026-10-21"}
SCRIPT = """
- when: Hello
  turns:
    - say: I read it.
      call: [{read: {path: a.py}}, {read: {path: b.py}}]
    - say: "version {{ match: version=(\\\\S+) }}, first {{ match: ^\\\\w+ }}"
    - say: "{{ match: nowhere }}"
"""
ASK = {"role": "user", "content": "Hello"}


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
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers=HEADERS) as session:
        yield session


def body(*messages, **more) -> dict:
    thinking = {"type": "adaptive", "display": "summarized"}
    request = {"model": "m", "max_tokens": 100, "messages": list(messages or [ASK])}
    return {**request, "thinking": thinking, **more}


async def post(http, local, request: dict) -> tuple[int, dict]:
    async with http.post(f"{local.url}/v1/messages", json=request) as response:
        assert response.headers["request-id"] == local.requests[-1].request_id
        return response.status, await response.json()


def results(answer: dict, content: str) -> dict:
    calls = [block for block in answer["content"] if block["type"] == "tool_use"]
    blocks = [{"type": "tool_result", "tool_use_id": c["id"], "content": content} for c in calls]
    return {"role": "user", "content": blocks}


async def test_the_ledger_tells_the_bytes_of_each_request(http, local):
    request = json.dumps(body()).encode()
    headers = {"content-type": "application/json"}

    async with http.post(f"{local.url}/v1/messages", data=request, headers=headers) as response:
        assert response.status == 200

    assert local.requests[-1].size == len(request)


async def test_the_same_question_gets_the_same_answer_with_the_same_ids(http, local):
    _, first = await post(http, local, body())
    _, again = await post(http, local, body())
    assert first["content"] == again["content"]
    assert first["id"] == again["id"]
    calls = [block["id"] for block in first["content"] if block["type"] == "tool_use"]
    assert len(set(calls)) == 2
    _, other = await post(http, local, body({"role": "user", "content": "Hello again"}))
    assert not set(calls) & {block.get("id") for block in other["content"]}
    assert [r.prefix == local.requests[0].prefix for r in local.requests] == [True, True, False]


async def test_a_stream_carries_the_same_message(http, local):
    _, plain = await post(http, local, body())
    async with http.post(f"{local.url}/v1/messages", json=body(stream=True)) as response:
        assert response.content_type == "text/event-stream"
        text = await response.text()
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert events[0]["type"] == "message_start"
    assert events[-1] == {"type": "message_stop"}
    arguments = [e["delta"]["partial_json"] for e in events if "partial_json" in str(e)]
    assert [json.loads(a) for a in arguments] == [{"path": "a.py"}, {"path": "b.py"}]
    signatures = [e["delta"]["signature"] for e in events if "signature_delta" in str(e)]
    assert signatures == [plain["content"][0]["signature"]]
    delta = next(e for e in events if e["type"] == "message_delta")
    assert delta["delta"]["stop_reason"] == "tool_use"
    assert delta["usage"]["output_tokens"] == plain["usage"]["output_tokens"]


async def test_values_from_tool_results_reach_the_answer(http, local):
    _, first = await post(http, local, body())
    talk = [ASK, {"role": "assistant", "content": first["content"]}]
    _, second = await post(http, local, body(*talk, results(first, "alpha\nversion=1.2 beta")))
    assert second["content"][-1]["text"] == "version 1.2, first alpha"
    assert second["stop_reason"] == "end_turn"
    talk += [results(first, "alpha\nversion=1.2 beta")]
    talk += [{"role": "assistant", "content": second["content"]}, {"role": "user", "content": "?"}]
    status, third = await post(http, local, body(*talk))
    assert status == 400
    assert "'nowhere'" in third["error"]["message"]


async def test_what_the_script_does_not_know_is_a_clear_400(http, local):
    status, answer = await post(http, local, body({"role": "user", "content": "Bye"}))
    assert status == 400
    assert answer["type"] == "error"
    assert answer["error"]["type"] == "invalid_request_error"
    assert "Bye" in answer["error"]["message"]
    assert local.requests[-1].status == 400
    assert not local.requests[-1].answered


async def test_a_key_is_asked_for(local):
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{local.url}/v1/messages", json=body()) as response,
    ):
        assert response.status == 401
        assert (await response.json())["error"]["type"] == "authentication_error"


async def test_hooks_stand_around_the_answer(http, local):
    seen = []

    async def note_before(asked) -> None:
        seen.append(("before", asked.number, asked.answered, asked.usage == {}))

    async def note_after(asked) -> None:
        seen.append(("after", asked.number, asked.answered, asked.usage == {}))

    local.on_request(note_before)
    local.on_answered(note_after)
    await post(http, local, body())
    async with http.post(f"{local.url}/v1/messages", json=body(stream=True)) as response:
        await response.read()
    assert seen == [
        ("before", 1, False, True),
        ("after", 1, True, False),
        ("before", 2, False, True),
        ("after", 2, True, False),
    ]


ASKER = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1] + "/v1/messages", sys.stdin.buffer.read(),
    {"x-api-key": "k", "anthropic-version": "v", "content-type": "application/json"})
print(len(urllib.request.urlopen(request).read()))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_asker_may_be_killed_at_either_hook(http, local, moment):
    asker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ASKER, local.url, stdin=asyncio.subprocess.PIPE
    )

    async def kill(asked) -> None:
        if asked.number == 1:
            os.kill(asker.pid, signal.SIGKILL)
            await asker.wait()

    (local.on_request if moment == "before" else local.on_answered)(kill)
    await asker.communicate(json.dumps(body(stream=True)).encode())
    assert asker.returncode in (-signal.SIGKILL, 0 if moment == "after" else -signal.SIGKILL)
    status, _ = await post(http, local, body())
    assert status == 200
    assert local.requests[1].answered


async def test_latency_and_pace_slow_it_down(http, script):
    server = await LocalModel.start(script, latency=0.1, pace=0.01)
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with http.post(f"{server.url}/v1/messages", json=body(stream=True)) as response:
        await response.read()
    assert loop.time() - started > 0.2
    await server.stop()


async def test_error_answers_on_demand(http, local):
    local.fail_next("rate_limit", retry_after=7)
    local.fail_next("overloaded", times=2)
    async with http.post(f"{local.url}/v1/messages", json=body()) as response:
        assert (response.status, response.headers["retry-after"]) == (429, "7")
    assert [(await post(http, local, body()))[0] for _ in range(3)] == [529, 529, 200]


async def test_tokens_can_be_counted_and_the_model_looked_up(http, local):
    request = {"model": "m", "messages": [ASK]}
    async with http.post(f"{local.url}/v1/messages/count_tokens", json=request) as response:
        assert (await response.json())["input_tokens"] > 3
    async with http.post(f"{local.url}/v1/messages/count_tokens", json={}) as response:
        assert response.status == 400
    async with http.get(f"{local.url}/v1/models/claude-x") as response:
        assert (await response.json())["id"] == "claude-x"


async def test_it_listens_on_loopback_only_and_frees_its_port(script, http):
    server = await LocalModel.start(script)
    assert server.url.startswith("http://127.0.0.1:")
    port = int(server.url.rsplit(":", 1)[1])
    await server.stop()
    again = await LocalModel.start(script, port=port)
    assert again.url == server.url
    with pytest.raises(OSError, match="address already in use"):
        await LocalModel.start(script, port=port)
    await again.stop()
