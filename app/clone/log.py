"""The log of a run on a clone: all of it to a file, what people must know to them as well."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO, cast

from app.config.settings import Settings
from app.observability.logging import configure_logging
from app.secrets.redaction import Redactor

_GRAVE = re.compile(r"^\S+ \[(?:warning|error|critical) *\] (?P<text>.*?)(?:  .*| \w+=.*)?$")
_REASON = re.compile(r"""\breason=(?:(["'])(?P<quoted>.*?)\1|(?P<plain>\S+))""")


@contextmanager
def logging_to(
    file: Path, settings: Settings, redactor: Redactor, tell: Callable[[str], None]
) -> Iterator[None]:
    """Send the log to the file, and from warnings on also to `tell`."""
    with open(file, "a", encoding="utf-8", opener=partial(os.open, mode=0o600)) as stream:
        configure_logging(
            style="console",
            level=settings.log_level,
            cleaner=redactor,
            stream=cast("TextIO", _WarningTee(stream, tell)),
        )
        yield


class _WarningTee(io.TextIOBase):
    """A text stream with a second reader for grave lines."""

    def __init__(self, stream: TextIO, tell: Callable[[str], None]) -> None:
        self._stream = stream
        self._tell = tell

    def write(self, text: str) -> int:
        self._stream.write(text)
        self._stream.flush()
        for line in text.splitlines():
            if found := _GRAVE.match(line):
                reason = _REASON.search(line)
                why = f": {reason['quoted'] or reason['plain']}" if reason else ""
                self._tell(f"{found['text'].strip().capitalize()}{why}")
        return len(text)
