"""The packages that the manifests and lock files of Python projects take from an index."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agents.analysis.repository_files import strings, table
from agents.text.toml import toml_in

LONGEST = 4_000_000  # bytes of a lock file
LONGEST_INI = 200_000

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]{0,99})\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)
_SPECIFIER = re.compile(r"(?:[~<>=!(;#\\,]|$)")
_INI_KEYS = ("install_requires", "tests_require", "setup_requires", "deps")
_OTHER_INDEX = re.compile(r"\s*(?:--(?:extra-)?index-url|-i|--find-links|-f)\b")


@dataclass
class PackageNames:
    """Names of one tool, and those of them that come from elsewhere."""

    tool: str
    named: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)

    def add(self, name: object, *, elsewhere: bool = False) -> None:
        """Take a name in."""
        if isinstance(name, str):
            (self.elsewhere if elsewhere else self.named).add(normalize(self.tool, name))


def normalize(tool: str, name: str) -> str:
    """Return the name as the tool compares names: PEP 503 for Python, as it stands for npm."""
    return re.sub(r"[-_.]+", "-", name).lower() if tool == "pip" else name


def read_python(name: str, path: str, text: str, names: PackageNames) -> None:
    """Take in what a manifest or lock file of Python names."""
    if name.endswith((".txt", ".in")):
        lines = text.splitlines()
        _add_requirements(lines, names, elsewhere=any(map(_OTHER_INDEX.match, lines)))
    elif name == "Pipfile.lock":
        lock = read_json(text)
        for section in ("default", "develop"):
            _add_table(table(lock, section), names)
    elif name in ("setup.cfg", "tox.ini"):
        _add_requirements(_list_ini_lines(text), names)
    elif name.endswith(".lock"):
        for each in _list_tables(_read_toml(text).get("package")):
            names.add(each.get("name"), elsewhere=_is_from_elsewhere(each))
    elif path:
        _read_pyproject(_read_toml(text), names)


def _read_pyproject(document: dict[str, Any], names: PackageNames) -> None:
    """Take in what `pyproject.toml` or `Pipfile` name."""
    project = table(document, "project")
    names.add(project.get("name"), elsewhere=True)
    names.add(table(document, "tool", "poetry").get("name"), elsewhere=True)
    _add_requirements(strings(project.get("dependencies")), names)
    lists = (*table(project, "optional-dependencies").values(),)
    lists += (*table(document, "dependency-groups").values(),)
    lists += (table(document, "tool", "uv").get("dev-dependencies"),)
    for each in lists:
        _add_requirements(strings(each), names)
    for source in table(document, "tool", "uv", "sources"):
        names.add(source, elsewhere=True)
    poetry = table(document, "tool", "poetry")
    groups = [table(each, "dependencies") for each in table(poetry, "group").values()]
    pipfile = [table(document, "packages"), table(document, "dev-packages")]
    for each in (
        table(poetry, "dependencies"),
        table(poetry, "dev-dependencies"),
        *groups,
        *pipfile,
    ):
        _add_table(each, names)


def _add_requirements(
    lines: Iterable[str], names: PackageNames, *, elsewhere: bool = False
) -> None:
    for line in lines:
        found = _NAME.fullmatch(line[:500])
        if found:
            names.add(found[1], elsewhere=elsewhere or not _SPECIFIER.match(found[2]))


def _add_table(packages: dict[str, object], names: PackageNames) -> None:
    for name, wanted in packages.items():
        foreign = table(wanted).keys() & {
            "git",
            "path",
            "url",
            "file",
            "ref",
            "editable",
            "source",
            "index",
        }
        names.add(name, elsewhere=bool(foreign))


def _is_from_elsewhere(package: dict[str, Any]) -> bool:
    source = table(package, "source")
    kinds = source.keys() & {"git", "url", "path", "editable", "virtual", "directory"}
    if "type" in source:  # Poetry's lock
        return True
    return bool(kinds)


def _list_ini_lines(text: str) -> Iterator[str]:
    """Yield the requirements that setup.cfg and tox.ini list."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text if len(text) <= LONGEST_INI else "")
    except configparser.Error:
        return
    for name in parser.sections():
        keys = parser.options(name) if name == "options.extras_require" else _INI_KEYS
        for key in keys:
            yield from parser.get(name, key, fallback="").splitlines()


def read_json(text: str) -> dict[str, Any]:
    """Return the object that a JSON text holds; of anything else, an empty one."""
    try:
        document = json.loads(text) if len(text) <= LONGEST else {}
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return toml_in(text) if len(text) <= LONGEST else {}
    except ValueError:
        return {}


def _list_tables(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
