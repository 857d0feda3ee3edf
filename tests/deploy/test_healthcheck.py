"""The image's healthcheck believes a server that answers on its health path, and no other."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from aiohttp import web

from app.observability.metrics import Metrics
from app.webhooks.receiver import WebhookReceiver
from app.webhooks.server import Readiness, build_server, start_server
from tests.patience import PATIENCE


@pytest.fixture
def check(deploy):
    async def ask(port, **variables):
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", deploy / "healthcheck.py", str(port)),
            env={**os.environ, **variables},
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await asyncio.wait_for(child.communicate(), PATIENCE)
        return child.returncode, said.decode()

    return ask


async def start_listening(application, stack):
    runner = await start_server(application, "127.0.0.1", 0)
    stack.append(runner)
    return runner.addresses[0][1]


@pytest.fixture
async def stack():
    runners = []
    yield runners
    for runner in runners:
        await runner.cleanup()


class NoInbox:
    depth = 0


async def test_the_real_server_is_alive_also_while_it_drains(check, stack, tmp_path):
    readiness = Readiness(Path(tmp_path), draining=True)
    server = build_server(WebhookReceiver(["secret"], None), NoInbox(), None, Metrics(), readiness)
    port = await start_listening(server, stack)
    assert await check(port) == (0, "")
    assert await check(port, http_proxy="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9") == (
        0,
        "",
    )


async def test_any_other_answer_and_none_at_all_is_ill(check, stack):
    port = await start_listening(web.Application(), stack)
    assert await check(port) == (1, "/healthz answers 404\n")
    await stack.pop().cleanup()
    code, said = await check(port)
    assert code == 1
    assert said.startswith(f"no answer on port {port}")
