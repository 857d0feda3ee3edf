"""A server on loopback that stands for a public host, and reads of its pages."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web

from app.network.addresses import Address
from app.web.fetch import WebFetcher

HOST = "docs.example.com"


class Site:
    """A server on loopback that stands for a public host; it counts who comes."""

    def __init__(self):
        self.requests = []
        self.answers = {}
        self.port = 0

    def answer_with(self, path, answer):
        self.answers[path] = answer

    async def handle(self, request):
        self.requests.append(request)
        answer = self.answers[request.path]
        if callable(answer):
            return await answer(request)
        return answer

    async def reach(self, host, port):
        self.asked = (host, port)
        return [Address(2, "127.0.0.1", self.port)]


@asynccontextmanager
async def open_site(address, answer=None, port=0, **more):
    made = Site()
    made.answer_with("/", answer)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", made.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, address, port, **more).start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        await runner.cleanup()


@pytest.fixture
async def stack():
    async with AsyncExitStack() as made:
        yield made


@pytest.fixture
async def site():
    async with open_site("127.0.0.1") as made:
        yield made


def text(content="hello", kind="text/plain", **more):
    return web.Response(body=content.encode(), headers={"Content-Type": kind}, **more)


def go(location, status=302):
    async def answer(_request):
        return web.Response(status=status, headers={"Location": location})

    return answer


def fetch(site, url=f"http://{HOST}/", *, allowed=lambda host: host == HOST, **more):
    return WebFetcher(site.reach, **more).fetch(url, allowed=allowed)


def stream(*, piece, pause=0.0, count=None, **headers):
    async def answer(request):
        response = web.StreamResponse(headers={"Content-Type": "text/plain"} | headers)
        await response.prepare(request)
        sent = 0
        try:
            while count is None or sent < count:
                await response.write(piece)
                sent += 1
                await asyncio.sleep(pause)
        except ConnectionError:
            pass
        request.app["sent"] = sent
        return response

    return answer
