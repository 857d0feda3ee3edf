"""Third-party judges of the model adapter: the SDK's own types, and streams its makers recorded."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import jsonschema_rs
import pytest
from aiohttp import web
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from backports import tarfile
from pydantic import TypeAdapter

from agents.errors import FettleError, TransientError
from agents.loop.access import AnthropicAccess
from agents.loop.conversation import tool_list
from agents.loop.model import ClaudeModel
from agents.loop.model_names import CORE
from agents.pipelines.resolve.pipeline import CONVERSATIONS
from agents.ports import Answer, Capabilities, Query
from app.simulator.model import LocalModel, Script
from tests.alone import hold_lock

REQUIREMENTS = Path(__file__).with_name("anthropic-sdist.txt")
CACHE = Path(__file__).parents[2] / ".cache" / "referees"
MODEL = "claude-opus-5-5"


# --- every request against a schema derived from the SDK's types ----------------------------------


@cache
def request_schema() -> jsonschema_rs.Validator:
    schema = TypeAdapter(MessageCreateParamsStreaming).json_schema()
    return jsonschema_rs.validator_for(_close_schema(schema))


def _close_schema(node: Any) -> Any:
    """Return the schema with every object that names its keys closed to others."""
    if isinstance(node, list):
        return [_close_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _close_schema(value) for key, value in node.items()}
    if "properties" in closed and closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def violations(request: dict) -> list[str]:
    return [f"{e.instance_path}: {e.message}" for e in request_schema().iter_errors(request)]


GOOD = {
    "model": MODEL,
    "max_tokens": 10,
    "stream": True,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
}


@pytest.mark.parametrize(
    "bad",
    [
        {**GOOD, "temperature": 0.5},
        {**GOOD, "messages": [{"role": "robot", "content": "hi"}]},
        {**GOOD, "messages": [{"role": "user", "content": [{"type": "text", "words": "hi"}]}]},
        {**GOOD, "cache_control": {"type": "ephemeral", "ttl": "2h"}},
        {**GOOD, "output_config": {"effort": "extreme"}},
        {**GOOD, "thinking": {"type": "adaptive", "display": "loud"}},
        {**GOOD, "tools": [{"name": "a"}]},
        {k: v for k, v in GOOD.items() if k != "max_tokens"},
    ],
)
def test_the_judge_tells_good_from_bad(bad):
    assert violations(GOOD) == []
    assert violations(bad) != []


READS = [{"read": {"path": f"f{n}.py"}} for n in range(12)]
PLAN = {"submit_plan": {"steps": [{"title": "Fix it", "brief": "Change one line, then test it."}]}}
SCRIPT = Script.model_validate(
    [
        {
            "when": "Go",
            "turns": [
                {"say": "Two.", "call": READS[:2]},
                {"call": READS},
                {"call": [PLAN]},
                {"say": "Done."},
            ],
        }
    ]
)
TOOLS = tool_list(CONVERSATIONS)


def test_the_real_tools_of_every_session_fit_the_sdks_types():
    assert violations({**GOOD, "tools": TOOLS}) == []


@pytest.mark.parametrize("can", [Capabilities(), CORE], ids=["all", "core"])
async def test_every_request_of_a_conversation_fits_the_sdks_types(can):
    local = await LocalModel.start(SCRIPT)
    requests = []
    async with aiohttp.ClientSession() as http:

        async def forward_request(request: web.Request) -> web.Response:
            body = await request.read()
            requests.append(json.loads(body))
            headers = {"x-api-key": "k", "anthropic-version": request.headers["anthropic-version"]}
            async with http.post(f"{local.url}/v1/messages", data=body, headers=headers) as answer:
                return web.Response(
                    body=await answer.read(),
                    status=answer.status,
                    headers={"content-type": answer.headers["content-type"]},
                )

        async with adapter(forward_request) as model:
            await converse(model, can)
    await local.stop()
    assert [r.status for r in local.requests] == [200, 200, 200, 200]
    assert [violations(request) for request in requests] == [[], [], [], []]


async def converse(model: ClaudeModel, can: Capabilities) -> None:
    messages: list[dict] = [{"role": "user", "content": [{"type": "text", "text": "Go"}]}]
    while True:
        answer = await model.answer(replace(query(messages), capabilities=can))
        if answer.stop_reason == "end_turn":
            return
        results = [
            {"type": "tool_result", "tool_use_id": b["id"], "content": "text", "is_error": False}
            for b in answer.content
            if b["type"] == "tool_use"
        ]
        messages.append(json.loads(json.dumps({"role": "assistant", "content": answer.content})))
        messages.append({"role": "user", "content": results})


def query(messages: list[dict]) -> Query:
    return Query(model=MODEL, system="You are a test.", tools=TOOLS, messages=messages)


# --- recorded streams and answers of the real service ---------------------------------------------


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The SDK's tests folder, from its hash-pinned source archive; fetched once."""
    version, digest = re.search(
        r"^anthropic==(\S+) --hash=sha256:(\w+)", REQUIREMENTS.read_text(), re.MULTILINE
    ).groups()
    archive = CACHE / f"anthropic-{version}.tar.gz"
    with hold_lock("recordings"):
        if not archive.exists():
            fetch(archive)
        assert sha256(archive.read_bytes()).hexdigest() == digest
        assert anthropic.__version__.split(".")[0] == version.split(".")[0]
        folder = CACHE / f"anthropic-{version}"
        if not folder.exists():
            with tarfile.open(archive) as tar:
                tar.extractall(CACHE, filter="data")
    return folder / "tests"


