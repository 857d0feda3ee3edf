"""The tool `webfetch`, which reads a public page as text."""

from __future__ import annotations

import hashlib
from fnmatch import fnmatchcase
from functools import partial
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from agents.errors import ToolError
from agents.policy import Policy
from agents.ports import Page
from agents.text import printable, quote
from agents.tools.base import Bench, Effect, Tool
from agents.tools.gate.policy_rules import owners_word
from agents.tools.url import LONGEST, parse_target

SHORT = 100  # characters of an address that can hardly carry anything out


class Webfetch(Tool):
    """Read a public web page: HTML (as Markdown), text or JSON, its first 50 KB.

    Hosts that the repository's policy does not list wait for a person, perhaps for days. A redirect
    to another host is named, not followed.
    """

    name: ClassVar[str] = "webfetch"
    effect: ClassVar[Effect] = Effect.READ
    port: ClassVar[Literal["web"]] = "web"
    room: ClassVar[int] = 20_000

    url: str = Field(max_length=LONGEST)
    start: int = Field(default=0, ge=0)
    """Characters to skip, to go on where a page was cut."""

    @field_validator("url")
    @classmethod
    def _readable(cls, url: str) -> str:
        try:
            return parse_target(url.strip()).url
        except ToolError as error:
            raise ValueError(str(error)) from None

    def subject(self) -> str:
        """Return the address."""
        return self.url

    def hosts(self) -> tuple[str, ...]:
        """Return the host; others are reached by calls of their own."""
        return (parse_target(self.url).host,)

    def leaves(self) -> bool:
        """Return whether the address is more than the short name of a page."""
        parts = urlsplit(self.url)
        return bool(parts.query) or len(parts.netloc + parts.path) > SHORT

    async def run(self, bench: Bench) -> str:
        """Return the page's text, fenced, with where it came from."""
        if bench.web is None:
            raise ToolError("This installation cannot read the web.")
        page = await bench.web.fetch(self.url, allowed=partial(self._may_lead_to, bench.policy))
        return self._show(page)

    def _may_lead_to(self, policy: Policy, host: str) -> bool:
        """Return whether a redirect may be followed there: nobody would have to be asked."""
        if host in self.hosts():
            return True
        there = type(self)(url=f"https://{host}/")
        return is_listed(host, policy) and owners_word(policy, there) is None

    def _show(self, page: Page) -> str:
        text = printable(page.text)
        if self.start and self.start >= len(text):
            raise ToolError(f"The page has only {len(text)} characters.")
        part = text[self.start : self.start + self.room - 1_500]
        end = self.start + len(part)
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]  # no page can hold its own hash
        notes = [f"status {page.status}", page.kind]
        if end < len(text):
            notes.append(f"characters {self.start}-{end} of {len(text)}; go on with start={end}")
        elif page.cut:
            notes.append("the page is longer, its rest was not read")
        return f"{page.url} ({', '.join(notes)})\n{quote(part or '(empty)', mark)}"


def is_listed(host: str, policy: Policy) -> bool:
    """Return whether the policy lets this host be read without asking anybody."""
    return any(fnmatchcase(host, pattern.lower()) for pattern in policy.web.hosts)
