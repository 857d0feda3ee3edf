"""Split the URLs of a tool's configuration into index, credentials and local folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.result import Configured, Index, IndexKind, index_of, key_path
from app.dependencies.origins import (
    PORTS,
    Key,
    place_of,
    remove_credentials,
    without_credentials,
)


def add(
    made: Configured,
    operator: Operator,
    urls: Iterable[str],
    kind: IndexKind,
    login: tuple[str, str] | None = None,
) -> list[str]:
    """Add these indexes; return their URLs for tools in a sandbox, without credentials."""
    added = []
    for url in filter(None, urls):
        try:
            added.append(_add(made, operator, url, kind, login))
        except ValueError as error:
            made.notes.append(
                f"{made.tool} is configured for `{remove_credentials(url)}`, left out: {error}."
            )
    return added


def add_mirror(
    made: Configured,
    operator: Operator,
    url: str,
    publics: tuple[str, ...] = (),
    *,
    kind: IndexKind = "plain",
    login: tuple[str, str] | None = None,
    token: str = "",
) -> bool:
    """Add a server of the operator's that answers for these public indexes; tell whether it is one.

    Sandboxes go on asking for the public names, so that they learn neither its name nor how it is
    opened. Without `publics` it is an index of its own.
    """
    if urlsplit(url).scheme not in PORTS:
        made.notes.append(
            f"{made.tool} is configured for `{remove_credentials(url)}`, left out: set-ups reach"
            " what a server has by http or https."
        )
        return False
    before = len(made.indexes)
    add(made, operator, [url], kind, login)
    for number, index in enumerate(made.indexes[before:], before):
        keys = (Key.bearer(key_path(index.url, kind), token),) if token else index.keys
        made.indexes[number] = replace(index, stands_for=publics, keys=keys)
    return len(made.indexes) > before


def plain_hosts(made: Configured) -> list[str]:
    """Return host and port of each index without TLS: pip must be told to trust them."""
    places = [place_of(index.url) for index in made.indexes]
    return [f"{place.host}:{place.port}" for place in places if place.scheme == "http"]


def _add(
    made: Configured,
    operator: Operator,
    url: str,
    kind: IndexKind,
    login: tuple[str, str] | None,
) -> str:
    parts = urlsplit(url)
    if parts.scheme == "file" or url.startswith(("/", "~")):
        folder = Path(unquote(parts.path)) if parts.scheme == "file" else Path(url)
        made.folders.append(folder.expanduser())
        return url
    index = _with_login(index_of(url, kind, made.tool), operator, login)
    made.indexes.append(index)
    return index.url


def _with_login(index: Index, operator: Operator, login: tuple[str, str] | None) -> Index:
    """Return the index with what else the operator keeps to open it."""
    login = login or operator.login(place_of(index.url).host)
    if index.keys or login is None:
        return index
    key = Key.basic(key_path(index.url, index.kind), *login)
    return replace(index, url=without_credentials(index.url)[0], keys=(key,))
