"""Which paths a `find` command can match, and which commands it runs on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agents.tools.shell.command import Command
from agents.tools.shell.variables import UNKNOWN

_NAMES = ("-name", "-iname")
_PATHS = ("-path", "-ipath", "-wholename")
_EXECUTES = ("-exec", "-execdir", "-ok", "-okdir")
_WRITES = ("-fprint", "-fprint0", "-fls", "-fprintf")


def list_finds(words: Sequence[str]) -> list[str]:
    """Return patterns of all that a find with these arguments can come across."""
    ends = (n for n, word in enumerate(words) if word[:1] in ("-", "(", "!") and word not in "-HLP")
    at = next(ends, len(words))
    starts = [word for word in words[:at] if word not in ("-H", "-L", "-P")] or ["."]
    tests = words[at:]
    negated = any(word in ("!", "-not") for word in tests)
    names = [tests[n + 1] for n, word in enumerate(tests[:-1]) if word in _NAMES]
    paths = [tests[n + 1] for n, word in enumerate(tests[:-1]) if word in _PATHS]
    loose = any(word in ("-o", "-or", ",") for word in tests) and not _one_name_each(tests)
    if negated or loose or not (names or paths):
        return [f"{start}/{UNKNOWN}" for start in starts]
    return [f"{start}/{UNKNOWN}/{name}" for start in starts for name in names] + paths


def _one_name_each(tests: Sequence[str]) -> bool:
    """Return whether every alternative of an expression with `-o` names something."""
    parts: list[list[str]] = [[]]
    for word in tests:
        if word in ("-o", "-or", ","):
            parts.append([])
        else:
            parts[-1].append(word)
    return all(any(word in (*_NAMES, *_PATHS) for word in part) for part in parts)


def unfold_find(command: Command) -> Iterator[Command]:
    """Yield what find does to its finds, one command for each kind of find."""
    words = command.words[1:]
    targets = list_finds(words)
    plain = replace(command, words=(), writes=(), feed=None)
    for at, word in enumerate(words):
        if word == "-delete":
            yield from (replace(plain, words=("rm", "-r", target)) for target in targets)
        elif word in _WRITES and at + 1 < len(words):
            yield replace(plain, words=("tee", words[at + 1]))
        elif word in _EXECUTES:
            inner = _take_until_end(words[at + 1 :])
            for target in targets if inner else ():
                filled = tuple(part.replace("{}", target) for part in inner)
                yield replace(plain, words=filled)


def _take_until_end(words: Sequence[str]) -> tuple[str, ...]:
    for at, word in enumerate(words):
        if word == ";" or (word == "+" and at and words[at - 1] == "{}"):
            return tuple(words[:at])
    return tuple(words)
