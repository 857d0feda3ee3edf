"""The port `Web`: fetch a public page without credentials, checking each redirect."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from socket import AI_NUMERICHOST, AI_NUMERICSERV
from typing import Final
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from agents.errors import ToolError
from agents.ports import Page
from agents.text import printable
from agents.tools.url import Target, parse_target
from app.network.addresses import Address, AddressRefused, resolve_public
from app.web.body import checked_kind, read_body

SECONDS: Final = 30.0
MAX_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
HEADERS: Final = {
    "User-Agent": "fettle",
    "Accept": "text/html, text/plain, application/json, text/*;q=0.9",
    "Accept-Encoding": "gzip, deflate",
}

ResolveHost = Callable[[str, int], Awaitable[Sequence[Address]]]
"""Returns the addresses of a host that may be connected to; AddressRefused when it may not."""


class WebFetcher:
    """Fetches pages without cookies, credentials or environment proxies."""

    def __init__(
        self,
        reach: ResolveHost = resolve_public,
        *,
        seconds: float = SECONDS,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._reach = reach
        self._seconds = seconds
        self._trust = trust

    async def fetch(self, url: str, *, allowed: Callable[[str], bool]) -> Page:
        """Return the page after at most five redirects, all to hosts that are `allowed`."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._fetch_following(parse_target(url), allowed)
        except TimeoutError:
            raise ToolError(f"{url} did not answer within {self._seconds:.0f} s.") from None
        except AddressRefused as error:
            raise ToolError(f"That is not on the public web: {printable(str(error))}.") from error
        except aiohttp.ClientError as error:
            raise ToolError(f"{url} cannot be read: {_explain(error)}.") from error

    async def _fetch_following(self, here: Target, allowed: Callable[[str], bool]) -> Page:
        if not allowed(here.host):
            raise ToolError(f"{here.host} may not be read.")
        for _ in range(MAX_REDIRECTS + 1):
            async with self._answer(here) as response:
                location = response.headers.get("Location")
                if response.status not in REDIRECTS or location is None:
                    return await _page(here, response)
            here = _next(here, location, allowed)
        raise ToolError(f"{here.url} lies behind more than {MAX_REDIRECTS} redirects.")

    @asynccontextmanager
    async def _answer(self, here: Target) -> AsyncIterator[aiohttp.ClientResponse]:
        """Ask the host at the addresses that were checked, whatever DNS says by now."""
        pinned = _PinnedResolver(here.host, await self._reach(here.host, here.port))
        connector = aiohttp.TCPConnector(
            resolver=pinned, use_dns_cache=False, force_close=True, ssl=self._trust or True
        )
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=self._seconds, sock_connect=10),
            ) as session,
            session.get(
                URL(here.url, encoded=True), headers=HEADERS, allow_redirects=False
            ) as response,
        ):
            yield response


class _PinnedResolver(AbstractResolver):
    """Knows one host, and of it only the addresses that passed."""

    def __init__(self, host: str, addresses: Sequence[Address]) -> None:
        self._host = host
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        """Return them; the ports come with them."""
        del port, family
        if host != self._host:
            raise OSError(f"{host} was not checked")
        return [
            ResolveResult(
                hostname=host,
                host=address.ip,
                port=address.port,
                family=address.family,
                proto=0,
                flags=AI_NUMERICHOST | AI_NUMERICSERV,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Hold nothing."""


def _next(here: Target, location: str, allowed: Callable[[str], bool]) -> Target:
    """Return where a redirect leads, if we may go there."""
    try:
        there = parse_target(urljoin(here.url, location))
    except (ToolError, ValueError) as error:
        raise ToolError(f"{here.url} redirects to where it may not: {error}") from error
    if there.scheme == "http" and here.scheme == "https":
        raise ToolError(f"{here.url} redirects to {there.url}, out of the encryption.")
    if not allowed(there.host):
        raise ToolError(
            f"{here.url} redirects to another host. If you need the page, fetch {there.url} as a"
            " call of its own."
        )
    return there


async def _page(here: Target, response: aiohttp.ClientResponse) -> Page:
    kind = checked_kind(response)
    body = await read_body(response, kind)
    return Page(url=here.url, status=response.status, kind=kind, text=body.text, cut=body.cut)


def _explain(error: aiohttp.ClientError) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return "its certificate is not valid for this host"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "the connection failed"
    return printable(f"{type(error).__name__} {error}")[:200]
