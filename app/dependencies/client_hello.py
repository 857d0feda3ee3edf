"""Read the server name of a TLS ClientHello: whom a sandboxed command really connects to."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

LARGEST = 64 * 1024
"""Bytes of a ClientHello; browsers with post-quantum keys send under 2 KiB."""

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D
_RECORD_LARGEST = 16 * 1024


class NotTls(ValueError):
    """These bytes do not begin a TLS connection."""


class ClientHello(NamedTuple):
    """The plain-text fields of a client's first message.

    https://www.rfc-editor.org/rfc/rfc8446#section-4.1.2
    """

    name: str | None
    """The server's name, or None where it gives none."""
    encrypted: bool
    """Whether another hello, with another name perhaps, is hidden inside."""


async def read_client_hello(reader: asyncio.StreamReader) -> tuple[bytes, ClientHello]:
    """Read exactly the records of the ClientHello; return their bytes, and the message.

    Raises NotTls, and IncompleteReadError when the client hangs up first.
    """
    raw, message = b"", b""
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
        header = await reader.readexactly(5)
        size = int.from_bytes(header[3:5], "big")
        if header[0] != _HANDSHAKE or header[1] != 3 or not 0 < size <= _RECORD_LARGEST:
            raise NotTls("no TLS handshake")
        record = await reader.readexactly(size)
        raw, message = raw + header + record, message + record
        if len(raw) > LARGEST:
            raise NotTls("a ClientHello too large")
    return raw, parse_client_hello(message)


def parse_client_hello(message: bytes) -> ClientHello:
    """Return the fields of a handshake message. Raises NotTls for a malformed ClientHello."""
    if message[0] != _CLIENT_HELLO:
        raise NotTls("no ClientHello")
    body = _Bytes(message[4 : 4 + int.from_bytes(message[1:4], "big")])
    body.take(2 + 32)  # version and random
    body.block(1)  # session
    body.block(2)  # ciphers
    body.block(1)  # compression
    extensions: dict[int, _Bytes] = {}
    listed = body.block(2) if body.rest else _Bytes(b"")
    while listed.rest:
        kind = listed.number(2)
        if kind in extensions:
            raise NotTls("an extension twice")
        extensions[kind] = listed.block(2)
    return ClientHello(_server_name(extensions.get(_SERVER_NAME)), _ENCRYPTED_HELLO in extensions)


def _server_name(extension: _Bytes | None) -> str | None:
    if extension is None:
        return None
    names = extension.block(2)
    kind, name = names.number(1), names.block(2)
    if kind != 0 or names.rest or extension.rest:
        raise NotTls("more than one server name")
    try:
        return name.rest.decode("ascii").lower()
    except UnicodeDecodeError:
        raise NotTls("a server name that is not ASCII") from None


class _Bytes:
    """Bytes that are taken from the front, and never more than there are."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, count: int) -> bytes:
        if count > len(self.rest):
            raise NotTls("a ClientHello that ends early")
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def block(self, size: int) -> _Bytes:
        """Take a block that begins with its own length."""
        return _Bytes(self.take(self.number(size)))
