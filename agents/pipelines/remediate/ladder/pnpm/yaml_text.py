"""Read pnpm's YAML without aliases or tags, and change it in place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from agents.pipelines.remediate.ladder.npm.files import Table
from agents.pipelines.remediate.ladder.values import Stuck, Unfit

_DEEPEST = 50  # parsing takes minutes where it goes deeper and deeper
_FLAGS = {"true": True, "false": False}
_PLAIN = re.compile(r"[A-Za-z0-9^~][A-Za-z0-9.^~+_/-]*")
_NOT_PLAIN = re.compile(
    r"true|false|yes|no|on|off|null|[0-9_+-]*\.?[0-9_+-]*(e[0-9+-]+)?", re.IGNORECASE
)  # 1.8 is a number, and 1.8.2 is none


def load_yaml(text: str, path: str) -> Table:
    """Return what a file holds; tables, lists, texts and yes or no. Raises Unfit.

    References are refused: a few lines of them can stand for more than any machine can hold.
    """
    try:
        found = _build_document(yaml.parse(text, Loader=yaml.CSafeLoader), path)
    except yaml.YAMLError as error:
        raise Unfit("unsafe", f"`{path}` is not YAML that can be read: {error}") from error
    if not isinstance(found, dict):
        raise Unfit("unsafe", f"`{path}` holds no YAML mapping.")
    return found


def place(text: str, names: tuple[str, ...]) -> tuple[int, int] | None:
    """Return where the value at these names begins and ends, in a file that was loaded."""
    found = yaml.compose(text, Loader=yaml.SafeLoader)
    for name in names:
        values = found.value if isinstance(found, yaml.MappingNode) else []
        found = next((value for key, value in values if key.value == name), None)
    return (found.start_mark.index, found.end_mark.index) if found is not None else None


def replace_scalar(text: str, names: tuple[str, ...], value: str) -> str:
    """Return the text with another value at these names, quoted as the old one was."""
    found = place(text, names)
    if found is None:
        raise Stuck(f"There is no `{'.'.join(names)}` to change.")
    quote = text[found[0]] if text[found[0]] in "'\"" else ""
    return f"{text[: found[0]]}{to_scalar(value, quote)}{text[found[1] :]}"


def with_entries(text: str, name: str, entries: Mapping[str, str], comment: str) -> str:
    """Return the text with entries added to a mapping at its top level, below a comment."""
    lines = [f"  # {' '.join(comment.split())}"]
    lines += [f"  {to_scalar(key)}: {to_scalar(value)}" for key, value in entries.items()]
    if place(text, (name,)) is None:
        start = text if not text or text.endswith("\n") else f"{text}\n"
        gap = "\n" if start.strip() else ""
        return f"{start}{gap}{name}:\n" + "".join(f"{line}\n" for line in lines)
    head = re.search(rf"^{re.escape(name)}:[ \t]*(#[^\n]*)?\n(?=([ \t]+)\S)", text, re.MULTILINE)
    if head is None:
        raise Stuck(f"`{name}` is written in a way that Fettle does not add to.")
    added = "".join(f"{head[2]}{line.strip()}\n" for line in lines)
    return f"{text[: head.end()]}{added}{text[head.end() :]}"


def _build_document(events: Iterator[yaml.Event], path: str) -> Any:
    """Return what events describe, without recursion; the first document is the only one."""
    done: list[Any] = []
    open_: list[tuple[Any, list[Any]]] = []
    for event in events:
        if len(open_) > _DEEPEST:
            raise Unfit("unsafe", f"`{path}` is nested deeper than any lock file is.")
        match event:
            case yaml.AliasEvent():
                raise Unfit("unsafe", f"`{path}` refers to its own parts, as no lock file does.")
            case yaml.MappingStartEvent():
                open_.append(({}, []))
            case yaml.SequenceStartEvent():
                open_.append(([], []))
            case yaml.ScalarEvent():
                flag = _FLAGS.get(event.value) if event.implicit[0] else None
                _take(event.value if flag is None else flag, open_, done)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                _take(open_.pop()[0], open_, done)
    if len(done) > 1:
        raise Unfit("unsupported", f"`{path}` holds several documents, which Fettle cannot read.")
    return done[0] if done else {}


def _take(value: Any, open_: list[tuple[Any, list[Any]]], done: list[Any]) -> None:
    """Give a value to what it belongs to."""
    if not open_:
        done.append(value)
        return
    container, waiting = open_[-1]
    if isinstance(container, list):
        container.append(value)
    elif waiting:
        container[waiting.pop()] = value
    else:
        waiting.append(value if isinstance(value, str) else json.dumps(value))


def to_scalar(value: str, quote: str = "") -> str:
    """Return a text as YAML, plain where that cannot be misread."""
    if not quote and _PLAIN.fullmatch(value) and not _NOT_PLAIN.fullmatch(value):
        return value
    return json.dumps(value) if quote == '"' else f"'{value.replace(chr(39), chr(39) * 2)}'"
