"""Structured log lines with fixed keys, without secrets, and safe from forged line breaks."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, Protocol, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

CHATTY = ("aiohttp", "alembic", "anthropic", "asyncio", "dbos", "httpx2", "sqlalchemy")
"""Libraries whose news below a warning is of no use to an operator."""
REPEATING = ("app.store.database",)
"""Parts of Fettle that say the same at each attempt while something is away."""
QUIET_SECONDS = 60.0
KIND_LENGTH = 40
MOST_KINDS = 200
TRACES = frozenset({"exception", "stack"})

_ARRIVED = re.compile(r"[0-9a-f]{16}-(.+?)(?:-\d{1,2})?")
"""The id of what a delivery asks for: when it came, its own id, a number where it asks twice."""
_TRACE = re.compile(r"Traceback \(most recent call last\):.*", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class RedactText(Protocol):
    """Redacts secrets from a text."""

    def clean(self, text: str) -> str:
        """Return the text without secrets."""
        ...


def keys_of(ident: str, request: object) -> dict[str, Any]:
    """Return the log keys of a stored request; its id contains the delivery's."""
    keys: dict[str, Any] = {}
    if found := _ARRIVED.fullmatch(ident):
        keys["delivery"] = found[1]
    if isinstance(request, Mapping):
        keys["installation"] = request.get("installation_id")
        where = request.get("repository")
        if isinstance(where, Mapping):
            keys["repository"] = f"{where.get('owner')}/{where.get('name')}"
    return {name: value for name, value in keys.items() if value is not None}


def configure_logging(
    *,
    style: Literal["console", "json"],
    level: Literal["debug", "info", "warning", "error"],
    cleaner: RedactText,
    stream: TextIO | None = None,
) -> None:
    """Send log lines of Fettle and its libraries to `stream`, by default standard error."""
    out = stream or sys.stderr
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.processors.EventRenamer("message"),  # `event` is GitHub's word
        structlog.contextvars.merge_contextvars,
        _RepetitionFilter(),
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _CleaningProcessor(cleaner),
        _renderer(style, colors=out.isatty()),
    ]
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _UnbreakableStream(out))),
        cache_logger_on_first_use=False,
    )
    _adopt_libraries(out, number, [_adopt_line, *shared])


def _renderer(style: str, *, colors: bool) -> Processor:
    if style == "json":
        return structlog.processors.JSONRenderer(sort_keys=True, ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(colors=colors, event_key="message")


def _adopt_libraries(out: TextIO, level: int, processors: list[Processor]) -> None:
    """Give the lines of the standard library's loggers the same shape and the same cleaning."""
    handler = logging.StreamHandler(out)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=processors))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for name in REPEATING:
        logging.getLogger(name).addFilter(_SPARINGLY)  # which adds it once


def _adopt_line(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """Say which library a line is from."""
    record = line.pop("_record")
    line.pop("_from_structlog")
    return {**line, "event": _TRACE.sub(_end_of_trace, line["event"]), "logger": record.name}


def _end_of_trace(match: re.Match[str]) -> str:
    """Return what a traceback ends with: where a library was is of no use to an operator."""
    return match[0].strip().rpartition("\n")[2]


class _RepetitionFilter:
    """Lets a line with the same reason through once a minute, for each run.

    What waits for a database, a disk or GitHub looks again and again. How often it did, the next
    line says.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], tuple[float, int]] = {}

    def __call__(self, _logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
        if "reason" not in line or method not in {"info", "warning"}:
            return line
        kind = tuple(str(line.get(key)) for key in ("message", "reason", "run", "delivery", "step"))
        now = time.monotonic()
        until, hidden = self._seen.get(kind, (0.0, 0))
        if now < until:
            self._seen[kind] = (until, hidden + 1)
            raise structlog.DropEvent
        if len(self._seen) >= MOST_KINDS:
            self._seen.clear()
        self._seen[kind] = (now + QUIET_SECONDS, 0)
        return {**line, "repeated": hidden} if hidden else line


class _CleaningProcessor:
    """Redacts secrets from all strings, and escapes control characters."""

    def __init__(self, cleaner: RedactText) -> None:
        self._cleaner = cleaner

    def __call__(self, _logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
        return {self._text(key): self._value(line[key], lines=key in TRACES) for key in line}

    def _value(self, value: Any, *, lines: bool = False) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {self._text(str(key)): self._value(item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._value(item) for item in value]
        return self._lines(str(value)) if lines else self._text(str(value))

    def _text(self, text: str) -> str:
        return _CONTROL.sub(_escape, self._cleaner.clean(text))

    def _lines(self, text: str) -> str:
        """Keep the lines of a traceback, marked so that none can pass for a line of the log."""
        cleaned = self._cleaner.clean(text)
        return "\n".join(f"  | {_CONTROL.sub(_escape, line)}" for line in cleaned.split("\n"))


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


class _UnbreakableStream:
    """A stream whose closed reader does not stop the process."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # ValueError: closed
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


class Sparingly(logging.Filter):
    """Lets each kind of line of a library through once a minute, and some kinds never.

    While a database is away, all threads of an engine say so again and again. Lines that begin
    alike are one kind; `never` is how those begin that say nothing.
    """

    def __init__(self, *never: str) -> None:
        super().__init__()
        self._never = never
        self._quiet_until: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the line is written."""
        kind = str(record.msg)[:KIND_LENGTH]
        now = time.monotonic()
        if kind.startswith(self._never) or now < self._quiet_until.get(kind, 0.0):
            return False
        if len(self._quiet_until) >= MOST_KINDS:
            self._quiet_until.clear()
        self._quiet_until[kind] = now + QUIET_SECONDS
        return True


_SPARINGLY = Sparingly()
