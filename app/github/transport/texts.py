"""Clean texts both ways: what agents read of GitHub, and what Fettle publishes there.

What is published holds no secrets, and no mentions or commands that act.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents.requests import Command, Request
from agents.text import (
    clean,
    clean_in_child,
    code_span,
    one_line,
    publish,
    publish_in_child,
    truncate,
)
from agents.text.literal import to_literal
from agents.text.outgoing import LIMIT
from app.github.transport.urls import Urls
from app.secrets.redaction import Redactor

BODY = 8_000  # characters of one text
LINE = 300
LONGEST_LINE = 2_000
"""Characters of a title or name that are looked at; GitHub allows 256 for most."""


async def clean_body(text: str | None, room: int = BODY) -> str:
    """Return a text from GitHub without hidden parts, cut to `room` characters."""
    shown = (await clean_in_child(text or "")).text
    return truncate(shown, room, "the rest is on GitHub") or "(no text)"


def clean_line(text: str | None) -> str:
    """Return a title or name as one line."""
    shown = " ".join(clean((text or "")[:LONGEST_LINE]).text.split())
    return shown if len(shown) <= LINE else f"{shown[:LINE]}…"


def join_sections(parts: Iterable[str]) -> str:
    """Return the parts that are not empty, with a blank line between them."""
    return "\n\n".join(part for part in parts if part)


def describe_left_out(counts: Sequence[tuple[int, str]]) -> str:
    """Return how much was left out, and why; empty when everything is shown."""
    said = [f"{count} {what}" for count, what in counts if count]
    return f"[Left out: {'; '.join(said)}]" if said else ""


class OutgoingText:
    """Makes texts of a run fit to be published in its repository.

    Secrets are redacted before and after the Markdown is cleaned, since markup can hide them and
    cleaning can uncover them.
    """

    def __init__(self, urls: Urls, request: Request | Command, redactor: Redactor) -> None:
        self._redactor = redactor
        self._repository_url = f"{urls.web}/{request.repository.full_name}"
        asker = request.asked_by  # the operator of the machine is nobody's account
        self._mention_ok = frozenset({asker.login} if asker.id else ())

    def text(self, markdown: str, *, limit: int = LIMIT) -> str:
        """Return the Markdown, cut to `limit` characters; closing keywords in it close no issue.

        https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
        """
        safe = publish(
            self._redactor.clean(markdown),
            repository_url=self._repository_url,
            mention_ok=self._mention_ok,
            limit=limit,
        )
        return self._redactor.clean(safe)

    async def publish(self, markdown: str, *, limit: int = LIMIT) -> str:
        """Return the same, made beside the event loop where the Markdown is long."""
        safe = await publish_in_child(
            await self._redactor.clean_beside(markdown),
            repository_url=self._repository_url,
            mention_ok=self._mention_ok,
            limit=limit,
        )
        return await self._redactor.clean_beside(safe)

    def title(self, text: str, limit: int) -> str:
        """Return the text as a title, in which GitHub reads no Markdown."""
        return self._redactor.clean(one_line(self._redactor.clean(text), limit))

    def quote(self, text: str, limit: int) -> str:
        """Return foreign words, marked so that nobody takes them for Fettle's own."""
        seen = to_literal(self._redactor.clean(text))
        return code_span(seen if len(seen) <= limit else f"{seen[: limit - 1]}…")

    def line(self, text: str, limit: int) -> str:
        """Return the text as part of one line of Markdown."""
        return " ".join(self.text(self.title(text, limit)).split())
