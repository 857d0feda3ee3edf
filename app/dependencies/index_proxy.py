"""The proxy on a unix socket through which a set-up reaches package indexes, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from app.dependencies.certificate_authority import (
    Authority,
    make_bundle,
    make_truststore,
    trust,
)
from app.dependencies.client_hello import NotTls, read_client_hello
from app.dependencies.fetch import IndexReaders
from app.dependencies.loopback_bridge import TRUSTSTORE
from app.dependencies.origins import Allowed, Origin, is_host, place_of, tls_name
from app.dependencies.refusals import NO_INDEX, BlockedRequest, Refusals, Refused
from app.dependencies.tunnel import Caps, Meter, Spent, StreamPair, carry
from app.network.addresses import AddressRefused, Resolver, resolve_public, system_resolver
from app.network.outbound import DIRECT, Outbound

SOCKET, BUNDLE = "proxy.sock", "ca.pem"

_HEAD_LARGEST = 16 * 1024

_log = structlog.get_logger()


@dataclass
class _Entry:
    """What one connection is about, for its line in the log."""

    host: str = "?"
    port: int = 0
    verdict: str = "allowed"
    answered: bool = False
    """Whether the client heard its yes; what follows is no longer HTTP of ours."""


class Proxy:
    """The proxy of one set-up; `open_proxy` makes it, and its socket identifies it."""

    def __init__(
        self,
        *,
        allowed: Allowed,
        reading: IndexReaders,
        refusals: Refusals,
        folder: Path,
        caps: Caps,
        resolver: Resolver,
        outbound: Outbound,
    ) -> None:
        self._allowed = allowed
        self._reading = reading
        self._caps = caps
        self._resolver = resolver
        self._outbound = outbound
        self._meter = Meter(caps)
        self._refusals = refusals
        self._seen = 0
        self._open: set[asyncio.Future[None]] = set()
        self.folder = folder
        self.socket = folder / SOCKET

    @property
    def refused(self) -> tuple[BlockedRequest, ...]:
        """Return the refused requests so far, the most frequent first."""
        return self._refusals.list_all()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection of the sandbox; beyond the limits it is closed silently."""
        self._seen += 1
        if self._seen > self._caps.in_all or len(self._open) >= self._caps.connections:
            writer.transport.abort()
            self._refusals.add("?", 0, "was asked for on too many connections")
            return
        serving = asyncio.ensure_future(self._serve(StreamPair(reader, writer)))
        self._open.add(serving)
        serving.add_done_callback(self._open.discard)

    async def close(self) -> None:
        """End every connection."""
        for serving in self._open:
            serving.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, inside: StreamPair) -> None:
        entry, meter, started = _Entry(), self._meter.part(), time.monotonic()
        try:
            async with asyncio.timeout(self._caps.seconds):
                await self._connection(inside, entry, meter)
        except Refused as error:
            entry.verdict = f"refused: {error}"
            self._refusals.add(entry.host, entry.port, str(error))
            if not entry.answered:
                await _say(inside, error.status, f"{entry.host}:{entry.port} {error}")
        except Spent:
            entry.verdict = "refused: too many bytes"
            self._refusals.add(entry.host, entry.port, "was cut: the set-up used up its bytes")
        except (OSError, EOFError, TimeoutError) as error:
            entry.verdict = f"broken: {type(error).__name__}"
        finally:
            await inside.close()
            _log.info(
                "set-up connection",
                host=entry.host,
                port=entry.port,
                verdict=entry.verdict,
                up=meter.up,
                down=meter.down,
                seconds=round(time.monotonic() - started, 3),
            )

    async def _connection(self, inside: StreamPair, entry: _Entry, meter: Meter) -> None:
        async with asyncio.timeout(self._caps.greeting):
            head = await _head(inside.reader)
        method, target = _first_line(head)
        if method == "CONNECT":
            entry.host, entry.port = _authority(target)
            outside, greeting = await self._tunnel(inside, entry)
        else:
            self._require_plain(target, entry)
            outside, greeting = await self._reading.line(None), head
        try:
            meter.add(up=len(greeting))
            outside.writer.write(greeting)
            await carry(inside, outside, meter, self._caps.idle)
        finally:
            await outside.close()

    def _require_allowed(self, entry: _Entry) -> Origin:
        origin = self._allowed.find_for_connect(entry.host, entry.port)
        if origin is None:
            raise Refused(403, NO_INDEX)
        return origin

    def _require_plain(self, target: str, entry: _Entry) -> None:
        """Look at the first request to a proxy without a tunnel; the reader looks at each."""
        try:
            scheme, entry.host, entry.port = place_of(target)
        except ValueError:
            raise Refused(400, "was asked for without its whole address") from None
        if scheme != "http" or self._allowed.find(scheme, entry.host, entry.port) is None:
            raise Refused(403, NO_INDEX)

    async def _tunnel(self, inside: StreamPair, entry: _Entry) -> tuple[StreamPair, bytes]:
        """Open what a CONNECT leads to; return it with the bytes to begin with."""
        origin = self._require_allowed(entry)
        outside = await self._connect(origin) if origin.tunnel else None
        try:
            inside.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await inside.writer.drain()
            entry.answered, hello = True, b""
            if origin.place.scheme == "https":
                async with asyncio.timeout(self._caps.greeting):
                    hello = await _read_hello(inside.reader, origin)
            return outside or await self._reading.line(origin), hello
        except BaseException:
            if outside is not None:
                await outside.close()
            raise

    async def _connect(self, origin: Origin) -> StreamPair:
        """Connect to an address of the origin that was checked, never to its name.

        Where the operator's proxy stands in between, the name is its affair.
        """
        _, host, port = origin.place
        if (proxy := self._outbound.find_proxy(str(origin.place))) is not None:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._caps.greeting):
                    return StreamPair(*await proxy.open_tunnel(host, port, self._outbound.trusted))
            raise Refused(502, "is not reached by the proxy")
        try:
            found = await resolve_public(
                host, port, private_ok=origin.private_ok, resolver=self._resolver
            )
        except AddressRefused as error:
            raise Refused(403, f"was not connected: {error}") from error
        for address in found:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._caps.greeting):
                    return StreamPair(*await asyncio.open_connection(address.ip, address.port))
        raise Refused(502, "does not answer")


