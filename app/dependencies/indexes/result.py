"""The package indexes that were found, for one tool and for a whole set-up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from app.dependencies.origins import (
    Key,
    Origin,
    OriginKey,
    ServedPath,
    place_of,
    without_credentials,
)
from app.sandbox.port import Mount

IndexKind = Literal["simple", "links", "npm", "cargo", "go", "nuget", "composer", "plain"]
"""How an index answers: Python's simple API, a page of links, the way of another tool, or unasked.

Those of Maven, RubyGems and Hex have their files on their own host, and are not asked for others.
"""


@dataclass(frozen=True)
class Index:
    """One index that a tool is configured for."""

    url: str
    """Without credentials."""
    kind: IndexKind
    tool: str
    keys: tuple[Key, ...] = field(default=(), repr=False)
    stands_for: tuple[str, ...] = ()
    """The public indexes that it mirrors: what tools ask those for, the proxy reads from here."""

    def list_served(self) -> Iterable[tuple[OriginKey, ServedPath]]:
        """Return the public indexes' hosts, each with what of it is read from here."""
        for public in self.stands_for:
            path = urlsplit(public).path or "/"
            url = f"{self.url.rstrip('/')}/" if path.endswith("/") else self.url
            yield place_of(public), ServedPath(path, url)


@dataclass
class Configured:
    """One tool's indexes, and the settings by which it uses them inside a sandbox."""

    tool: str
    indexes: list[Index] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Files beside the proxy's socket: name to text."""
    folders: list[Path] = field(default_factory=list)
    """Indexes that are folders of this machine."""
    certificates: list[str] = field(default_factory=list)
    """Files of authorities that the tool trusts."""
    authorities: list[str] = field(default_factory=list)
    """The same as PEM texts."""
    notes: list[str] = field(default_factory=list)
    """What the operator should know."""


@dataclass(frozen=True)
class Indexes:
    """All indexes of a set-up; no secret in it is visible to a sandbox."""

    allowed: tuple[Origin, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    certificates: tuple[str, ...] = ()
    """PEM texts of authorities that are trusted beside the machine's own."""
    notes: tuple[str, ...] = ()


def index_of(url: str, kind: IndexKind, tool: str, keys: Iterable[Key] = ()) -> Index:
    """Return the index at this URL; credentials in it become a key. Raises ValueError."""
    clean, given = without_credentials(url)
    place_of(clean)
    if given is not None and any(given):
        keys = (Key.basic(key_path(clean, kind), *given), *keys)
    return Index(clean, kind, tool, tuple(keys))


def key_path(url: str, kind: IndexKind) -> str:
    """Return the path below which a credential of this index is sent.

    A Python index has its files beside its pages: `/api/NAME/simple` and `/api/NAME/packages`.
    Other indexes have them below their own address.
    """
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    pieces = [piece for piece in path.split("/") if piece]
    if kind == "simple":
        pieces = pieces[:-1]
    return "/" + "".join(f"{piece}/" for piece in pieces)
