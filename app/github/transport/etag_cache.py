"""Cache GitHub's answers by ETag: an unchanged answer costs nothing of the rate limit.

https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api: an authorised
request with `if-none-match` that is answered 304 does not count against the primary limit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, MutableMapping
from typing import Any

import orjson
from cachetools import LRUCache

Kept = tuple[str | None, str | None, Any, str | None]
"""`etag`, `last-modified`, the decoded answer, the address of the next page."""

MOST_BYTES = 32 * 1024 * 1024
"""Bytes of the cache, all installations together."""
LARGEST = 512 * 1024
"""Bytes of one answer: what is larger is rarely asked for twice."""


class EtagCache:
    """All cached answers, limited by their size in bytes; GitHub is asked before each use."""

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[Hashable, str], bytes] = LRUCache(MOST_BYTES, getsizeof=len)

    def seen_by(self, scope: Hashable) -> ScopedCache:
        """Return the answers given to tokens of this scope; other scopes must not see them."""
        return ScopedCache(self._kept, scope)


class ScopedCache(MutableMapping[str, Kept]):
    """The answers to one scope by address, in the form that gidgethub expects.

    They are kept as bytes, so that a caller's changes to an answer reach nobody else.
    """

    def __init__(self, kept: LRUCache[tuple[Hashable, str], bytes], scope: Hashable) -> None:
        self._kept = kept
        self._scope = scope

    def __getitem__(self, url: str) -> Kept:
        etag, modified, data, more = orjson.loads(self._kept[self._scope, url])
        return etag, modified, data, more

    def __setitem__(self, url: str, answer: Kept) -> None:
        data = orjson.dumps(answer)
        if len(data) <= LARGEST:
            self._kept[self._scope, url] = data
        else:
            self._kept.pop((self._scope, url), None)

    def __delitem__(self, url: str) -> None:
        del self._kept[self._scope, url]

    def __iter__(self) -> Iterator[str]:
        return iter([url for scope, url in self._kept if scope == self._scope])

    def __len__(self) -> int:
        return sum(1 for _ in self)
