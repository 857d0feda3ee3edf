"""The HTTP client for package indexes; it connects to checked addresses only."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from app.network.addresses import Address, AddressRefused, Resolver, resolve_public
from app.network.outbound import Outbound

_PATIENCE = aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=60)


def web_session(
    trusted: ssl.SSLContext, resolver: AbstractResolver, outbound: Outbound
) -> aiohttp.ClientSession:
    """Return an HTTP client without cookies or decompression, which goes this way."""
    connector = aiohttp.TCPConnector(ssl=trusted, resolver=resolver, use_dns_cache=False, limit=64)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        middlewares=(outbound.route,),
        auto_decompress=False,
        timeout=_PATIENCE,
        skip_auto_headers=("User-Agent", "Accept-Encoding", "Accept"),
    )


class Checked(AbstractResolver):
    """The client's resolver, which returns checked addresses only."""

    def __init__(self, private_ok: Callable[[str, int], bool], resolver: Resolver) -> None:
        self._private_ok = private_ok
        self._resolver = resolver

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 aiohttp hands it over
    ) -> list[ResolveResult]:
        """Return the checked addresses. Raises OSError, as aiohttp expects."""
        try:
            found = await resolve_public(
                host, port, private_ok=self._private_ok(host, port), resolver=self._resolver
            )
        except AddressRefused as error:
            raise OSError(None, str(error)) from error
        return [_result(host, address) for address in found]

    async def close(self) -> None:
        """Hold nothing."""


def _result(host: str, address: Address) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=address.ip,
        port=address.port,
        family=address.family,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )
