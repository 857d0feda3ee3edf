"""Claude on the clouds: each request is signed as the cloud's own library checks it."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from contextlib import asynccontextmanager
from types import SimpleNamespace

import aiohttp
import jwt
import pytest
from aiohttp import web
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from agents.errors import ConfigError
from agents.loop.access import BedrockAccess, VertexAccess
from agents.loop.model import ClaudeModel
from agents.loop.model_names import find_known
from agents.ports import Query

pytestmark = pytest.mark.slow

SECRET = "an-aws-secret-that-nobody-sees"
GOOGLE = "https://oauth2.googleapis.com/token"  # whom claims are for, wherever they are sent
NAME = "us.anthropic.claude-opus-5-5-v1:0"
SCRIPT = """
- when: "# Go"
  turns:
    - say: "yes"
      repeat: 9
- when: Hi
  turns:
    - say: "yes"
"""


def ask(model):
    said = [{"role": "user", "content": [{"type": "text", "text": "# Go"}]}]
    return Query(model, "Be brief.", [], said, capabilities=find_known(model))


@asynccontextmanager
async def serve(*routes):
    runner = web.AppRunner(web.Application())
    runner.app.add_routes(routes)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    finally:
        await runner.cleanup()


async def pass_on(local, request, model):
    """Have the local model answer what a cloud was asked; return its server-sent events' data."""
    body = json.loads(await request.text())
    assert body.pop("anthropic_version")
    assert "model" not in body
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    whole = {**body, "model": model, "stream": True}
    async with aiohttp.ClientSession() as session:
        url = f"{local.url}/v1/messages"
        async with session.post(url, json=whole, headers=headers) as answer:
            text = await answer.text()
            assert answer.status == 200, text
    return [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]


def frame(data: str) -> bytes:
    """Return an event of AWS's binary stream.

    https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
    """
    names = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
        for name, text in names.items()
    )
    body = json.dumps({"bytes": base64.b64encode(data.encode()).decode()}).encode()
    start = struct.pack(">II", 16 + len(head) + len(body), len(head))
    start += struct.pack(">I", zlib.crc32(start))
    return start + head + body + struct.pack(">I", zlib.crc32(start + head + body))


def is_signed(request, body: bytes, secret: str) -> bool:
    """Sign the request anew with AWS's own library, and compare."""
    claimed = request.headers["Authorization"]
    signed = claimed.split("SignedHeaders=")[1].split(",")[0].split(";")
    given = {name: request.headers[name] for name in signed}
    again = AWSRequest(request.method, str(request.url), headers=given, data=body)
    again.context["timestamp"] = request.headers["X-Amz-Date"]
    signer = SigV4Auth(Credentials("AKIALOCAL", secret), "bedrock", "eu-west-1")
    text = signer.string_to_sign(again, signer.canonical_request(again))
    return claimed.endswith(signer.signature(text, again))


async def test_bedrock_is_asked_with_a_signature_that_aws_accepts(local):
    seen = SimpleNamespace(paths=[])

    async def invoke(request):
        seen.paths.append(request.rel_url.raw_path)
        if not is_signed(request, await request.read(), SECRET):
            text = {"message": f"The signature of {SECRET} does not match."}
            return web.json_response(text, status=403)
        events = await pass_on(local, request, NAME)
        return web.Response(
            body=b"".join(map(frame, events)), content_type="application/vnd.amazon.eventstream"
        )

    async with serve(web.post("/model/{model}/invoke-with-response-stream", invoke)) as url:
        access = BedrockAccess("eu-west-1", "AKIALOCAL", SECRET, base_url=url)
        model = ClaudeModel(access, tries=1)
        can = await model.capabilities(NAME)
        answer = await model.answer(ask(NAME))
        await model.close()
        wrong = ClaudeModel(BedrockAccess("eu-west-1", "AKIALOCAL", "w", base_url=url), tries=1)
        for asked in (wrong.answer(ask(NAME)), wrong.capabilities(NAME)):
            with pytest.raises(ConfigError, match=r"refuses our credentials.*AWS_REGION") as caught:
                await asked
            assert "ANTHROPIC" not in str(caught.value)
        await wrong.close()

    assert answer.content[-1] == {"type": "text", "text": "yes"}
    assert answer.cost_usd > 0
    assert can.adaptive_thinking
    assert NAME in seen.paths[0]
    assert SECRET not in repr(access)


