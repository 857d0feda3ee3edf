"""Find words that GitHub acts on: mentions, references, closing keywords, commands, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agents.text.characters import JOINER

# https://docs.github.com/get-started/writing-on-github/working-with-advanced-formatting/writing-mathematical-expressions
_MATH = r"(?<![\w$])\$(?![\s$])[^$]*(?<![\s$])\$(?!\w)|\$\$[^$]+\$\$"
_LIVE = re.compile(
    rf"""(?P<url>(?:https?|ftp)://[^\s<>"`]+|(?<![a-z0-9])www\.[^\s<>"`]+)
      |(?P<math>{_MATH})
      |(?P<reference>(?<![\w/.-])[a-z0-9][\w.-]*(?:/[\w.-]+)?(?:\#\d+|@[0-9a-f]{{7,40}})\b)
      |(?P<mention>(?<![a-z0-9_])@(?P<login>[a-z0-9][a-z0-9-]*)(?P<team>/?))""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_SPACE = r"[\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000:]*"
# https://docs.github.com/issues/tracking-your-work-with-issues/linking-a-pull-request-to-an-issue
_CLOSING = re.compile(
    rf"""(?<![a-z0-9_])(?P<word>close[sd]?|fix(?:e[sd])?|resolve[sd]?){_SPACE}
      (?P<place>https?://\S{{1,200}}?/(?:issues|pull)/
        |(?:[\w.-]{{1,100}}(?:/[\w.-]{{1,100}})?)?\#|gh-)(?P<number>\d+)""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_COMMAND = re.compile(r"^[^\S\n]*(?P<slash>/)(?=[A-Za-z][\w-]*(?:\s|$))", re.MULTILINE)
_TRAILING = ".,;:!?'*_~)]}"
# Leads elsewhere than it seems to.
_DEVIOUS = re.compile(
    r"[^!-~]|[@\\\[\]{}|^]|/\.\.|\.\./|%2e|://.*://|(?<![a-z0-9])www\.", re.IGNORECASE
)
ADVISORIES = "https://github.com/advisories/"
"""The pages of GitHub's public advisories, also for an Enterprise Server."""
_ADVISORY = re.compile(r"GHSA(?:-[23456789cfghjmpqrvwx]{4}){3}", re.ASCII)
_RELATIVE = re.compile(r"(?:#|[\w-])[\w./#%-]*", re.ASCII)


def is_advisory(ident: str) -> bool:
    """Return whether this is an id of GitHub's advisories, and nothing besides."""
    return _ADVISORY.fullmatch(ident) is not None


@dataclass(frozen=True)
class AllowedEffects:
    """What published text may set off."""

    repository_url: str = ""
    """Like `https://github.com/octo/parse`: links below it stay alive."""
    mentions: frozenset[str] = frozenset()
    """Logins that may be mentioned."""
    closes: frozenset[int] = frozenset()
    """Numbers of this repository's issues that may be closed."""

    @property
    def full_name(self) -> str:
        """Return `owner/name`."""
        return "/".join(self.repository_url.rstrip("/").split("/")[-2:])

    def link(self, href: str) -> bool:
        """Return whether a link may stay alive.

        Into the repository, within the page, or to one advisory: its page is GitHub's own, and an
        id has no room to carry anything out.
        """
        if _DEVIOUS.search(href):
            return False
        if href.startswith(ADVISORIES) and is_advisory(href.removeprefix(ADVISORIES)):
            return True
        own = self.repository_url.rstrip("/").casefold()
        below = href.casefold().removeprefix(own)
        if own and below != href.casefold():
            return below == "" or below[0] in "/#?"
        return _RELATIVE.fullmatch(href) is not None

    def mention(self, login: str) -> bool:
        """Return whether this account may be mentioned."""
        return login.casefold() in {name.casefold() for name in self.mentions}

    def may_close(self, place: str, number: int) -> bool:
        """Return whether this issue may be closed; `place` is what stands before its number."""
        own = {"#", "gh-"}
        if self.repository_url:
            url = self.repository_url.rstrip("/")
            own |= {f"{self.full_name}#".casefold()}
            own |= {f"{url}/{kind}/".casefold() for kind in ("issues", "pull")}
        return number in self.closes and place.casefold() in own


@dataclass(frozen=True)
class Piece:
    """A part of a text: `text` as it is, `url` an allowed link, `code` what must not live."""

    kind: Literal["text", "url", "code"]
    text: str
    changed: bool = False
    """Whether it differs from what was there."""


def split_pieces(text: str, allowed: AllowedEffects) -> Iterator[Piece]:
    """Yield the text in parts: foreign links, references and math as code, mentions defused."""
    at = 0
    for found in _LIVE.finditer(text):
        if found.start() > at:
            yield Piece("text", text[at : found.start()])
        piece, at = _defuse_match(found, allowed)
        yield piece
    if at < len(text):
        yield Piece("text", text[at:])


def _defuse_match(found: re.Match[str], allowed: AllowedEffects) -> tuple[Piece, int]:
    """Return the part as it may stand, and where it ends."""
    if found["url"]:
        url = found["url"].rstrip(_TRAILING) or found["url"]
        end = found.start() + len(url)
        own = "://" in url and allowed.link(url)
        return Piece("url", url) if own else Piece("code", shown_url(url), True), end
    if found["math"]:
        return Piece("code", found[0], True), found.end()
    if found["reference"]:
        own = found["reference"].casefold().startswith(f"{allowed.full_name.casefold()}#")
        kind: Literal["text", "code"] = "text" if own else "code"
        return Piece(kind, found["reference"], not own), found.end()
    if allowed.mention(found["login"]) and not found["team"]:
        return Piece("text", found[0]), found.end()
    return Piece("text", f"@{JOINER}{found[0][1:]}", True), found.end()


def shown_url(url: str) -> str:
    """Return a foreign URL for display: without query and fragment, which can carry data out."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0].replace("`", "")
    return bare if bare == url else f"{bare}…"


def contains_math(text: str) -> bool:
    """Return whether GitHub would set a part of the text as a formula."""
    return re.search(_MATH, text) is not None


def find_triggers(text: str, allowed: AllowedEffects) -> list[int]:
    """Return where a word joiner must go so that no command is given and no other issue closed."""
    commands = [found.start("slash") for found in _COMMAND.finditer(text)]
    return sorted(commands + find_closings(text, allowed))


def find_closings(text: str, allowed: AllowedEffects) -> list[int]:
    """Return where the words end that would close an issue which they must not close."""
    return [
        found.end("word")
        for found in _CLOSING.finditer(text)
        if not allowed.may_close(found["place"], int(found["number"]))
    ]
