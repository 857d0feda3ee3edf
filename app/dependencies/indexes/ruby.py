"""The mirrors that Bundler is configured for, and RubyGems' sources, read from their own files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add_mirror
from app.dependencies.indexes.result import Configured
from app.dependencies.origins import place_of, remove_credentials

RUBYGEMS = ("https://rubygems.org/", "https://index.rubygems.org/")
"""The public index, and where Bundler reads its list."""
PLAIN = ("http://rubygems.org/", "http://index.rubygems.org/")
"""As old Gemfiles name them: the proxy asks for the same by TLS."""

_MIRROR = "BUNDLE_MIRROR__"


async def ruby_indexes(operator: Operator) -> Configured:
    """Return the mirrors that Bundler is configured for; without any, RubyGems' sources.

    https://bundler.io/man/bundle-config.1.html#MIRRORS-OF-GEM-SOURCES
    """
    made = Configured("bundle")
    options = _read_options(operator)
    mirrored = {_find_source(name): value for name, value in options.items() if _is_mirror(name)}
    whole = mirrored.pop("all", "") or mirrored.pop(RUBYGEMS[0], "")
    sources = _read_sources(operator)
    if not whole and sources and not any(map(_is_public, sources)):
        whole = sources.pop(0)
    if whole:
        _add(made, operator, options, whole, (*RUBYGEMS, *PLAIN))
    for url, plain in zip(RUBYGEMS, PLAIN, strict=True) if not whole else ():
        add_mirror(made, operator, url, (plain,))
    for source, url in mirrored.items():
        _add(made, operator, options, url, (source,))
    for url in sources:
        if not _is_public(url):
            _add(made, operator, options, url, ())
    return made


def _add(
    made: Configured,
    operator: Operator,
    options: Mapping[str, str],
    url: str,
    publics: tuple[str, ...],
) -> None:
    """Add one server with the login that Bundler keeps for its host."""
    try:
        host = place_of(remove_credentials(url)).host
    except ValueError:
        host = ""
    name = f"BUNDLE_{host.upper().replace('-', '___').replace('.', '__')}"
    user, _, password = options.get(name, "").partition(":")
    add_mirror(made, operator, url, publics, login=(user, password) if user else None)


def _read_options(operator: Operator) -> dict[str, str]:
    """Return Bundler's options under the names of its variables, which win over its file."""
    environ = operator.environ
    home = Path(environ.get("BUNDLE_USER_HOME") or operator.home / ".bundle")
    found = _read_yaml(Path(environ.get("BUNDLE_USER_CONFIG") or home / "config"))
    options = {str(name): str(value) for name, value in found.items()}
    return options | {name: each for name, each in environ.items() if name.startswith("BUNDLE_")}


def _is_mirror(name: str) -> bool:
    return name.startswith(_MIRROR) and not name.upper().endswith("__FALLBACK_TIMEOUT/")


def _find_source(name: str) -> str:
    """Return the source that a mirror's option is about: `all`, or its URL with a slash at the end.

    Bundler writes `-` as three underscores and `.` as two, and everything in capitals.
    """
    source = name[len(_MIRROR) :].lower().replace("___", "-").replace("__", ".")
    return source if source == "all" else f"{source.rstrip('/')}/"


def _read_sources(operator: Operator) -> list[str]:
    """Return the sources of the user's gemrc, or of the machine's.

    https://guides.rubygems.org/command-reference/#gem-environment
    """
    named = operator.environ.get("GEMRC", "").split(":")
    paths = [Path(each) for each in named if each]
    for path in (
        *paths,
        operator.home / ".gemrc",
        operator.config / "gem/gemrc",
        Path("/etc/gemrc"),
    ):
        found = _read_yaml(path)
        listed = list(_list_texts(found.get(":sources", found.get("sources"))))
        if listed:
            return listed
    return []


def _is_public(url: str) -> bool:
    return f"{url.rstrip('/')}/" in RUBYGEMS


def _list_texts(listed: object) -> Iterator[str]:
    yield from (
        each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, str)
    )


def _read_yaml(path: Path) -> dict[Any, Any]:
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}
