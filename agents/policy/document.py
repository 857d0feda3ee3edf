"""Parse a policy file's YAML into one plain mapping, or the place of the fault.

The file may be anybody's proposal. So it is short, and what makes YAML surprising is refused:
aliases, which can stand for gigabytes, tags, merge keys, and keys that stand there twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

LONGEST = 64_000  # bytes: read without haste in a fraction of a second
DEEPEST = 12  # levels; the policy itself has four
LARGEST = 2**53  # exact in every program that reads it
LONGEST_WORD = 40  # characters of the file that a fault repeats

_PLAIN = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null"))
_DATE = "tag:yaml.org,2002:timestamp"
_MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"
_NOT_TEXT = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class PolicyFault:
    """One thing that is wrong with a policy file, and where; lines and columns begin at 1."""

    line: int
    column: int
    text: str

    def __str__(self) -> str:
        """Return the fault as people read it."""
        return f"line {self.line}, column {self.column}: {self.text}"


class MalformedPolicy(Exception):
    """The text is no policy at all."""

    def __init__(self, fault: PolicyFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True)
class Document:
    """A file that is one mapping: its plain values, and where each of them stands."""

    value: dict[str, Any]
    root: yaml.MappingNode | None
    """None where the file says nothing."""


def read_document(data: bytes) -> Document:
    """Return what the file says. Raises MalformedPolicy."""
    if len(data) > LONGEST:
        raise MalformedPolicy(
            PolicyFault(1, 1, f"the file has {len(data)} bytes; it may have {LONGEST}")
        )
    root = _root(_text(data))
    if root is None:
        return Document({}, None)
    if not isinstance(root, yaml.MappingNode):
        raise MalformedPolicy(fault_at(root, "the file has to be made of keys, like `budget:`"))
    return Document(_mapping(root), root)


def fault_at(part: yaml.Node, text: str) -> PolicyFault:
    """Return the fault that stands where this part begins."""
    return PolicyFault(part.start_mark.line + 1, part.start_mark.column + 1, text)


def quote_word(word: str) -> str:
    """Return a word of the file so that nothing in it is read as markup."""
    plain = "".join(each if each.isprintable() and each != "`" else "?" for each in word)
    return f"`{plain if len(plain) <= LONGEST_WORD else plain[: LONGEST_WORD - 1] + '…'}`"


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        raise MalformedPolicy(
            PolicyFault(*_place(before.decode("utf-8", "replace")), _NO_UTF8)
        ) from None
    if odd := _NOT_TEXT.search(text):
        number = f"U+{ord(odd.group()):04X}"
        raise MalformedPolicy(
            PolicyFault(
                *_place(text[: odd.start()]), f"the character {number} cannot stand in YAML"
            )
        )
    return text


def _place(before: str) -> tuple[int, int]:
    """Return line and column of what comes after this text."""
    lines = before.replace("\r\n", "\n").split("\n")
    return len(lines), len(lines[-1]) + 1


def _root(text: str) -> yaml.Node | None:
    try:
        _require_plain(text)
        root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise MalformedPolicy(
            PolicyFault(line, column, _describe_error(error, text, mark))
        ) from None
    return root


def _require_plain(text: str) -> None:
    """Look at the text from its beginning to its end, without making anything of it yet."""
    loader = yaml.SafeLoader(text)
    try:
        _look_through(loader)
    except (ValueError, OverflowError):  # what the parser takes for a number, and Python does not
        mark = loader.get_mark()
        raise MalformedPolicy(PolicyFault(mark.line + 1, mark.column + 1, _NO_NUMBER)) from None


def _look_through(loader: yaml.SafeLoader) -> None:
    depth, documents = 0, 0
    while loader.check_event():
        event = loader.get_event()  # type: ignore[no-untyped-call] # its stubs have no types
        if isinstance(event, yaml.AliasEvent):
            word = quote_word(f"*{event.anchor}")
            raise _faulty(event, f"aliases like {word} are not read: repeat what it stands for")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _faulty(event, f"it is nested deeper than {DEEPEST} levels")
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise _faulty(event, "a second document begins here (`---`); the policy is one")


def _faulty(event: yaml.Event, text: str) -> MalformedPolicy:
    mark = event.start_mark
    assert mark is not None
    return MalformedPolicy(PolicyFault(mark.line + 1, mark.column + 1, text))


def _describe_error(error: yaml.MarkedYAMLError, text: str, mark: yaml.Mark | None) -> str:
    """Return what is wrong, in words of ours where the parser's help nobody."""
    problem = error.problem or error.context or "it cannot be read"
    line = text.splitlines()[mark.line] if mark and mark.line < len(text.splitlines()) else ""
    if "'\\t'" in problem or "\t" in line[: len(line) - len(line.lstrip())]:
        return "a tab stands where YAML wants spaces"
    return f"it is not YAML: {problem}"


def _value(part: yaml.Node) -> Any:
    if isinstance(part, yaml.MappingNode):
        return _mapping(part)
    if isinstance(part, yaml.SequenceNode):
        if part.tag != "tag:yaml.org,2002:seq":
            raise MalformedPolicy(fault_at(part, _describe_tag(part)))
        return tuple(_value(each) for each in part.value)
    _require_text(part)
    if part.tag == _DATE:
        return part.value
    if part.tag not in _PLAIN:
        raise MalformedPolicy(fault_at(part, _describe_tag(part)))
    try:
        value = SafeConstructor().construct_object(part)
    except (ValueError, OverflowError, LookupError):
        raise MalformedPolicy(fault_at(part, "this value cannot be read")) from None
    if isinstance(value, int) and abs(value) > LARGEST:
        raise MalformedPolicy(fault_at(part, f"this number is too large; the largest is {LARGEST}"))
    return value


def _require_text(part: yaml.Node) -> None:
    """Refuse what only an escape can bring in: no command, no database, no page could take it."""
    if odd := _NOT_TEXT.search(part.value):
        number = f"U+{ord(odd.group()):04X}"
        raise MalformedPolicy(fault_at(part, f"the character {number} cannot stand here"))


def _mapping(part: yaml.MappingNode) -> dict[str, Any]:
    if part.tag != "tag:yaml.org,2002:map":
        raise MalformedPolicy(fault_at(part, _describe_tag(part)))
    found: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, value in pairs(part):
        word = _key(key)
        if word in lines:
            twice = (
                f"{quote_word(word)} stands here a second time; the first is in line {lines[word]}"
            )
            raise MalformedPolicy(fault_at(key, twice))
        lines[word] = key.start_mark.line + 1
        found[word] = _value(value)
    return found


def _key(part: yaml.Node) -> str:
    """Return a key as it is written: `on` is a word here, whatever YAML makes of it."""
    if not isinstance(part, yaml.ScalarNode):
        raise MalformedPolicy(fault_at(part, "a key has to be a word"))
    if part.tag == _MERGE:
        raise MalformedPolicy(fault_at(part, "`<<` is not read: write out what it brings in"))
    _require_text(part)
    return str(part.value)


def pairs(part: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """Yield keys and values."""
    yield from part.value


def _describe_tag(part: yaml.Node) -> str:
    return f"tags like {quote_word(str(part.tag).replace('tag:yaml.org,2002:', '!!'))} are not read"


_NO_NUMBER = "a number stands here that cannot be read"
_NO_UTF8 = "from here on it is not UTF-8"
