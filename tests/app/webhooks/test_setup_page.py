"""A server without an App: alive, not ready, takes nothing, says what to do, and notices."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest

from agents.errors import ConfigError
from app.webhooks.setup_page import wait_for_app
from tests.patience import PATIENCE


@asynccontextmanager
async def open_page(found):
    stop = asyncio.Event()
    address = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        wait_for_app(
            "127.0.0.1", 0, stop, look=found.is_set, listening=address.set_result, every=0.01
        )
    )
    async with aiohttp.ClientSession() as session:
        yield await address, session, running, stop
    stop.set()
    await running


async def test_it_is_alive_and_not_ready_and_takes_no_webhook(sender):
    async with open_page(asyncio.Event()) as (url, session, _, _):
        for path, status in (("/healthz", 200), ("/readyz", 503), ("/metrics", 503), ("/x", 404)):
            async with session.get(url + path) as answer:
                assert answer.status == status
                assert status != 503 or "fettle setup" in await answer.text()
        headers, body = sender.make(secret="anything")
        async with session.post(f"{url}/webhook", data=body, headers=headers) as answer:
            assert answer.status == 503, "so GitHub counts it as failed, and it can be had again"


async def test_its_page_says_what_to_do_and_nothing_of_this_machine(tmp_path):
    async with open_page(asyncio.Event()) as (url, session, _, _), session.get(f"{url}/") as answer:
        text = await answer.text()
        assert answer.status == 503
        assert "fettle setup --import" in text
        assert "<form" not in text
        assert "/var/lib" not in text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


async def test_a_port_that_is_taken_is_said_with_what_to_do():
    async with open_page(asyncio.Event()) as (url, _, _, _):
        port = int(url.rpartition(":")[2])
        words = rf"127\.0\.0\.1 port {port}: Address already in use\. .* set FETTLE_PORT"
        with pytest.raises(ConfigError, match=words):
            await wait_for_app(
                "127.0.0.1", port, asyncio.Event(), look=lambda: True, listening=lambda url: None
            )


async def test_a_large_body_is_answered_without_being_read():
    async with open_page(asyncio.Event()) as (url, _, _, _):
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            assert (await reader.readline()).startswith(b"HTTP/1.1 503 ")
        writer.close()


async def test_it_goes_on_once_there_is_an_app_and_ends_when_told():
    found = asyncio.Event()
    async with open_page(found) as (url, session, running, _):
        found.set()
        async with asyncio.timeout(PATIENCE):
            assert await running is True
        try:
            await session.get(url)
        except aiohttp.ClientConnectionError:
            pass
        else:
            raise AssertionError("the port is free for the server")
    async with open_page(asyncio.Event()) as (_, _, running, stop):
        stop.set()
        async with asyncio.timeout(PATIENCE):
            assert await running is False
