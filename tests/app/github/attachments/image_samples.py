"""Small pictures for tests, made by hand."""

from __future__ import annotations

import struct
import zlib


def png(width=3, height=2, *, idat=b"\x78\x9c\x63\x00\x00\x00\x01\x00\x01", tail=b""):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = _chunk(b"IHDR", header), _chunk(b"IDAT", idat), _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + tail


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def jpeg(width=3, height=2, *, sof=0xC0, before=b"", tail=b""):
    app0 = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    frame = (
        b"\xff" + bytes([sof]) + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    )
    scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x12\x34"
    return b"\xff\xd8" + app0 + before + frame + scan + b"\xff\xd9" + tail


def gif(width=3, height=2, *, blocks=None, tail=b""):
    head = b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\x00\x00" + b"\x00" * 6
    picture = b"\x2c" + b"\x00" * 8 + b"\x00" + b"\x02" + b"\x02\x44\x01\x00"
    note = b"\x21\xfe\x05hello\x00"
    return head + (note + picture if blocks is None else blocks) + b"\x3b" + tail


def webp(width=3, height=2, *, kind="VP8 ", tail=b""):
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = {
        "VP8 ": b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + b"\x00" * 4,
        "VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + b"\x00" * 5,
        "VP8X": b"\x00" * 4 + sides,
    }[kind]
    chunk = kind.encode() + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk + tail
