"""Uv's indexes, read from its variables and files, since uv has no command for it.

And the mirrors that uv and mise fetch toolchains from: an operator who names one lets set-ups read
from it, as with every index of their own tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add
from app.dependencies.indexes.pip import default_index, pip_options
from app.dependencies.indexes.result import Configured

_UV_MIRRORS = ("UV_PYTHON_INSTALL_MIRROR", "UV_PYTHON_DOWNLOADS_JSON_URL")
_MISE_MIRRORS = ("MISE_NODE_MIRROR_URL",)


class _Entry(NamedTuple):
    """One index of uv's configuration."""

    name: str
    url: str
    default: bool


async def uv_indexes(operator: Operator) -> Configured:
    """Return the indexes that uv is configured for; without any, pip's.

    uv reads no file of pip's, but an operator with a mirror for pip wants no other way out.
    https://docs.astral.sh/uv/concepts/indexes/
    """
    made = Configured("uv")
    entries = [*_variables(operator.environ), *_files(operator)]
    links = operator.environ.get("UV_FIND_LINKS", "").replace(",", " ").split()
    if not entries:
        options = await pip_options(operator)
        entries = [_Entry("", url, False) for url in options.get("extra-index-url", "").split()]
        entries += [_Entry("", options["index-url"], True)] if "index-url" in options else []
        links = links or options.get("find-links", "").split()
        made.environment["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # which is how pip chooses
    if not any(entry.default for entry in entries):
        entries.append(_Entry("", await default_index(operator) or "", True))
    first = next(entry for entry in entries if entry.default)
    others = [entry for entry in entries if not entry.default]
    listed = {
        "UV_DEFAULT_INDEX": " ".join(_add(made, operator, first)),
        "UV_INDEX": " ".join(text for entry in others for text in _add(made, operator, entry)),
        "UV_FIND_LINKS": ",".join(add(made, operator, links, "links")),
    }
    made.environment |= {name: value for name, value in listed.items() if value}
    if "UV_INDEX_STRATEGY" in operator.environ:
        made.environment["UV_INDEX_STRATEGY"] = operator.environ["UV_INDEX_STRATEGY"]
    made.environment["UV_PYTHON_DOWNLOADS"] = "never"
    return made


def _add(made: Configured, operator: Operator, entry: _Entry) -> list[str]:
    """Add one index; return it as uv's variables name it."""
    login = _login(operator.environ, entry.name)
    named = f"{entry.name}=" if entry.name and not entry.default else ""
    return [named + url for url in add(made, operator, [entry.url], "simple", login)]


def _variables(environ: Mapping[str, str]) -> Iterator[_Entry]:
    for variable in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        if environ.get(variable):
            yield _entry(environ[variable], default=True)
    for variable in ("UV_INDEX", "UV_EXTRA_INDEX_URL"):
        for text in environ.get(variable, "").split():
            yield _entry(text, default=False)


def _files(operator: Operator) -> Iterator[_Entry]:
    environ = operator.environ
    if environ.get("UV_NO_CONFIG"):
        return
    system = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    paths = [operator.config / "uv/uv.toml"]
    paths += [Path(folder, "uv/uv.toml") for folder in system] + [Path("/etc/uv/uv.toml")]
    named = environ.get("UV_CONFIG_FILE")
    for settings in operator.tomls([Path(named)] if named else paths):
        yield from _file(settings)


def _file(settings: Mapping[str, Any]) -> Iterator[_Entry]:
    for entry in settings.get("index") or ():
        name, url = str(entry.get("name", "")), str(entry.get("url", ""))
        yield _Entry(name, url, bool(entry.get("default")))
    for table in (settings, settings.get("pip") or {}):
        if table.get("index-url"):
            yield _Entry("", str(table["index-url"]), True)
        for url in table.get("extra-index-url") or ():
            yield _Entry("", str(url), False)


def _entry(text: str, *, default: bool) -> _Entry:
    """Return what `name=url` or a URL says; a URL may have an equals sign of its own."""
    name, equals, url = text.partition("=")
    return _Entry(name, url, default) if equals and ":" not in name else _Entry("", text, default)


def _login(environ: Mapping[str, str], name: str) -> tuple[str, str] | None:
    """Return the user and password that uv keeps in variables for a named index."""
    variable = f"UV_INDEX_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    login = environ.get(f"{variable}_USERNAME", ""), environ.get(f"{variable}_PASSWORD", "")
    return login if name and any(login) else None


async def uv_mirrors(operator: Operator) -> Configured:
    """Return the mirrors of the Pythons that uv installs, and of its table of them.

    https://docs.astral.sh/uv/reference/environment/#uv_python_install_mirror
    """
    return _read_mirrors("uv", operator, _UV_MIRRORS)


async def mise_mirrors(operator: Operator) -> Configured:
    """Return the mirror of Node.js that mise asks.

    https://mise.jdx.dev/lang/node.html#settings
    """
    return _read_mirrors("mise", operator, _MISE_MIRRORS)


def _read_mirrors(tool: str, operator: Operator, variables: Iterable[str]) -> Configured:
    made = Configured(tool)
    for name in variables:
        for url in add(made, operator, [operator.environ.get(name, "")], "plain"):
            made.environment[name] = url
    return made
