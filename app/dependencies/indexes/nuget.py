"""NuGet's package sources, read from its configuration files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add_mirror
from app.dependencies.indexes.result import Configured

NUGET = "https://api.nuget.org/v3/index.json"

_VARIABLE = re.compile(r"%([A-Za-z_][A-Za-z0-9_]*)%")
_CREDENTIALS = "nugetpackagesourcecredentials_"
_ENCRYPTED = (
    "The password of NuGet's source `{name}` is encrypted, and was not used: set-ups take"
    " `ClearTextPassword`, or ~/.netrc."
)


@dataclass
class _Sources:
    """The sources of all files, the nearest file's last."""

    urls: dict[str, str] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    logins: dict[str, dict[str, str]] = field(default_factory=dict)


async def nuget_indexes(operator: Operator) -> Configured:
    """Return the sources that NuGet is configured for, or its public one.

    https://learn.microsoft.com/en-us/nuget/reference/nuget-config-file
    """
    made = Configured("dotnet")
    sources = _read_sources(operator)
    enabled = {n: url for n, url in sources.urls.items() if n.lower() not in sources.disabled}
    public = not enabled or NUGET in enabled.values()
    replaced = False
    for name, url in enabled.items():
        if url == NUGET:
            continue
        publics = () if public or replaced else (NUGET,)
        login = _find_login(made, name, sources.logins.get(name.lower(), {}))
        added = add_mirror(made, operator, url, publics, kind="nuget", login=login)
        replaced = replaced or bool(added and publics)
    if public:
        add_mirror(made, operator, NUGET, kind="nuget")
    return made


def _find_login(made: Configured, name: str, given: Mapping[str, str]) -> tuple[str, str] | None:
    password = given.get("cleartextpassword", "")
    if given.get("password") and not password:
        made.notes.append(_ENCRYPTED.format(name=name))
    return (given.get("username", ""), password) if password else None


def _read_sources(operator: Operator) -> _Sources:
    made = _Sources()
    for root in operator.xmls(_list_files(operator)):
        for each in root.iterfind("packageSources/*"):
            if each.tag == "clear":
                made.urls.clear()
            elif each.tag == "add":
                made.urls[each.get("key", "")] = _expand(each.get("value", ""), operator)
        for each in root.iterfind("disabledPackageSources/add"):
            if each.get("value", "").lower() == "true":
                made.disabled.add(each.get("key", "").lower())
        for source in root.iterfind("packageSourceCredentials/*"):
            name = re.sub(r"_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m[1], 16)), source.tag)
            made.logins[name.lower()] = dict(_list_parts(source, operator))
    for variable, text in operator.environ.items():
        if variable.lower().startswith(_CREDENTIALS):
            parts = (part.partition("=") for part in text.split(";"))
            given = {key.strip().lower(): value for key, _, value in parts}
            given["cleartextpassword"] = given.pop("password", "")
            made.logins[variable[len(_CREDENTIALS) :].lower()] = given
    return made


def _list_parts(source: Element, operator: Operator) -> Iterator[tuple[str, str]]:
    for each in source.iterfind("add"):
        yield each.get("key", "").lower(), _expand(each.get("value", ""), operator)


def _list_files(operator: Operator) -> list[Path]:
    """Return the files that apply everywhere, the machine's before the user's."""
    common = Path(operator.environ.get("NUGET_COMMON_APPLICATION_DATA") or "/etc/opt")
    own = (operator.config / "NuGet", operator.home / ".nuget/NuGet")
    named = [path for folder in own for path in sorted(folder.glob("[Nn]u[Gg]et.[Cc]onfig"))]
    return [*sorted((common / "NuGet/Config").glob("*.[Cc]onfig")), *named[:1]]


def _expand(text: str, operator: Operator) -> str:
    return _VARIABLE.sub(lambda found: operator.environ.get(found[1], found[0]), text)
