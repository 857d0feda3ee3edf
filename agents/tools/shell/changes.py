"""Step 8: which files a command changes or deletes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agents.tools.shell.command import Command
from agents.tools.shell.git import Git
from agents.tools.shell.options import has, operands, valued, values
from agents.tools.shell.places import several
from agents.tools.shell.variables import UNKNOWN


@dataclass(frozen=True)
class Change:
    """One path that a command changes."""

    path: str
    """As the command names it."""
    deletes: bool = False
    wide: bool = False
    """It takes in more than one file: a folder with all in it, or a pattern."""
    within: str = ""
    """The path holds if this one, which the command names as well, is a folder."""


def changes(command: Command) -> Iterator[Change]:
    """Yield what the command changes, redirections included."""
    yield from (Change(path) for path in command.writes)
    if find := _CHANGES.get(command.name):
        yield from find(command)
    if command.name in ("perl", "ruby", "sed", "yq") and _in_place(command):
        yield from _edited(command)


def _all(words: str = "") -> Callable[[Command], Iterator[Change]]:
    with_value = valued(words)

    def found(command: Command) -> Iterator[Change]:
        yield from (Change(path) for path in operands(command.words[1:], with_value))

    return found


def _removed(command: Command) -> Iterator[Change]:
    words = command.words[1:]
    recursive = has(words, "rR", "--recursive") or any(
        word.startswith("-") and UNKNOWN in word for word in words
    )
    for path in operands(words):
        yield Change(path, deletes=True, wide=recursive or several(path))


def _copied(command: Command) -> Iterator[Change]:
    """Yield where a copy, a move or a link ends up: in a folder, it has its source's name."""
    words = command.words[1:]
    given = operands(words, _COPY_VALUED)
    targets = list(values(words, "-t", "--target-directory"))
    sources = given if targets else given[:-1]
    for target in targets or given[-1:]:
        wide = command.name == "rsync" and any(word.startswith("--delete") for word in words)
        yield Change(target, deletes=wide, wide=wide)
        for source in sources:
            name = source.rstrip("/").rsplit("/", 1)[-1]
            yield Change(f"{target.rstrip('/')}/{name}", within=target)
    if command.name == "mv":
        yield from (Change(source) for source in sources)


def _of(command: Command) -> Iterator[Change]:
    yield from (Change(word[3:]) for word in command.words[1:] if word.startswith("of="))


def _outputs(command: Command) -> Iterator[Change]:
    given = values(command.words[1:], "-o", "--output", "-O", "--output-document")
    yield from (Change(path) for path in given if path != "-")


def _after_first(command: Command) -> Iterator[Change]:
    given = [word for word in command.words[1:] if word[:1] not in ("-", "+")]
    yield from (Change(path) for path in given[1:])


def _awk(command: Command) -> Iterator[Change]:
    words = command.words[1:]
    if "inplace" in words:
        yield from (Change(path) for path in operands(words, valued("-i -v -F -f"))[1:])


def _git(command: Command) -> Iterator[Change]:
    git = Git.of(command)
    yield from (Change(path) for path in git.changed())
    for path in git.removed():
        wide = has(git.words, "r") or several(path)
        yield Change(path, deletes=True, wide=wide)


def _in_place(command: Command) -> bool:
    if command.name == "sed":
        return any(_SED_IN_PLACE.match(word) for word in command.words[1:])
    return any(_IN_PLACE.match(word) for word in command.words[1:])


def _edited(command: Command) -> Iterator[Change]:
    words = command.words[1:]
    script = has(words, "ef", "--expression", "--file")
    given = operands(words, valued("-e -f --expression --file -E"))
    if command.name == "perl" and not script:
        return
    kept = given if script else given[1:]
    yield from (Change(path) for path in kept)


_SED_IN_PLACE = re.compile(r"-[nEruszl]*i|--in-place")
_IN_PLACE = re.compile(r"-[a-zA-Z0-9]*i(?!\w*=)|--inplace")
_COPY_VALUED = valued("-t -S -m -o -g --target-directory --suffix --mode --exclude --include -e")

_CHANGES: dict[str, Callable[[Command], Iterator[Change]]] = {
    "rm": _removed,
    "unlink": _removed,
    "shred": _removed,
    "trash": _removed,
    "srm": _removed,
    "cp": _copied,
    "mv": _copied,
    "ln": _copied,
    "install": _copied,
    "rsync": _copied,
    "dd": _of,
    "tee": _all(),
    "touch": _all("-d -r -t"),
    "truncate": _all("-s -r"),
    "sponge": _all(),
    "patch": _all("-p -i -d -o"),
    "ed": _all(),
    "ex": _all("-c"),
    "chmod": _after_first,
    "chattr": _after_first,
    "sort": _outputs,
    "curl": _outputs,
    "wget": _outputs,
    "awk": _awk,
    "gawk": _awk,
    "git": _git,
}
