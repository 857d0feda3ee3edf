"""MCP over HTTP: a remote server, asked only at its own host and a checked address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import aiohttp
import httpx2
from aiohttp.abc import AbstractResolver, ResolveResult
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from yarl import URL

from app.mcp.config import HttpServer
from app.network.addresses import AddressRefused, Resolver, resolve_public, system_resolver

LARGEST_ANSWER = 4_000_000
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 120.0


def make_transport(server: HttpServer, *, resolver: Resolver = system_resolver) -> Transport:
    """Return the transport to this server, not yet opened."""
    return _open_streams(server, resolver)  # type: ignore[return-value]  # streams, loosely typed


@asynccontextmanager
async def _open_streams(
    server: HttpServer, resolver: Resolver
) -> AsyncIterator[tuple[object, object]]:
    connector = aiohttp.TCPConnector(resolver=_CheckedResolver(resolver), use_dns_cache=False)
    async with (
        aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
            ),
        ) as session,
        httpx2.AsyncClient(
            transport=_OneHost(server.url, session, resolver),
            headers={**server.headers, "Accept-Encoding": "identity"},
            trust_env=False,
        ) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


class _CheckedResolver(AbstractResolver):
    """Gives the addresses that may be connected to: private ones, too, as the operator chose."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolve = partial(resolve_public, private_ok=True, resolver=resolver)

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        """Return them; aiohttp connects to no others."""
        del family
        try:
            found = await self._resolve(host, port)
        except AddressRefused as error:
            raise OSError(str(error)) from error
        return [
            ResolveResult(
                hostname=host, host=each.ip, port=each.port, family=each.family, proto=0, flags=0
            )
            for each in found
        ]

    async def close(self) -> None:
        """Hold nothing."""


class _OneHost(httpx2.AsyncBaseTransport):
    """What the MCP client sends, sent by aiohttp: to one origin, no redirects, bounded answers."""

    def __init__(self, url: str, session: aiohttp.ClientSession, resolver: Resolver) -> None:
        self._origin = URL(url).origin()
        self._session = session
        self._resolver = resolver

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it."""
        url = URL(str(request.url), encoded=True)
        if url.origin() != self._origin:
            raise httpx2.ConnectError(f"{url.host} is not the configured host")
        await self._check_literal(url)
        try:
            answer = await self._session.request(
                request.method,
                url,
                headers=[(name, value) for name, value in request.headers.multi_items()],
                data=await request.aread(),
                allow_redirects=False,
            )
        except aiohttp.ClientError as error:
            raise httpx2.ConnectError(type(error).__name__) from error
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            answer.close()
            raise httpx2.ReadError("the answer is packed, which was not asked for")
        headers = [(name, value) for name, value in answer.headers.items()]
        return httpx2.Response(answer.status, headers=headers, stream=_Body(answer))

    async def _check_literal(self, url: URL) -> None:
        """Check an address that stands in the URL itself: nothing resolves those."""
        try:
            await resolve_public(
                url.host or "", url.port or 0, private_ok=True, resolver=self._resolver
            )
        except AddressRefused as error:
            raise httpx2.ConnectError(str(error)) from error


class _Body(httpx2.AsyncByteStream):
    """An answer, read piece by piece, and no further than anyone should write."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield its pieces."""
        left = LARGEST_ANSWER
        try:
            async for piece in self._answer.content.iter_any():
                left -= len(piece)
                if left < 0:
                    raise httpx2.ReadError("the answer is too long")
                yield piece
        except aiohttp.ClientError as error:
            raise httpx2.ReadError(type(error).__name__) from error

    async def aclose(self) -> None:
        """Hang up."""
        self._answer.close()