@asynccontextmanager
async def open_proxy(
    origins: Iterable[Origin],
    owner: tuple[int, int],
    *,
    certificates: Iterable[str] = (),
    files: Mapping[str, str] | None = None,
    caps: Caps | None = None,
    resolver: Resolver = system_resolver,
    outbound: Outbound = DIRECT,
) -> AsyncIterator[Proxy]:
    """Run a proxy to these origins for sandboxes of `owner`, as long as the `with` lasts.

    `certificates` are PEM texts of trusted authorities beside the machine's own; `files` are put
    beside the socket. The sandbox sees that whole folder, and no other set-up's. `outbound` is the
    way to the origins.
    """
    allowed, authority, refusals = Allowed(origins), Authority(), Refusals()
    trusted = trust(certificates)
    reading = IndexReaders(allowed, trusted, authority, resolver, refusals, outbound=outbound)
    folder = Path(tempfile.mkdtemp(prefix="fettle-"))
    proxy = Proxy(
        allowed=allowed,
        reading=reading,
        refusals=refusals,
        folder=folder,
        caps=caps or Caps(),
        resolver=resolver,
        outbound=outbound,
    )
    try:
        server = await asyncio.start_unix_server(proxy.accept, proxy.socket, limit=_HEAD_LARGEST)
        await reading.open()
        (folder / TRUSTSTORE).write_bytes(make_truststore(trusted, authority))
        _share(folder, owner, {BUNDLE: make_bundle(trusted, authority), **(files or {})})
        try:
            yield proxy
        finally:
            server.close()
            await proxy.close()
            await reading.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _share(folder: Path, owner: tuple[int, int], files: Mapping[str, str]) -> None:
    """Write the files, and let the sandbox's group pass the folder, read them and connect."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        os.chown(path, -1, owner[1])
        path.chmod(0o660 if path.name == SOCKET else 0o640)
    os.chown(folder, -1, owner[1])
    folder.chmod(0o710)


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise Refused(431, "was asked for with too many headers") from None


def _first_line(head: bytes) -> tuple[str, str]:
    words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(400, "was asked for in a language that is not HTTP")
    return words[0], words[1]


def _authority(target: str) -> tuple[str, int]:
    """Return host and port of a CONNECT. Raises Refused."""
    host, _, port = target.rpartition(":")
    host = host.removeprefix("[").removesuffix("]").lower()
    if not is_host(host) or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise Refused(400, "was asked for something that is no host")
    return host, int(port)


async def _read_hello(reader: asyncio.StreamReader, origin: Origin) -> bytes:
    """Read the ClientHello, which must ask for the host of the CONNECT and nothing in disguise."""
    try:
        raw, hello = await read_client_hello(reader)
    except NotTls as error:
        raise Refused(400, f"was sent {error}") from None
    host = origin.place.host
    if hello.encrypted or hello.name != tls_name(host):
        asked = "a hidden name" if hello.encrypted else hello.name
        raise Refused(421, f"was asked for {asked} inside the tunnel")
    return raw


async def _say(inside: StreamPair, status: int, text: str) -> None:
    """Answer; the reason stands in the first line, which is what most clients show."""
    with contextlib.suppress(OSError, TimeoutError):
        inside.writer.write(f"HTTP/1.1 {status} {text}\r\nContent-Length: 0\r\n\r\n".encode())
        async with asyncio.timeout(5):
            await inside.writer.drain()
