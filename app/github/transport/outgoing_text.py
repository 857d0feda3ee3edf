"""Clean every text that Fettle publishes: no secrets, no mentions or commands that act."""

from __future__ import annotations

from agents.requests import Command, Request
from agents.text import one_line, publish
from agents.text.inline import code_span
from agents.text.literal import spelled
from agents.text.outgoing import LIMIT
from app.github.transport.urls import Urls
from app.secrets.redaction import Redactor


class OutgoingText:
    """Makes texts of a run fit to be published in its repository.

    Secrets are looked for before and after: markup can hide them, and taking it out can show them.
    """

    def __init__(self, urls: Urls, request: Request | Command, redactor: Redactor) -> None:
        self._redactor = redactor
        self._repository_url = f"{urls.web}/{request.repository.full_name}"
        asker = request.asked_by  # the operator of the machine is nobody's account
        self._mention_ok = frozenset({asker.login} if asker.id else ())

    def text(self, markdown: str, *, limit: int = LIMIT) -> str:
        """Return the Markdown, bounded. It closes no issue: what does is never a model's text."""
        safe = publish(
            self._redactor.clean(markdown),
            repository_url=self._repository_url,
            mention_ok=self._mention_ok,
            limit=limit,
        )
        return self._redactor.clean(safe)

    def title(self, text: str, limit: int) -> str:
        """Return the text as a title, where no Markdown is read."""
        return self._redactor.clean(one_line(self._redactor.clean(text), limit))

    def quoted(self, text: str, limit: int) -> str:
        """Return words that are not Fettle's so that nobody takes them for its own."""
        seen = spelled(self._redactor.clean(text))
        return code_span(seen if len(seen) <= limit else f"{seen[: limit - 1]}…")

    def line(self, text: str, limit: int) -> str:
        """Return the text as a part of one line of Markdown."""
        return " ".join(self.text(self.title(text, limit)).split())
