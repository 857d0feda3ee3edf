"""Flatten settings files into names and values, so that formatting makes no difference."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import yaml

from agents.analysis.weakening.settings_files import MAKEFILES, TARGETS, VITE
from agents.text.toml import toml_in

Values = dict[str, str]

_TARGET = re.compile(r"^(?P<names>[\w./%:-]+(?:[ \t]+[\w./%:-]+)*?)[ \t]*::?(?!=)(?P<needs>.*)$")
_ASSIGNED = re.compile(
    r"^(?:export\s+|override\s+)*(?P<name>[\w.-]+)[ \t]*(?:::?|\?|\+|!)?=(?P<value>.*)$",
    re.MULTILINE,
)
_WORD = re.compile(r"\$\([\w.-]+\)|[\w./%:-]+")
_JSON_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\])*\")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(r",(?=\s*[}\]])")
_TEST_KEY = re.compile(r"(?<![\w.$-])[\"']?test[\"']?\s*:\s*\{")
_SCRIPT_TOKEN = re.compile(
    r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/|[{}]",
    re.DOTALL,
)
_COMMENT = re.compile(r"^\s*(#|//|;|\*|/\*|<!--)")
DEEPEST = 40
MOST_VALUES = 50_000
LONGEST = 300_000  # characters
MOST_COMMENTS = 2_000


class Unparsable(ValueError):
    """The file is not what its name says."""


def read_values(path: str, text: str) -> Values:
    """Return the settings of a file by dotted name. Raises Unparsable."""
    name = PurePosixPath(path).name
    if len(text) > LONGEST or text.count("/*") > MOST_COMMENTS:
        raise Unparsable("it is too large")
    try:
        if MAKEFILES.fullmatch(name) and not name.endswith(("yml", "yaml")):
            return dict(_read_check_targets(text))
        if VITE.fullmatch(name):
            return dict(_read_test_block(text))
        return dict(_flat(_document(name, text)))
    except (ValueError, RecursionError, configparser.Error, yaml.YAMLError) as error:
        raise Unparsable(str(error)) from error


def _document(name: str, text: str) -> object:
    if name.endswith((".toml",)):
        return toml_in(text)
    if name.endswith((".yml", ".yaml")) or name in (".clang-tidy", ".yamllint"):
        return _Yaml(text).documents()
    if name.endswith((".json", ".jsonc", ".json5")) or name in (".eslintrc", ".prettierrc"):
        return _json(text)
    if name.endswith((".ini", ".cfg", "rc")) or name in (".flake8", ".importlinter", ".bandit"):
        return _sections(text)
    return {"line": [" ".join(line.split()) for line in _lines(text)]}


class _Yaml:
    """YAML as plain values: nothing is made of its tags, and aliases cannot blow it up."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = MOST_VALUES

    def documents(self) -> list[object]:
        """Return every document of it."""
        return [self._plain(part) for part in yaml.compose_all(self._text, yaml.SafeLoader)]

    def _plain(self, part: yaml.Node | None) -> object:
        self._left -= 1
        if self._left < 0:
            raise ValueError("it has too many values")
        if isinstance(part, yaml.MappingNode):
            return {str(key.value): self._plain(value) for key, value in part.value}
        if isinstance(part, yaml.SequenceNode):
            return [self._plain(each) for each in part.value]
        return str(part.value) if part is not None else ""


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        bare = _JSON_COMMENT.sub(lambda found: found[1] or "", text)
        return json.loads(_LAST_COMMA.sub("", bare))


def _sections(text: str) -> object:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.MissingSectionHeaderError:
        return {"line": [" ".join(line.split()) for line in _lines(text)]}
    return {
        name: {key: " ".join((value or "").split()) for key, value in parser.items(name)}
        for name in parser.sections()
    }


def _read_check_targets(text: str) -> Iterator[tuple[str, str]]:
    """Yield what the targets of a Makefile that check something need and do, and all they rest on.

    A variable is named like `$(PYTEST)`.
    """
    every = dict(_targets(text))
    assigned = _ASSIGNED.finditer(text)
    every |= {f"$({each['name']})": " ".join(each["value"].split()) for each in assigned}
    wanted = [name for name in every if TARGETS.fullmatch(name)]
    seen = set(wanted)
    for name in wanted:  # grows while it is read
        yield name, every[name]
        if name == "all":  # it builds as well
            continue
        words = _WORD.findall(every[name].replace("{", "(").replace("}", ")"))
        fresh = [word for word in dict.fromkeys(words) if word in every and word not in seen]
        seen.update(fresh)
        wanted += fresh


def _targets(text: str) -> Iterator[tuple[str, str]]:
    """Yield what each target of a Makefile needs and does."""
    names: list[str] = []
    said: list[str] = []
    for line in [*_lines(text), "end:"]:
        found = _TARGET.match(line) if not line[:1].isspace() else None
        if found is None and line[:1].isspace():
            said.append(" ".join(line.split()))
            continue
        yield from ((name, "\n".join(said)) for name in names)
        names = found["names"].split() if found and found["names"] != ".PHONY" else []
        said = [" ".join(found["needs"].split())] if found else []


def _read_test_block(text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands below `test` in a script that exports settings; nothing else of it."""
    lines: list[str] = []
    end = 0
    while found := _TEST_KEY.search(text, end):
        end, depth = len(text), 1
        for token in _SCRIPT_TOKEN.finditer(text, found.end()):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if not depth:
                end = token.start()
                break
        lines += [" ".join(line.split()) for line in _lines(text[found.end() : end])]
    if lines:
        yield "test", "\n".join(lines)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not _COMMENT.match(line)]


def _flat(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > DEEPEST:
        raise ValueError("it is nested too deeply")
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for at, inner in enumerate(value):
            yield from _flat(inner, f"{name}[{at}]", depth + 1)
    elif isinstance(value, list):
        yield name, "\n".join(str(each) for each in value)
    else:
        yield name, str(value)