def make_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return key, pem.decode()


def log_in_to_google(url, pem, folder, monkeypatch):
    """Have Google's library find a service account; return its file."""
    account = {
        "type": "service_account",
        "client_email": "fettle@octo.example",
        "private_key": pem,
        "private_key_id": "1",
        "token_uri": f"{url}/token",
        "project_id": "octo",
    }
    file = folder / "account.json"
    file.write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    return file


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (404, "Could not resolve the foundation model", "does not know the model"),
        (400, "The provided model identifier is invalid.", "does not know the model"),
        (403, "You don't have access to the model with the specified model ID.", "AWS_REGION"),
        (400, "max_tokens: 1 is too small", ""),
        (404, "Publisher Model `claude-opus-5-5` was not found", "does not know the model"),
        (403, "Permission 'aiplatform.endpoints.predict' denied", "ANTHROPIC_VERTEX_PROJECT_ID"),
    ],
)
async def test_clouds_say_before_a_run_that_a_model_cannot_be_asked(
    status, said, words, tmp_path, monkeypatch
):
    google = "Publisher" in said or "aiplatform" in said

    async def refuse(request):
        if request.path == "/token":
            return web.json_response({"access_token": "g", "expires_in": 9, "token_type": "Bearer"})
        error = {"error": {"message": said, "code": status}} if google else {"message": said}
        return web.json_response(error, status=status)

    async with serve(web.post("/{path:.*}", refuse)) as url:
        access = BedrockAccess("eu-west-1", token="bearer", base_url=url)
        if google:
            log_in_to_google(url, make_key()[1], tmp_path, monkeypatch)
            access = VertexAccess("octo", "europe-west1", f"{url}/v1")
        model = ClaudeModel(access, tries=1)
        if words:
            with pytest.raises(ConfigError, match=words) as caught:
                await model.capabilities("claude-opus-5-5")
            assert said in str(caught.value), "in the provider's own words"
            assert "ANTHROPIC_API_KEY" not in str(caught.value)
        else:
            assert (await model.capabilities("claude-opus-5-5")).effort
        await model.close()


async def test_bedrock_takes_a_bearer_token_instead(local):
    tokens = []

    async def invoke(request):
        tokens.append(request.headers["Authorization"])
        events = await pass_on(local, request, NAME)
        return web.Response(body=b"".join(map(frame, events)))

    async with serve(web.post("/model/{model}/invoke-with-response-stream", invoke)) as url:
        access = BedrockAccess("eu-west-1", "AKIALOCAL", SECRET, token="bearer", base_url=url)
        model = ClaudeModel(access, tries=1)
        await model.answer(ask(NAME))
        await model.close()
    assert tokens == ["Bearer bearer"]


async def test_vertex_is_asked_with_a_token_that_google_gave_for_a_signed_claim(
    local, tmp_path, monkeypatch
):
    key, pem = make_key()
    name, paths = "claude-opus-5-5@20260922", []

    async def give_token(request):
        claim = (await request.post())["assertion"]
        jwt.decode(claim, key.public_key(), ["RS256"], audience=GOOGLE)
        return web.json_response({"access_token": "g", "expires_in": 3600, "token_type": "Bearer"})

    async def predict(request):
        paths.append(request.path)
        assert request.headers["Authorization"] == "Bearer g"
        events = await pass_on(local, request, name)
        kinds = [f"event: {json.loads(data)['type']}\ndata: {data}\n\n" for data in events]
        return web.Response(text="".join(kinds), content_type="text/event-stream")

    async with serve(web.post("/token", give_token), web.post("/v1/{path:.*}", predict)) as url:
        file = log_in_to_google(url, pem, tmp_path, monkeypatch)
        model = ClaudeModel(VertexAccess("octo", "europe-west1", f"{url}/v1"), tries=1)
        answer = await model.answer(ask(name))
        await model.close()
        file.write_text("{}")
        lost = ClaudeModel(VertexAccess("octo", "europe-west1", f"{url}/v1"), tries=1)
        with pytest.raises(ConfigError, match="GOOGLE_APPLICATION_CREDENTIALS") as caught:
            await lost.answer(ask(name))
        await lost.close()

    assert answer.cost_usd > 0
    where = "/v1/projects/octo/locations/europe-west1/publishers/anthropic/models"
    assert paths == [f"{where}/{name}:streamRawPredict"]
    assert str(tmp_path) not in str(caught.value)
