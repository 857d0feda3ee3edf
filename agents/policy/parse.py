"""Parse a policy file, or list everything that is wrong with it, each with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agents.errors import PolicyInvalid
from agents.policy.document import (
    Document,
    MalformedPolicy,
    PolicyFault,
    pairs,
    quote_word,
    read_document,
)
from agents.policy.policy import POLICY_PATH, Policy

FAULTS_SHOWN = 5
MOST_FAULTS = 200
"""That are put into words: anybody may propose a file that has nothing else."""

Location = tuple[int | str, ...]
TextPosition = tuple[int, int]
_KEY = -1  # no entry of a list has this number


def examine(data: bytes) -> Policy | tuple[PolicyFault, ...]:
    """Return the policy in these bytes, or what is wrong with them, in the order of the file."""
    try:
        document = read_document(data)
    except MalformedPolicy as error:
        return (error.fault,)
    try:
        return Policy.model_validate(document.value, strict=True)
    except ValidationError as error:
        return _faults(document, error.errors(include_url=False))


def parse_policy(data: bytes | None) -> Policy:
    """Return the policy in that file's bytes; None means no file, so all defaults.

    Raises PolicyInvalid, whose text says where the file is wrong.
    """
    if data is None:
        return Policy()
    found = examine(data)
    if isinstance(found, Policy):
        return found
    raise PolicyInvalid(f"`{POLICY_PATH}` is not valid: {'; '.join(list_faults(found))}")


def list_faults(faults: Sequence[PolicyFault], most: int = FAULTS_SHOWN) -> list[str]:
    """Return the first of these in words, and how many more there are."""
    more = len(faults) - most
    return [*map(str, faults[:most]), *([f"and {more} more"] if more > 0 else [])]


def rule_lines(data: bytes) -> dict[str, int]:
    """Return the line of the policy file at which each rule under `ask` and `deny` begins.

    The keys are the ids that the gate names them by, like `policy/deny/2`.
    """
    root = read_document(data).root
    if root is None:
        return {}
    return {
        f"policy/{key.value}/{number}": rule.start_mark.line + 1
        for key, value in pairs(root)
        if key.value in ("ask", "deny")
        for number, rule in enumerate(value.value, 1)
    }


def _faults(document: Document, errors: Sequence[ErrorDetails]) -> tuple[PolicyFault, ...]:
    """Return the faults in the order of the file, and where it has many, where the others begin."""
    places = _places(document.root)
    placed = sorted(
        ((_place(places, each), each) for each in errors),
        key=lambda each: (each[0], each[1]["loc"]),
    )
    found = {
        PolicyFault(*place, f"{_format_location(each['loc'])} {_words(each)}")
        for place, each in placed[:MOST_FAULTS]
    }
    faults = sorted(found, key=lambda each: (each.line, each.column, each.text))
    if left := placed[MOST_FAULTS:]:
        faults.append(PolicyFault(*left[0][0], f"{len(left)} more faults begin here"))
    return tuple(faults)


def _place(places: Mapping[Location, TextPosition], error: ErrorDetails) -> TextPosition:
    """Return where the fault stands, or the nearest around it where nothing does."""
    where = tuple(error["loc"])
    if error["type"] == "extra_forbidden" and (key := places.get((*where, _KEY))):
        return key
    return next(places[where[:n]] for n in range(len(where), -1, -1) if where[:n] in places)


def _words(error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return f"is not a key of the policy.{_suggest_key(error['loc'])}"
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    if error["type"] == "model_type":
        return f"has to be made of keys, out of {_quote_names(_keys(error['loc']))}"
    if error["type"] in _SHAPES:
        return _SHAPES[error["type"]]
    said = error["msg"].replace("Input should", "has to").replace("String should", "has to")
    if error["type"] == "string_type" and isinstance(error["input"], bool | int | float):
        said += "; put it in quotes"
    return said[:1].lower() + said[1:]


_SHAPES = {
    "tuple_type": "has to be a list",
    "bool_type": "has to be true or false, without quotes",
    "int_type": "has to be a whole number like 50, without quotes",
    "float_type": "has to be a number like 2.5, without quotes",
}


def _format_location(where: Location) -> str:
    """Return the name of a key as people write it: `quality[0].run` is `quality`, 1st, `run`."""
    name = ""
    for each in where:
        name += f"[{each + 1}]" if isinstance(each, int) else f".{each}"
    return quote_word(name.lstrip(".") or "file")


def _suggest_key(where: Location) -> str:
    """Return what the unknown key was likely meant to be."""
    word, names = str(where[-1]), _keys(where[:-1])
    close = get_close_matches(word.lower().replace("-", "_"), names, n=1)
    if close:
        return f" Did you mean `{close[0]}`?"
    elsewhere = [name for name, below in _sections().items() if word in below]
    if len(where) == 1:  # too many to list
        return f" Did you mean `{elsewhere[0]}.{word}`?" if elsewhere else ""
    return f" There are {_quote_names(names)}." if names else ""


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _keys(where: Location) -> list[str]:
    """Return the keys that there are at this place."""
    model: type[BaseModel] | None = Policy
    for each in where:
        if isinstance(each, str) and model is not None:
            model = _model(model.model_fields[each].annotation)
    return list(model.model_fields) if model is not None else []


def _sections() -> dict[str, list[str]]:
    return {name: _keys((name,)) for name in Policy.model_fields}


def _model(annotation: Any) -> type[BaseModel] | None:
    """Return the model in a field's type, like `Check` in `tuple[Check, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model(each))), None)


def _places(root: yaml.Node | None) -> dict[Location, TextPosition]:
    """Return line and column of each value by its keys, and of each key by those and `_KEY`."""
    found: dict[Location, TextPosition] = {(): (1, 1)}
    left: list[tuple[Location, yaml.Node]] = [] if root is None else [((), root)]
    while left:
        where, part = left.pop()
        found[where] = _begin(part)
        if isinstance(part, yaml.MappingNode):
            for key, value in pairs(part):
                found[(*where, key.value, _KEY)] = _begin(key)
                left.append(((*where, key.value), value))
        elif isinstance(part, yaml.SequenceNode):
            left += [((*where, number), each) for number, each in enumerate(part.value)]
    return found


def _begin(part: yaml.Node) -> TextPosition:
    return part.start_mark.line + 1, part.start_mark.column + 1
