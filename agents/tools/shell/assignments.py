"""Follows what assignments, loops and builtins of a script put into its variables."""

from __future__ import annotations

import re

from tree_sitter import Node

from agents.tools.shell.command import Command
from agents.tools.shell.options import find_values, list_operands, word_set
from agents.tools.shell.tree import text_of
from agents.tools.shell.variables import Variables
from agents.tools.shell.words import Words

_KEY = re.compile(r"^\[[^\]]*\]\+?=")
_NAME = re.compile(r"[A-Za-z_]\w*")
_READERS = {
    "read": word_set("-d -i -n -N -p -t -u"),
    "mapfile": word_set("-d -n -O -s -t -u -C -c"),
    "readarray": word_set("-d -n -O -s -t -u -C -c"),
    "getopts": word_set(""),
}
_MOST_ARGUMENTS = 9


def assign_part(part: Node, variables: Variables, words: Words) -> tuple[str, ...]:
    """Note what an assignment, a declaration or a loop puts into variables.

    Return the words of a declaration, which is a command as well.
    """
    match part.type:
        case "variable_assignment":
            _assign(part, variables, words)
        case "for_statement":
            _loop(part, variables, words)
        case "declaration_command":
            said = [part.children[0].type]
            for child in part.named_children:
                if child.type == "variable_assignment":
                    _assign(child, variables, words)
                said += [text_of(child)] if child.type != "variable_assignment" else ["…"]
            return tuple(said)
    return ()


def _assign(part: Node, variables: Variables, words: Words) -> None:
    target, value = part.child_by_field_name("name"), part.child_by_field_name("value")
    if target is None:
        return
    name = text_of(target).split("[")[0]
    added = any(child.type == "+=" for child in part.children)
    if value is not None and value.type == "array":
        choices = words.commands(value.named_children)
        given = [tuple(_KEY.sub("", field) for field in fields) for fields in choices]
    elif value is not None:
        given = [(text,) for text in words.text(value)]
    else:
        given = [("",)]
    for fields in given:
        if added or target.type == "subscript":
            array = target.type == "subscript" or (value is not None and value.type == "array")
            variables.append(name, fields, array=array)
        else:
            variables.assign(name, fields)


def _loop(part: Node, variables: Variables, words: Words) -> None:
    variable = part.child_by_field_name("variable")
    if variable is None:
        return
    given = part.children_by_field_name("value")
    for choice in words.commands(given) if given else ():
        for field in choice:
            variables.assign(text_of(variable), (field,))
    if not given:
        variables.forget(text_of(variable))


def note_effects(command: Command, variables: Variables) -> None:
    """Note what a builtin, or the call of a function, puts into variables."""
    words, name = command.words[1:], command.name
    if name in _READERS:
        for word in [*list_operands(words, _READERS[name]), *find_values(words, "-a")]:
            if _NAME.fullmatch(word):
                variables.forget(word)
    elif name == "printf":
        for word in find_values(words, "-v"):
            variables.forget(word)
    elif name in ("declare", "typeset", "local", "export", "readonly"):
        _assign_declared(words, variables)
    elif name == "set" and "--" in words:
        _assign_arguments(words[words.index("--") + 1 :], variables)
    elif name in variables.functions:
        _assign_arguments(words, variables)


def _assign_declared(words: tuple[str, ...], variables: Variables) -> None:
    for word in words:
        name, equals, value = word.partition("=")
        if equals and _NAME.fullmatch(name):
            variables.assign(name, (value,))


def _assign_arguments(words: tuple[str, ...], variables: Variables) -> None:
    """Note arguments; `shift` may have taken any number of them away."""
    for number in range(min(len(words), _MOST_ARGUMENTS)):
        for name in ("@", "*"):
            variables.assign(name, words[number:])
        for place in range(1, number + 2):
            variables.assign(str(place), (words[number],))
