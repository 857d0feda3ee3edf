"""Step 8: which files a command changes or deletes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agents.tools.shell.command import Command
from agents.tools.shell.git import Git
from agents.tools.shell.options import has, operands, valued, values
from agents.tools.shell.places import in_tree, is_one_file, several, unclear
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
    emptied = command.name in ("", ":", "true")
    for path in command.writes:
        yield Change(path, deletes=emptied and several(path), wide=emptied and several(path))
    if find := _CHANGES.get(command.name):
        yield from find(command)
    if command.name in ("perl", "ruby", "sed", "yq") and _in_place(command):
        yield from _edited(command)
    if command.name in ("sed", "gsed"):
        written = (found[1] for word in command.words[1:] for found in _SED_WRITES.finditer(word))
        yield from (Change(path) for path in written if not path.startswith("/"))


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
        wide = several(path) or (recursive and not is_one_file(path))
        yield Change(path, deletes=True, wide=wide)


def _copied(command: Command) -> Iterator[Change]:
    """Yield where a copy, a move or a link ends up: in a folder, it has its source's name."""
    words = command.words[1:]
    given = operands(words, _COPY_VALUED)
    targets = list(values(words, "-t", "--target-directory"))
    sources = given if targets else given[:-1]
    for target in targets or given[-1:]:
        wide = command.name == "rsync" and any(word.startswith("--del") for word in words)
        folders = _folders(command, sources)
        yield Change(target, deletes=wide, wide=wide or (bool(folders) and _hidden(target)))
        for source in sources:
            name = source.rstrip("/").rsplit("/", 1)[-1]
            whole = source in folders and _hidden(name)
            yield Change(f"{target.rstrip('/')}/{name}", wide=whole, within=target)
    if command.name == "mv" or has(words, "", "--remove-source-files"):
        yield from _moved(command, sources, targets or given[-1:])


def _folders(command: Command, sources: list[str]) -> list[str]:
    """Return the sources that may be folders, and are taken with all that is in them."""
    recursive = command.name == "mv" or has(command.words[1:], "raR", "--recursive", "--archive")
    return [source for source in sources if recursive and not is_one_file(source)]


def _hidden(path: str) -> bool:
    """Return whether it is a folder of settings, like `.github`, or lies in one."""
    return any(part[:1] == "." and part.strip("./") for part in path.split("/"))


def _moved(command: Command, sources: list[str], targets: list[str]) -> Iterator[Change]:
    """Yield what a move takes away; within the repository nothing gets lost."""
    places = [command.place(target) for target in targets]
    away = any(in_tree(place) is None and not unclear(place) for place in places)
    for source in sources:
        whole = not is_one_file(source) and not unclear(source)
        yield Change(source, deletes=away, wide=whole and (away or _hidden(source)))


def _truncated(command: Command) -> Iterator[Change]:
    for path in operands(command.words[1:], valued("-s -r")):
        yield Change(path, deletes=several(path), wide=several(path))


def _cleared(command: Command) -> Iterator[Change]:
    """Yield what programs remove that always take folders with all in them."""
    for path in operands(command.words[1:]):
        yield Change(path, deletes=True, wide=not is_one_file(path))


def _found_and_removed(command: Command) -> Iterator[Change]:
    """Yield what `fd` finds, if it has it removed."""
    words = command.words[1:]
    marks = ("-x", "-X", "--exec", "--exec-batch")
    at = next((n for n, word in enumerate(words) if word in marks), len(words))
    if words[at + 1 : at + 2] and words[at + 1].rsplit("/", 1)[-1] in (
        "rm",
        "unlink",
        "shred",
        "mv",
    ):
        endings = [f"*.{ending}" for ending in values(words[:at], "-e", "--extension")]
        names = endings or [f"*{name}*" for name in operands(words[:at])[:1]] or [UNKNOWN]
        yield from (Change(f"./{UNKNOWN}/{name}", deletes=True, wide=True) for name in names)


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
    for path in git.changed():
        yield Change(path, wide=_hidden(path) and not is_one_file(path))
    yield from (Change(path) for path in values(git.words, "--output"))
    for path in git.removed():
        wide = several(path) or (has(git.words, "r") and not is_one_file(path))
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
_SED_WRITES = re.compile(r"(?:^|[;/{}\d\s,|#])g?[wW]\s+([^\s;}]+)")
_IN_PLACE = re.compile(r"-[a-zA-Z0-9]*i(?!\w*=)|--inplace")
_COPY_VALUED = valued("-t -S -m -o -g --target-directory --suffix --mode --exclude --include -e")

_CHANGES: dict[str, Callable[[Command], Iterator[Change]]] = {
    "rm": _removed,
    "unlink": _removed,
    "shred": _removed,
    "rimraf": _cleared,
    "del-cli": _cleared,
    "trash-put": _cleared,
    "del": _cleared,
    "fd": _found_and_removed,
    "fdfind": _found_and_removed,
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
    "truncate": _truncated,
    "sponge": _all(),
    "patch": _all("-p -i -d -o"),
    "ed": _all(),
    "vi": _all("-c --cmd"),
    "vim": _all("-c --cmd"),
    "nvim": _all("-c --cmd"),
    "nano": _all(),
    "dos2unix": _all(),
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
