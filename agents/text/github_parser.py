"""GitHub's own Markdown parser, called by one thread at a time, and its memory given back.

The C library keeps its extensions and special characters in tables that all threads share: two
calls at once read texts wrongly, and two first calls end the process
(https://github.com/github/cmark-gfm/issues/207). Its Python package frees neither the tree nor
the HTML, which is eighty times the text.
"""

from __future__ import annotations

import ctypes
from threading import Lock

from cmarkgfm import cmark

FOOTNOTES = cmark.Options.CMARK_OPT_FOOTNOTES
PRE_LANG = cmark.Options.CMARK_OPT_GITHUB_PRE_LANG
UNSAFE = cmark.Options.CMARK_OPT_UNSAFE
"""Options of `render`: the parser's manual, https://github.com/github/cmark-gfm, names them so."""

# What GitHub switches on; its task lists are left out, which would look like raw HTML.
# https://github.github.com/gfm/
_EXTENSIONS = ("table", "strikethrough", "autolink")

_parser = cmark._cmark  # noqa: SLF001 the package wraps only what keeps memory
_library = ctypes.CDLL(_parser.__file__)  # what the package does not declare: how to free
_library.cmark_node_free.argtypes = _library.free.argtypes = (ctypes.c_void_p,)
_library.cmark_node_free.restype = _library.free.restype = None
_lock = Lock()


def render(text: str, options: int) -> str:
    """Return the HTML that GitHub's parser makes of a text, before GitHub sanitises it."""
    # half of a surrogate pair, which JSON can carry and UTF-8 cannot
    raw = text.encode("utf-8", "replace")
    with _lock:
        cmark.core_extensions_ensure_registered()
        parser = cmark.parser_new(options)
        try:
            for name in _EXTENSIONS:
                cmark.parser_attach_syntax_extension(parser, cmark.find_syntax_extension(name))
            _parser.lib.cmark_parser_feed(parser, raw, len(raw))
            return _take_html(cmark.parser_finish(parser), parser, options)
        finally:
            cmark.parser_free(parser)


def _take_html(root: object, parser: object, options: int) -> str:
    html = None
    try:
        extensions = cmark.parser_get_syntax_extensions(parser)
        html = _parser.lib.cmark_render_html(root, options, extensions)
        content: bytes = _parser.ffi.string(html)
        return content.decode("utf-8")
    finally:
        if html is not None:
            _library.free(_address(html))
        _library.cmark_node_free(_address(root))


def _address(pointer: object) -> int:
    return int(_parser.ffi.cast("uintptr_t", pointer))
