"""The page of a server that has no GitHub App yet: how to set one up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from app.web.page import page
from app.webhooks.server import start_server

LOOK_SECONDS = 2.0
NOTHING = "no GitHub App is set up here: run `fettle setup` on the server\n"


async def wait_for_app(
    host: str,
    port: int,
    stop: asyncio.Event,
    *,
    look: Callable[[], bool],
    listening: Callable[[str], None],
    every: float = LOOK_SECONDS,
) -> bool:
    """Serve the page until `look` finds an App (True) or `stop` is set (False)."""
    server = await start_server(unconfigured_server(), host, port)
    try:
        listening(f"http://{host}:{server.addresses[0][1]}")
        while not stop.is_set():
            if look():
                return True
            try:
                async with asyncio.timeout(every):
                    await stop.wait()
            except TimeoutError:
                continue
        return False
    finally:
        await server.cleanup()


def unconfigured_server() -> web.Application:
    """Return the application that serves the page; bodies are not read."""
    application = web.Application(client_max_size=1024)
    application.router.add_get("/", _home)
    application.router.add_get("/healthz", _healthz)
    for path in ("/webhook", "/readyz", "/metrics"):
        application.router.add_route("*", path, _not_now)
    return application


async def _home(_request: web.Request) -> web.Response:
    return page("unconfigured", status=503)


async def _healthz(_request: web.Request) -> web.Response:
    return web.Response(text="alive\n")


async def _not_now(_request: web.Request) -> web.Response:
    """Answer so that GitHub counts a delivery as failed, and it can be had again later."""
    return web.Response(status=503, text=NOTHING)
