"""Redact secrets from logs, errors and published text: by value first, by pattern second."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from app.secrets.disguises import list_views

if TYPE_CHECKING:
    import re2

REDACTED = "[redacted]"

SHORTEST_VALUE = 6
"""Shorter values would blank out ordinary words."""

SHORTEST_LINE = 16
"""Lines of a longer secret are looked for one by one from this length on."""

PATTERNS = (
    r"ghs_[A-Za-z0-9._-]{36,}",  # installation tokens: 40 characters, or 520 with a JWT inside
    r"gh[opru]_[A-Za-z0-9_]{36,}",
    r"github_pat_[A-Za-z0-9_]{22,}",
    r"sk-ant-[A-Za-z0-9_-]{16,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"npm_[A-Za-z0-9]{36}",
    r"AIza[A-Za-z0-9_-]{35}",
    # Bounded: a text in which this may begin everywhere would be read to its end each time.
    r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}",
    # A key that is cut off has no END line: then all that looks like its body goes.
    (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----"
        r"(?:(?:(?!-----(?:BEGIN|END)).){0,9000}-----END [A-Z0-9 ]*PRIVATE KEY-----"
        r"|[A-Za-z0-9+/=\\\s]*)"
    ),
)


HALF = 8
"""So many characters of a known secret give away that it stood there before a text was cut."""
LONGEST_HALF = 200
MOST_CUTS = 20
_CUT = re.compile(r"…|\n?\[(?:…|\.\.\.)|\.\.\. ?\(|\[[\d,]+ (?:more )?characters")
_HALF = re.compile(
    r"(?:gh[opsru]_|github_pat_|sk-ant-|glpat-|npm_|AIza|xox[abeoprs]-)[A-Za-z0-9._-]{6,}\Z"
    r"|(?:AKIA|ASIA)[A-Z0-9]{4,}\Z"
)

LONG = 4_096
"""Characters, from which on a text is looked through by a thread."""

HEAD = 40
"""So many characters of a secret give it away; what follows goes as far as it still agrees."""
MOST_INDEXED = 1024
"""Secrets in one index, beyond which RE2 takes ten times as long."""
HEADS_MEMORY = 256 * 1024 * 1024
"""Bytes that RE2 may take, of which so many tokens need a tenth: with too few it would refuse."""
_SURROGATES = "surrogatepass"
"""Texts may hold halves of characters, which UTF-8 has no place for."""


class Redactor:
    """Know the live secrets of this process and take them out of any text. Thread-safe."""

    def __init__(
        self, secrets: Iterable[str] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._lock = Lock()
        self._ends: dict[str, float] = {}
        self._new: list[str] = []
        self._indexes: tuple[_Index, ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str, *, lifetime: float | None = None) -> None:
        """Take this value out of all later text, for `lifetime` seconds at least, or for good."""
        secret = secret.strip()
        if len(secret) < SHORTEST_VALUE:
            return
        end = self._clock() + (lifetime or float("inf"))
        with self._lock:
            if secret not in self._ends:
                self._new.append(secret)  # several are often added before the next text is cleaned
            self._ends[secret] = max(self._ends.get(secret, 0), end)

    def end(self, secret: str, *, lifetime: float) -> None:
        """Note that the value is worth nothing any more: `lifetime` seconds from now are enough."""
        with self._lock:
            if secret in self._ends:
                self._ends[secret] = min(self._ends[secret], self._clock() + lifetime)

    def _list_indexes(self) -> tuple[_Index, ...]:
        if self._new:
            with self._lock:
                self._index_new()
        return self._indexes

    def _index_new(self) -> None:
        """Index what is new, together with the indexes that are no larger than that.

        So there are few, and each value is indexed again only as often as their sizes double. What
        has ended goes with the index that it is in.
        """
        now = self._clock()
        self._ends = {value: end for value, end in self._ends.items() if end > now}
        kept = [index for index in self._indexes if not self._ends.keys().isdisjoint(index.secrets)]
        values, self._new = self._new, []
        while kept and len(kept[-1].secrets) <= len(values) <= MOST_INDEXED // 2:
            values = [*kept.pop().secrets, *values]
        values = [value for value in values if value in self._ends]
        self._indexes = (*kept, _Index(values)) if values else tuple(kept)

    def clean(self, text: str) -> str:
        """Return the text with `[redacted]` in the place of every secret in it.

        Also of those that are encoded, wrapped or interrupted by what nobody sees, and of halves
        where a text was cut.
        """
        indexes = self._list_indexes()
        spans = list(_find(indexes, text))
        for view in list_views(text):
            spans += [view.find_source(*span) for span in _find(indexes, view.text)]
        spans += _find_halves(indexes, text)
        return _blank_out(text, spans) if spans else text

    async def clean_beside(self, text: str) -> str:
        """Return the same; where the text is long, others are answered meanwhile."""
        return await asyncio.to_thread(self.clean, text) if len(text) > LONG else self.clean(text)


def _find(indexes: Sequence[_Index], text: str) -> Iterator[tuple[int, int]]:
    """Yield where a secret begins and ends, known or not; some may overlap."""
    for match in _compile_patterns().finditer(text):
        # An unknown token may share its head with a known one.
        ends = (index.end(text, match.start()) for index in indexes)
        yield match.start(), max(match.end(), *ends, 0)
    for index in indexes:
        yield from index.find(text)


def _find_halves(indexes: Sequence[_Index], text: str) -> Iterator[tuple[int, int]]:
    """Yield where a part of a secret stands beside the place at which a text was cut."""
    for cut in _list_cuts(text):
        if (found := _HALF.search(text, max(0, cut - LONGEST_HALF), cut)) is not None:
            yield found.span()
        for index in indexes:
            yield from index.find_halves(text, cut)


class _Index:
    """Finds known secrets by the heads of all their forms.

    The heads are many, and others with each new token: RE2 is built three times as quickly for
    them, and finds them five times as quickly, as `re`. It reads bytes.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self.secrets = secrets
        self._forms: dict[str, list[str]] = {}
        for form in {form for secret in secrets for form in list_forms(secret)}:
            self._forms.setdefault(form[:HEAD], []).append(form)
        self._begins: dict[str, list[str]] = {}
        self._endings: dict[str, list[str]] = {}
        for form in (each for forms in self._forms.values() for each in forms):
            if len(form) >= 2 * HALF:
                self._begins.setdefault(form[:HALF], []).append(form)
                self._endings.setdefault(form[-HALF:], []).append(form)
        self._heads = _compile_heads(self._forms)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a secret begins and ends; some may overlap."""
        data = _to_bytes(text)
        start = read = 0
        for match in self._heads.finditer(data):
            start += len(data[read : match.start()].decode("utf-8", _SURROGATES))
            read = match.start()
            end = start + len(match.group().decode("utf-8", _SURROGATES))
            yield start, max(end, self.end(text, start))

    def find_halves(self, text: str, cut: int) -> Iterator[tuple[int, int]]:
        """Yield where a part of a secret ends or begins at this place, where the text was cut."""
        tail = text[max(0, cut - LONGEST_HALF) : cut].rpartition(" ")[2]
        for at in range(len(tail) - HALF + 1):
            if not (forms := self._begins.get(tail[at : at + HALF])):
                continue
            rest = tail[at:]
            if _is_telling(rest) and any(form.startswith(rest) for form in forms):
                yield cut - len(rest), cut
                break
        head = text[cut : cut + LONGEST_HALF].lstrip("…")
        begin = cut + len(text[cut : cut + LONGEST_HALF]) - len(head)
        head = head.partition(" ")[0]
        for at in range(len(head), HALF - 1, -1):
            if not (forms := self._endings.get(head[at - HALF : at])):
                continue
            rest = head[:at]
            if _is_telling(rest) and any(form.endswith(rest) for form in forms):
                yield begin, begin + at
                break

    def end(self, text: str, start: int) -> int:
        """Return where the known secret that begins at `start` stops, or `start`."""
        forms = self._forms.get(text[start : start + HEAD], ())
        return start + max((_count_common_prefix(form, text, start) for form in forms), default=0)


def _is_telling(half: str) -> bool:
    """Tell whether it is more than a word that secrets begin with, like `postgresql`."""
    return any(each.isdigit() for each in half)


def _list_cuts(text: str) -> list[int]:
    """Return where the text may have been cut: its ends, and the marks of what was left out."""
    marks = [found.start() for found in _CUT.finditer(text)]
    return [0, *marks[:MOST_CUTS], len(text)]


def _blank_out(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with `[redacted]` for these; what touches or overlaps is one."""
    parts: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start >= position or not parts:
            parts += [text[position:start], REDACTED]
        position = max(position, end)
    return "".join([*parts, text[position:]])


