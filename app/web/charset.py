"""Bytes of the web as text: the encoding that the server, the page or its first bytes name."""

from __future__ import annotations

import codecs
import re

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


def decoded(data: bytes, charset: str | None, *, markup: bool) -> str:
    """Return the text; bytes that make no sense become replacement characters."""
    return data.decode(_encoding(data, charset, markup=markup), "replace").removeprefix("\ufeff")


def _encoding(data: bytes, charset: str | None, *, markup: bool) -> str:
    for mark, meant in _BOMS:
        if data.startswith(mark):
            return meant
    declared = _META.search(data[:_HEAD]) if markup else None
    for name in (charset, declared[1].decode("ascii") if declared else None):
        if name and (known := _known(name)):
            return known
    return "utf-8"


def _known(name: str) -> str | None:
    if name.lower() in ("iso-8859-1", "latin1", "us-ascii"):
        return "cp1252"  # as browsers read it
    try:
        found: str = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return found if _KNOWN.fullmatch(found) else None
