"""For how long tools and system prompt are kept in the prompt cache: five minutes, or an hour.

To write them for an hour costs 2 times their input, for five minutes 1.25 times; to read them 0.1
times, and each reading prolongs them. A run by itself, whose turns follow each other, is served by
minutes. An hour pays once they are asked for again after more than five minutes: by the next run,
after slow checks, or after a person has decided.

https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agents.ports import Query

HOUR: Mapping[str, str] = {"type": "ephemeral", "ttl": "1h"}
MINUTES: Mapping[str, str] = {"type": "ephemeral"}
SHORT, LONG, DAY = 300.0, 3_600.0, 86_400.0
"""Seconds of the two lifetimes, and for which a pause is remembered."""

CachePrefix = tuple[str, str, tuple[str, ...]]


@dataclass
class CacheLifetimes:
    """How the prefixes of one process were used: a lifetime changes only where none is alive."""

    clock: Callable[[], float] = time.monotonic
    _used: dict[CachePrefix, float] = field(default_factory=dict)
    _paused: dict[CachePrefix, float] = field(default_factory=dict)

    def choose(self, query: Query) -> Mapping[str, str]:
        """Return the marker for what stands before the query's messages, and note that it is used.

        An hour for a day after the prefix was asked for again once a short entry was gone and a
        long one would have been there.
        """
        names = tuple(str(tool["name"]) for tool in query.tools)
        prefix, now = (query.model, query.system, names), self.clock()
        before = self._used.get(prefix)
        self._used[prefix] = now
        if before is not None and SHORT < now - before < LONG:
            self._paused[prefix] = now
        paused = self._paused.get(prefix)
        return HOUR if paused is not None and now - paused < DAY else MINUTES
