"""Errors that end one level of the ladder, or all of it."""

from __future__ import annotations

from agents.errors import FettleError
from agents.pipelines.remediate.ladder.values import Cause
from agents.text import plain_output, printable

SHOWN = 800


class Stuck(FettleError):
    """This rung does not lead to a fix; the text says why, and the next one is tried."""


class Unfit(FettleError):
    """The ladder can do nothing here; `cause` and the text become the Refusal."""

    def __init__(self, cause: Cause, text: str, *, major: str = "") -> None:
        super().__init__(text)
        self.cause = cause
        self.major = major


def said(output: str) -> str:
    """Return the end of what a tool wrote, as bounded plain text; untrusted all the same."""
    text = printable(plain_output(output)).strip()
    return text if len(text) <= SHOWN else f"… {text[-SHOWN:]}"
