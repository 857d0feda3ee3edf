"""Read the body of one web answer: unpacked within bounds, decoded, and turned into text."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp

from agents.errors import ToolError
from agents.text import without_hidden
from app.web.markup import as_markdown

MOST_TEXT = 50_000
"""Bytes of text that a page gives at most."""

MOST_MARKUP = 500_000
"""Bytes of HTML that are looked at for that text; of pages of docs most is not text."""

_HTML = "text/html"


@dataclass(frozen=True)
class Body:
    """The text of an answer; `cut` says that there was more."""

    text: str
    cut: bool


def checked_kind(response: aiohttp.ClientResponse) -> str:
    """Return the media type.

    Raises ToolError, before the body is read, for a type that is neither text nor JSON. An answer
    without a type counts as binary.
    """
    kind = response.content_type.lower() if "Content-Type" in response.headers else "unknown"
    if kind.startswith("text/") or kind == "application/json" or kind.endswith("+json"):
        return kind
    raise ToolError(f"{response.url} is {kind}; only text and JSON are read.")


async def read_body(response: aiohttp.ClientResponse, kind: str) -> Body:
    """Return the text of the answer, at most MOST_TEXT bytes."""
    markup = kind == _HTML
    data, cut = await _read(response, MOST_MARKUP if markup else MOST_TEXT)
    text = decode(data, response.charset, markup=markup)
    if markup:
        text = await as_markdown(text, str(response.url))
    shown, _ = without_hidden(text.replace("\r\n", "\n").replace("\r", "\n"))
    kept = shown.encode()[:MOST_TEXT].decode("utf-8", "ignore")
    return Body(kept, cut or len(kept) < len(shown))


async def _read(response: aiohttp.ClientResponse, most: int) -> tuple[bytes, bool]:
    """Return at most `most` bytes, and whether the body goes on or broke off."""
    kept = bytearray()
    try:
        async for piece in _decompress(response, most + 1):
            kept += piece[: most + 1 - len(kept)]
            if len(kept) > most:
                break
    except (aiohttp.ClientPayloadError, zlib.error):
        if not kept:
            raise ToolError(f"{response.url} sent nothing that can be read.") from None
        return bytes(kept[:most]), True
    return bytes(kept[:most]), len(kept) > most


async def _decompress(response: aiohttp.ClientResponse, most: int) -> AsyncIterator[bytes]:
    """Yield the body in pieces of at most `most` bytes, however tightly it was packed."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise ToolError(f"{response.url} is packed as {coding[:40]}, which was not asked for.")
    if coding in ("", "identity"):
        async for piece in response.content.iter_any():
            yield piece
        return
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # finds out which of the two it is
    async for piece in response.content.iter_any():
        packed = piece
        while packed and not unpack.eof:
            yield unpack.decompress(packed, most)
            packed = unpack.unconsumed_tail
        if unpack.eof:
            return
    raise zlib.error("it ends in the middle")


_META = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Those that pages are written in. Python knows others whose decoders are no match for strangers.
_KNOWN = re.compile(
    r"utf-(?:8|8-sig|16|16-le|16-be)|ascii|iso8859-\d+|cp125\d|cp866|koi8-[ru]|gb2312|gbk|gb18030"
    r"|big5|shift_jis|euc_jp|iso2022_jp|euc_kr"
)
_HEAD = 2048  # bytes in which a page says its encoding


def decode(data: bytes, charset: str | None, *, markup: bool) -> str:
    """Return the text; undecodable bytes become replacement characters.

    The byte order mark counts first, then the header, then the page's own declaration:
    https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding
    """
    return data.decode(_encoding(data, charset, markup=markup), "replace").removeprefix("\ufeff")


def _encoding(data: bytes, charset: str | None, *, markup: bool) -> str:
    for mark, meant in _BOMS:
        if data.startswith(mark):
            return meant
    declared = _META.search(data[:_HEAD]) if markup else None
    for name in (charset, declared[1].decode("ascii") if declared else None):
        if name and (known := _normalize_charset(name)):
            return known
    return "utf-8"


def _normalize_charset(name: str) -> str | None:
    if name.lower() in ("iso-8859-1", "latin1", "us-ascii"):
        return "cp1252"  # as browsers read it
    try:
        found: str = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return found if _KNOWN.fullmatch(found) else None
