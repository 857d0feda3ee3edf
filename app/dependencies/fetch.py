"""Fetch from package indexes for a sandbox: reads only, with the operator's credentials added.

The proxy ends the sandbox's TLS and opens its own towards the index. So a program inside cannot
upload, reach another host behind an allowed server, or see a password.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
import ssl
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from app.dependencies.certificate_authority import Authority
from app.dependencies.forward_response import Passing
from app.dependencies.index_client import Checked, web_session
from app.dependencies.origins import Allowed, Origin, OriginKey, place_of
from app.dependencies.refusals import NO_INDEX, Refusals, Refused
from app.dependencies.tunnel import StreamPair
from app.network.addresses import Resolver
from app.network.outbound import Outbound

ASKED = frozenset(
    {"accept", "accept-encoding", "if-match", "if-modified-since", "if-none-match", "if-range"}
    | {"if-unmodified-since", "range", "user-agent"}
)
"""Headers of a request that pass."""


class IndexReaders:
    """Reads from package indexes for one set-up, between `open` and `close`."""

    def __init__(
        self,
        allowed: Allowed,
        trusted: ssl.SSLContext,
        authority: Authority,
        resolver: Resolver,
        refusals: Refusals,
        *,
        outbound: Outbound,
    ) -> None:
        self._allowed = allowed
        self._trusted = trusted
        self._authority = authority
        self._resolver = resolver
        self._refusals = refusals
        self._outbound = outbound
        self._passing = Passing()
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Get ready to fetch."""
        resolver = Checked(self._private_ok, self._resolver)
        self._session = web_session(self._trusted, resolver, self._outbound)

    async def close(self) -> None:
        """Close all connections to indexes."""
        if self._session is not None:
            await self._session.close()

    async def line(self, origin: Origin | None) -> StreamPair:
        """Return a connection to a server in this process that reads from `origin`.

        Without an origin each request names its own, as clients of an HTTP proxy do.
        """
        answer = functools.partial(self._answer, origin)
        server = web.Server(answer, handler_cancellation=True, logger=_logger())
        secure = origin is not None and origin.place.scheme == "https"
        ours, theirs = socket.socketpair()
        accepting = asyncio.get_running_loop().connect_accepted_socket(
            server,
            ours,
            ssl=self._authority.server(origin.place.host) if origin and secure else None,
        )
        # The handshake goes on while the sandbox's bytes arrive on the other end.
        accepted = asyncio.ensure_future(accepting)
        accepted.add_done_callback(functools.partial(_close_after_failure, ours))
        return StreamPair(*await asyncio.open_connection(sock=theirs))

    async def _answer(self, origin: Origin | None, request: web.BaseRequest) -> web.StreamResponse:
        place = origin.place if origin else OriginKey("http", "?", 0)
        try:
            place, target = _parse_target(origin, request)
            _require_reading(request)
            return await self._fetch(*self._find_server(self._origin(place), target), request)
        except Refused as error:
            self._refusals.add(place.host, place.port, str(error))
            text = f"Fettle refused this: {place} {error}.\n"
            return web.Response(status=error.status, text=text)
        except (aiohttp.ClientError, TimeoutError) as error:
            problem = f"does not answer ({type(error).__name__})"
            self._refusals.add(place.host, place.port, problem)
            return web.Response(status=502, text=f"{place} {problem}\n")

    def _private_ok(self, host: str, port: int) -> bool:
        """Tell it of the operator's hosts; what a proxy of theirs connects to is its affair."""
        if (host, port) in self._outbound.stops:
            return True
        origin = self._allowed.find_for_connect(host, port)
        return origin is not None and origin.private_ok

    def _origin(self, place: OriginKey) -> Origin:
        origin = self._allowed.find(*place)
        if origin is None or (origin.tunnel and place.scheme == "https"):
            raise Refused(403, NO_INDEX)
        return origin

    def _find_server(self, origin: Origin, target: str) -> tuple[Origin, str]:
        """Return what answers for this path: the origin itself, or the operator's mirror of it."""
        if not origin.served:
            return origin, target
        for url in filter(None, (served.find_url(target) for served in origin.served)):
            return self._origin(place_of(url)), _path_of(url)
        raise Refused(403, "is served by a mirror, which has nothing of that path")

    async def _fetch(
        self, origin: Origin, target: str, request: web.BaseRequest
    ) -> web.StreamResponse:
        assert self._session is not None
        path = target.partition("?")[0]
        key = origin.key(path)
        headers = {k: v for k, v in request.headers.items() if k.lower() in ASKED}
        if key is not None:
            headers["Authorization"] = key.header.get_secret_value()
            headers["Accept-Encoding"] = "identity"  # what is packed cannot be searched
        try:
            async with self._session.request(
                request.method,
                URL(f"{origin.place}{target}", encoded=True),
                headers=headers,
                allow_redirects=False,
            ) as found:
                return await self._passing.forward_answer(found, request, key)
        except aiohttp.ClientConnectorDNSError as error:
            raise Refused(502, str(error.os_error.strerror or "cannot be resolved")) from error


def _parse_target(origin: Origin | None, request: web.BaseRequest) -> tuple[OriginKey, str]:
    """Return what is asked for: the origin and the rest of the URL. Raises Refused."""
    target = request.raw_path
    if origin is None:
        try:
            place = place_of(target)
        except ValueError:
            raise Refused(400, "was asked for without its whole address") from None
        if place.scheme != "http":
            raise Refused(400, "was asked for without a tunnel")
        return place, _path_of(target)
    asked = request.headers.get("Host", "").lower()
    if asked not in {str(origin.place).partition("://")[2], _with_port(origin.place)}:
        raise Refused(421, f"was asked for the pages of {asked or 'nobody'}")
    if not target.startswith("/"):
        raise Refused(400, "was asked for something that is no path")
    return origin.place, target


def _path_of(url: str) -> str:
    """Return what a server is asked for: the path with its query."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _with_port(place: OriginKey) -> str:
    host = f"[{place.host}]" if ":" in place.host else place.host
    return f"{host}:{place.port}"


def _require_reading(request: web.BaseRequest) -> None:
    if request.method not in {"GET", "HEAD"}:
        raise Refused(405, f"was sent a {request.method[:20]}; set-ups may only read")
    if request.body_exists:
        raise Refused(400, "was sent data; set-ups may only read")


def _logger() -> logging.Logger:
    """Return a log for our own mistakes; what the inside sends is no news, however it is bent."""
    logger = logging.getLogger(__name__)
    logger.addFilter(_is_ours)
    return logger


def _is_ours(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def _close_after_failure(sock: socket.socket, accepted: asyncio.Future[object]) -> None:
    if accepted.cancelled() or accepted.exception() is not None:
        sock.close()