def fetch(archive: Path) -> None:
    with_pip = importlib.util.find_spec("pip") is not None
    python = sys.executable if with_pip else shutil.which("python3") or sys.executable
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [python, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", "anthropic"]
    command += ["--require-hashes", "-r", str(REQUIREMENTS), "-d", str(CACHE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode or not archive.exists():
        pytest.skip(f"the SDK's source archive cannot be fetched: {done.stderr.strip()[-300:]}")


# What each recording must become; every other file of the folders must be an answer, too.
EXPECTED: dict[str, str | type[FettleError]] = {
    "incomplete_partial_json_response.txt": "max_tokens",
    "tool_use_invalid_json_response.txt": TransientError,
    "tool_use_response.txt": "tool_use",
    "refusal_response.txt": "refusal",
    "stream-a-refusal.sse": "refusal",
    "stream-a-toolrefusal.sse": "refusal",
}
FROM_BETA = {"compaction", "fallback"}


async def test_every_recorded_stream_becomes_an_answer_or_the_right_error(recordings, replay):
    files = sorted((recordings / "lib/streaming/fixtures").glob("*.txt"))
    files += sorted((recordings / "fixtures").rglob("*.sse"))
    assert len(files) >= 19
    for file in files:
        said = await replay(200, file.read_bytes(), {"content-type": "text/event-stream"})
        expected = EXPECTED.get(file.name, "end_turn")
        if isinstance(expected, str):
            assert isinstance(said, Answer), f"{file.name}: {said!r}"
            assert said.stop_reason == expected, file.name
            check_answer(file, said)
        else:
            assert isinstance(said, expected), f"{file.name}: {said!r}"


def check_answer(file: Path, said: Answer) -> None:
    """The answer holds what the stream said, and can be given back to the API."""
    deltas = re.findall(r'"text_delta","text":("(?:[^"\\]|\\.)*")', file.read_text())
    text = "".join(block.get("text", "") for block in said.content if block["type"] == "text")
    assert text == "".join(json.loads(delta) for delta in deltas), file.name
    assert said.usage.input > 0
    assert said.content == json.loads(json.dumps(said.content))
    if not FROM_BETA & {block["type"] for block in said.content}:
        assistant = {"role": "assistant", "content": said.content}
        again = {**GOOD, "messages": [*GOOD["messages"], assistant, *GOOD["messages"]]}
        assert violations(again) == [], file.name


async def test_recorded_answers_with_their_headers_become_answers_or_errors(recordings, replay):
    """These exchanges were recorded from the real service, most of them without streaming."""
    seen = set()
    for file in sorted((recordings / "lib").rglob("__inline_snapshot__/**/*.json")):
        exchanges = json.loads(file.read_text())
        for exchange in exchanges if isinstance(exchanges, list) else [exchanges]:
            response = exchange["response"]
            headers = {
                name: value
                for name, value in response["headers"].items()
                if name.startswith(
                    ("content-type", "request-id", "retry-after", "anthropic-", "x-")
                )
            }
            body = response["body"]
            text = body if isinstance(body, str) else json.dumps(body)
            said = await replay(response["status_code"], text.encode(), headers)
            whole = response["status_code"] == 200 and "event-stream" in headers["content-type"]
            assert isinstance(said, Answer if whole else TransientError), f"{file.name}: {said!r}"
            seen.add((response["status_code"], whole))
    assert seen == {(200, True), (200, False), (429, False)}


@pytest.fixture
async def replay():
    """Return what gives an answer of the service to the adapter, and returns what it makes of it.

    One adapter and one connection for all recordings: each is an answer like any other.
    """
    played = {}

    async def play(_request: web.Request) -> web.Response:
        return web.Response(**played)

    async with adapter(play, tries=1) as model:

        async def ask(status: int, body: bytes, headers: dict) -> Answer | Exception:
            played.update(status=status, body=body, headers=headers)
            try:
                return await model.answer(query(GOOD["messages"]))
            except Exception as error:  # noqa: BLE001 - which class it is, is the question
                return error

        yield ask


@asynccontextmanager
async def adapter(handler: Callable, **options) -> AsyncIterator[ClaudeModel]:
    application = web.Application(client_max_size=2**25)
    application.router.add_post("/v1/messages", handler)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    model = ClaudeModel(AnthropicAccess("key", f"http://{host}:{port}"), **options)
    try:
        yield model
    finally:
        await model.close()
        await runner.cleanup()