def _count_common_prefix(form: str, text: str, start: int) -> int:
    pairs = zip(form, text[start : start + len(form)], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@cache
def _compile_patterns() -> re.Pattern[str]:
    return re.compile("|".join(PATTERNS), re.DOTALL)


def _compile_heads(heads: Iterable[str]) -> re2._Regexp:
    """Return what finds any of these; of several that begin at the same place, the longest."""
    import re2  # noqa: PLC0415 - commands that print nothing of strangers need not wait for it

    options = re2.Options()
    options.max_mem = HEADS_MEMORY
    longest_first = sorted(heads, key=len, reverse=True)
    found = re2.compile(b"|".join(re.escape(_to_bytes(head)) for head in longest_first), options)
    re2.purge()  # it would keep those of 128 earlier sets, and with them tokens that have ended
    return found


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", _SURROGATES)


def list_forms(secret: str) -> Iterator[str]:
    """Yield the ways in which a secret may be written."""
    raw = secret.encode()
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield from (raw.hex(), raw.hex().upper())
    for quoted in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield quoted
        yield re.sub(r"%..", lambda code: code[0].lower(), quoted)
    yield from _base64_forms(raw)
    lines = [line.strip() for line in secret.splitlines()]
    yield from (line for line in lines[1:-1] if len(line) >= SHORTEST_LINE)


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield what of a longer base64 text only this value decides, at each of three offsets.

    A password inside a Basic header, say, has other bytes before it.
    """
    for before in range(3):
        end = (before + len(raw)) * 8 // 6
        padded = bytes(before) + raw
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded).decode()[-(-before * 8 // 6) : end]
