"""Format, width and height of an image, read from the header of its file.

Nothing is decoded, since the bytes come from a stranger. Only complete images go to the model: its
server refuses the whole conversation for one broken image. Bytes after an image's end are cut off.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

LONGEST_SIDE = 8_000
"""Pixels that the Messages API takes."""

_PNG = b"\x89PNG\r\n\x1a\n"
_NO_FRAME = frozenset({0xC4, 0xC8, 0xCC})
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})


class UnusableImage(Exception):
    """A file that no model may get; the text says why, as the end of a sentence with "it"."""


@dataclass(frozen=True)
class ImageHeader:
    """Format and size of an image, as its header states them."""

    media_type: MediaType
    width: int
    height: int
    data: bytes
    """The file up to the end of the picture."""


def read_header(data: bytes) -> ImageHeader:
    """Return format and size of a complete image. Raises UnusableImage."""
    for magic, (media_type, read) in _KINDS.items():
        if data.startswith(magic):
            try:
                width, height, end = read(data)
            except IndexError:
                raise UnusableImage("is a broken picture") from None
            return ImageHeader(media_type, *_sides(width, height), data[:end])
    raise UnusableImage("is no PNG, JPEG, GIF or WebP picture")


def _sides(width: int, height: int) -> tuple[int, int]:
    if width < 1 or height < 1:
        raise UnusableImage("is a broken picture")
    if max(width, height) > LONGEST_SIDE:
        raise UnusableImage(
            f"measures {width} x {height} pixels, more than {LONGEST_SIDE} on a side"
        )
    return width, height


def _png(data: bytes) -> tuple[int, int, int]:
    """Walk the chunks to the last one; their checksums have to be right."""
    kinds: list[bytes] = []
    at = len(_PNG)
    while not kinds or kinds[-1] != b"IEND":
        length = _big(data, at, 4)
        kind, end = data[at + 4 : at + 8], at + 12 + length
        if end > len(data) or zlib.crc32(data[at + 4 : end - 4]) != _big(data, end - 4, 4):
            raise IndexError
        kinds.append(kind)
        at = end
    if kinds[0] != b"IHDR" or b"IDAT" not in kinds:
        raise IndexError
    return _big(data, 16, 4), _big(data, 20, 4), at


def _jpeg(data: bytes) -> tuple[int, int, int]:
    """Walk the segments to the pixels; behind them only the end mark is looked for."""
    at, size = 2, None
    while (marker := data[at + 1]) != 0xDA:
        if data[at] != 0xFF:
            raise IndexError
        if marker == 0xFF or marker in _BARE:  # filling, or a mark alone
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            size = _big(data, at + 7, 2), _big(data, at + 5, 2)
        at += 2 + max(2, _big(data, at + 2, 2))
    end = data.rfind(b"\xff\xd9", at)
    if size is None or end < 0:
        raise IndexError
    return *size, end + 2


def _gif(data: bytes) -> tuple[int, int, int]:
    """Walk the blocks to the end mark; there has to be a picture among them."""
    at, pictures = 13 + _table(data[10]), 0
    while (kind := data[at]) != 0x3B:
        if kind == 0x2C:
            pictures += 1
            at += 11 + _table(data[at + 9])
        elif kind == 0x21:
            at += 2
        else:
            raise IndexError
        while length := data[at]:
            at += 1 + length
        at += 1
    if not pictures:
        raise IndexError
    return _little(data, 6, 2), _little(data, 8, 2), at + 1


def _table(flags: int) -> int:
    """Return how many bytes the table of colours takes."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _webp(data: bytes) -> tuple[int, int, int]:
    end, kind = 8 + _little(data, 4, 4), data[12:16]
    if end > len(data) or data[8:12] != b"WEBP":
        raise IndexError
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF, end
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = _little(data, 21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, end
    if kind == b"VP8X":
        return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1, end
    raise IndexError


def _big(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(_read_exactly(data, at, count), "big")


def _little(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(_read_exactly(data, at, count), "little")


def _read_exactly(data: bytes, at: int, count: int) -> bytes:
    found = data[at : at + count]
    if len(found) < count:
        raise IndexError
    return found


_KINDS: Mapping[bytes, tuple[MediaType, Callable[[bytes], tuple[int, int, int]]]] = {
    _PNG: ("image/png", _png),
    b"\xff\xd8\xff": ("image/jpeg", _jpeg),
    b"GIF87a": ("image/gif", _gif),
    b"GIF89a": ("image/gif", _gif),
    b"RIFF": ("image/webp", _webp),
}
