"""The way out of this machine: directly or through the operator's proxies, and whom to trust there.

Sandboxes have no way out, and know of no proxy: what they may fetch is fetched for them.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # the stubs leave it out

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.client_middlewares import ClientHandlerType

# ruff: noqa: PLC0415 - the settings know this class, and most commands ask nobody

_OPENED = re.compile(rb"HTTP/1\.[01] 2\d\d ")


@dataclass(frozen=True)
class HttpProxy:
    """A proxy, with what it wants to be told before it forwards anything."""

    address: str
    """`scheme://host:port`, without credentials."""
    user: str = ""
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str) -> HttpProxy:
        """Return the proxy that a variable names, as curl reads it."""
        parts = urlsplit(url)
        place = parts.netloc.rpartition("@")[2]
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(f"{parts.scheme}://{place}", user, password)

    @property
    def host(self) -> str:
        """Return its host."""
        return urlsplit(self.address).hostname or ""

    @property
    def port(self) -> int:
        """Return its port."""
        return urlsplit(self.address).port or (443 if self.address.startswith("https:") else 80)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers by which it knows us."""
        if not self.user:
            return {}
        pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {"Proxy-Authorization": f"Basic {pair}"}

    async def open_tunnel(
        self, host: str, port: int, tls: ssl.SSLContext
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection to the host by way of this proxy. Raises OSError where it refuses.

        https://www.rfc-editor.org/rfc/rfc9110#name-connect
        """
        secure = tls if self.address.startswith("https:") else None
        reader, writer = await asyncio.open_connection(self.host, self.port, ssl=secure)
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        said = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        try:
            writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{said}\r\n".encode())
            opened = _OPENED.match(await reader.readuntil(b"\r\n\r\n"))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            writer.close()
            raise ConnectionResetError("the proxy does not answer as one") from error
        except BaseException:
            writer.close()
            raise
        if not opened:
            writer.close()
            raise ConnectionRefusedError(f"the proxy refuses {place}")
        return reader, writer


@dataclass(frozen=True)
class Outbound:
    """How this process reaches GitHub, models and package indexes."""

    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The proxy's URL by the scheme of what is asked for, `https` or `http`."""
    no_proxy: str = ""
    """Hosts and domains that are reached directly, separated by commas; `*` is all."""
    authorities: str = ""
    """PEM texts of authorities that are trusted beside the machine's own."""

    def find_proxy(self, url: str) -> HttpProxy | None:
        """Return the proxy for this URL; None where it is reached directly, as this machine is."""
        parts = urlsplit(url)
        proxy = self.proxies.get(parts.scheme)
        host = parts.hostname or ""
        if not proxy or not host or _is_loopback(host):
            return None
        place = f"{host}:{parts.port}" if parts.port else host
        if proxy_bypass_environment(place, {"no": self.no_proxy}):
            return None
        return HttpProxy.parse(proxy)

    @cached_property
    def stops(self) -> frozenset[tuple[str, int]]:
        """Return host and port of each proxy, whose addresses may be private."""
        known = map(HttpProxy.parse, self.proxies.values())
        return frozenset((proxy.host, proxy.port) for proxy in known)

    @cached_property
    def trusted(self) -> ssl.SSLContext:
        """Return the TLS context of a client: the machine's authorities, and the operator's."""
        made = ssl.create_default_context()
        if self.authorities:
            made.load_verify_locations(cadata=self.authorities)
        return made

    @property
    def tls(self) -> ssl.SSLContext | Literal[True]:
        """Return the same for a library; True for its own where nothing was added to trust."""
        return self.trusted if self.authorities else True

    @property
    def bundle(self) -> str:
        """Return in PEM all that is trusted, for programs that know one file alone."""
        known = map(ssl.DER_cert_to_PEM_cert, self.trusted.get_ca_certs(binary_form=True))
        return "".join(known)

    def open_session(self, *, limit: int = 100, **more: Any) -> aiohttp.ClientSession:
        """Return an HTTP client without cookies that goes this way."""
        import aiohttp

        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self.tls, limit=limit),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            middlewares=(self.route,),
            **more,
        )

    async def route(
        self, request: aiohttp.ClientRequest, send: ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Send a request the way that its address takes; each redirect comes by here as well."""
        from yarl import URL

        if (proxy := self.find_proxy(str(request.url))) is not None:
            request.update_proxy(URL(proxy.address), None, proxy.headers)
            if request.url.scheme == "http":  # no tunnel: the proxy reads this very request
                request.headers.update(proxy.headers)
        return await send(request)


DIRECT = Outbound()
"""Without proxies, and with the machine's own trust."""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
