"""Composer's repositories, read from the configuration in its home."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add_mirror
from app.dependencies.indexes.result import Configured
from app.dependencies.loopback_bridge import INSIDE
from app.dependencies.origins import place_of, remove_credentials

PACKAGIST = ("https://repo.packagist.org/", "https://packagist.org/")

CONFIG = "config.json"
"""The file beside the proxy's socket that is Composer's own configuration inside."""

_PUBLIC_NAMES = frozenset({"packagist", "packagist.org"})
_LEFT_OUT = "Composer is configured for a repository of type `{type}`, which set-ups do not use."
_PERSONAL = (
    "Composer's tokens for GitHub and the like are not used: they open what no set-up is about."
)


async def composer_indexes(operator: Operator) -> Configured:
    """Return the repositories that Composer is configured for, and Packagist unless it is off.

    https://getcomposer.org/doc/05-repositories.md
    """
    made = Configured("composer")
    home = _find_home(operator)
    logins = _read_json(home / "auth.json") | _parse(operator.environ.get("COMPOSER_AUTH", ""))
    if {"github-oauth", "gitlab-oauth", "gitlab-token", "bitbucket-oauth"} & logins.keys():
        made.notes.append(_PERSONAL)
    urls, public = [], True
    for name, each in _list_entries(_read_json(home / CONFIG).get("repositories")):
        if each is False:
            public = public and name not in _PUBLIC_NAMES
        elif isinstance(each, dict) and each.get("type") == "composer":
            urls.append(str(each.get("url", "")).removesuffix("packages.json"))
        elif isinstance(each, dict):
            made.notes.append(_LEFT_OUT.format(type=str(each.get("type"))[:40]))
    replaced = False
    others = []
    for url in urls:
        stands_for = () if public or replaced else PACKAGIST
        added = _add(made, operator, logins, url, stands_for)
        replaced = replaced or bool(added and stands_for)
        if added and not stands_for:
            others.append(made.indexes[-1].url)
    if public:
        add_mirror(made, operator, PACKAGIST[0], kind="composer")
    if others:
        made.files[CONFIG] = _write_config(others)
        made.environment["COMPOSER_HOME"] = INSIDE
    return made


def _write_config(urls: list[str]) -> str:
    """Return a configuration that adds these repositories to a project's own."""
    return json.dumps({"repositories": [{"type": "composer", "url": url} for url in urls]})


def _add(
    made: Configured,
    operator: Operator,
    logins: Mapping[str, Any],
    url: str,
    publics: tuple[str, ...],
) -> bool:
    """Add one repository with the login that Composer keeps for its host."""
    try:
        host = place_of(remove_credentials(url)).host
    except ValueError:
        host = ""
    basic, bearer = (_table(_table(logins.get("http-basic")).get(host)), logins.get("bearer"))
    login = str(basic.get("username", "")), str(basic.get("password", ""))
    token = _table(bearer).get(host)
    return add_mirror(
        made,
        operator,
        url,
        publics,
        kind="composer",
        login=login if any(login) else None,
        token=token if isinstance(token, str) else "",
    )


def _find_home(operator: Operator) -> Path:
    named = operator.environ.get("COMPOSER_HOME")
    if named:
        return Path(named)
    modern = operator.config / "composer"
    return modern if modern.is_dir() else operator.home / ".composer"


def _list_entries(listed: object) -> Iterator[tuple[str, object]]:
    """Yield names and repositories: Composer takes a table and a list, and switches in both."""
    if isinstance(listed, dict):
        yield from ((str(name), each) for name, each in listed.items())
    for each in listed if isinstance(listed, list) else ():
        off = [name for name, on in each.items() if on is False] if isinstance(each, dict) else []
        yield (off[0], False) if off else ("", each)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return _parse(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}


def _parse(text: str) -> dict[str, Any]:
    try:
        return _table(json.loads(text))
    except ValueError:
        return {}


def _table(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
