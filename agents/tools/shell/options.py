"""Parses the options and operands of a command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Valued = frozenset[str]
"""Options that take the next word as their value."""


def word_set(words: str) -> frozenset[str]:
    """Return the words in this text: tables read better without commas."""
    return frozenset(words.split())


def first_operand(words: Sequence[str], with_value: Valued = frozenset()) -> int:
    """Return the index of the first word that is no option and no option's value."""
    at = 0
    while at < len(words) and len(words[at]) > 1 and words[at][0] == "-":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in with_value else 1
    return min(at, len(words))


def list_operands(words: Sequence[str], with_value: Valued = frozenset()) -> list[str]:
    """Return all words that are no options and no options' values."""
    found: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return [*found, *words[at + 1 :]]
        if len(word) > 1 and word[0] == "-":
            at += 2 if word in with_value else 1
        else:
            found.append(word)
            at += 1
    return found


def has_option(words: Iterable[str], short: str = "", *long: str) -> bool:
    """Return whether one of these options is given.

    Short ones are found among others (`-rf`), long ones also cut short, as programs take them.
    """
    for word in words:
        if word == "--":
            return False
        if word.startswith("--"):
            given = word.split("=", 1)[0]
            if len(given) > len("--") and any(name.startswith(given) for name in long):
                return True
        elif word.startswith("-") and any(letter in word[1:] for letter in short):
            return True
    return False


def find_values(words: Sequence[str], *names: str) -> Iterator[str]:
    """Yield the values given to an option, as the next word, after `=`, or attached to it."""
    for at, word in enumerate(words):
        for name in names:
            if word == name and at + 1 < len(words):
                yield words[at + 1]
            elif name.startswith("--") and word.startswith(f"{name}="):
                yield word[len(name) + 1 :]
            elif len(name) == 2 and word.startswith(name) and word != name:
                yield word[2:]
