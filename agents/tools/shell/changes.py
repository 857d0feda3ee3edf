"""Which files a command changes or deletes, by the program's own syntax."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agents.tools.shell.command import Command
from agents.tools.shell.git import GitCommand
from agents.tools.shell.options import find_values, has_option, list_operands, word_set
from agents.tools.shell.places import is_one_file, is_pattern, is_unclear, relative_path
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
        yield Change(path, deletes=emptied and is_pattern(path), wide=emptied and is_pattern(path))
    if find := _CHANGES.get(command.name):
        yield from find(command)
    if command.name in ("perl", "ruby", "sed", "yq") and _is_in_place(command):
        yield from _edit(command)
    if command.name in ("sed", "gsed"):
        written = (found[1] for word in command.words[1:] for found in _SED_WRITES.finditer(word))
        yield from (Change(path) for path in written if not path.startswith("/"))


def _name_all(words: str = "") -> Callable[[Command], Iterator[Change]]:
    with_value = word_set(words)

    def find_changes(command: Command) -> Iterator[Change]:
        yield from (Change(path) for path in list_operands(command.words[1:], with_value))

    return find_changes


def _remove(command: Command) -> Iterator[Change]:
    words = command.words[1:]
    recursive = has_option(words, "rR", "--recursive") or any(
        word.startswith("-") and UNKNOWN in word for word in words
    )
    for path in list_operands(words):
        wide = is_pattern(path) or (recursive and not is_one_file(path))
        yield Change(path, deletes=True, wide=wide)


def _copy(command: Command) -> Iterator[Change]:
    """Yield where a copy, a move or a link ends up: in a folder, it has its source's name."""
    words = command.words[1:]
    given = list_operands(words, _COPY_VALUED)
    targets = list(find_values(words, "-t", "--target-directory"))
    sources = given if targets else given[:-1]
    for target in targets or given[-1:]:
        wide = command.name == "rsync" and any(word.startswith("--del") for word in words)
        folders = _folders(command, sources)
        yield Change(target, deletes=wide, wide=wide or (bool(folders) and _is_hidden(target)))
        for source in sources:
            name = source.rstrip("/").rsplit("/", 1)[-1]
            whole = source in folders and _is_hidden(name)
            yield Change(f"{target.rstrip('/')}/{name}", wide=whole, within=target)
    if command.name == "mv" or has_option(words, "", "--remove-source-files"):
        yield from _move(command, sources, targets or given[-1:])


def _folders(command: Command, sources: list[str]) -> list[str]:
    """Return the sources that may be folders, and are taken with all that is in them."""
    recursive = command.name == "mv" or has_option(
        command.words[1:], "raR", "--recursive", "--archive"
    )
    return [source for source in sources if recursive and not is_one_file(source)]


def _is_hidden(path: str) -> bool:
    """Return whether it is a folder of settings, like `.github`, or lies in one."""
    return any(part[:1] == "." and part.strip("./") for part in path.split("/"))


def _move(command: Command, sources: list[str], targets: list[str]) -> Iterator[Change]:
    """Yield what a move takes away; within the repository nothing gets lost."""
    places = [command.place(target) for target in targets]
    away = any(relative_path(place) is None and not is_unclear(place) for place in places)
    for source in sources:
        whole = not is_one_file(source) and not is_unclear(source)
        yield Change(source, deletes=away, wide=whole and (away or _is_hidden(source)))


def _truncate(command: Command) -> Iterator[Change]:
    for path in list_operands(command.words[1:], word_set("-s -r")):
        yield Change(path, deletes=is_pattern(path), wide=is_pattern(path))


def _clear(command: Command) -> Iterator[Change]:
    """Yield what programs remove that always take folders with all in them."""
    for path in list_operands(command.words[1:]):
        yield Change(path, deletes=True, wide=not is_one_file(path))


def _find_and_remove(command: Command) -> Iterator[Change]:
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
        endings = [f"*.{ending}" for ending in find_values(words[:at], "-e", "--extension")]
        names = endings or [f"*{name}*" for name in list_operands(words[:at])[:1]] or [UNKNOWN]
        yield from (Change(f"./{UNKNOWN}/{name}", deletes=True, wide=True) for name in names)


def _name_output(command: Command) -> Iterator[Change]:
    yield from (Change(word[3:]) for word in command.words[1:] if word.startswith("of="))


def _name_outputs(command: Command) -> Iterator[Change]:
    given = find_values(command.words[1:], "-o", "--output", "-O", "--output-document")
    yield from (Change(path) for path in given if path != "-")


def _name_rest(command: Command) -> Iterator[Change]:
    given = [word for word in command.words[1:] if word[:1] not in ("-", "+")]
    yield from (Change(path) for path in given[1:])


def _edit_by_awk(command: Command) -> Iterator[Change]:
    words = command.words[1:]
    if "inplace" in words:
        yield from (Change(path) for path in list_operands(words, word_set("-i -v -F -f"))[1:])


def _change_by_git(command: Command) -> Iterator[Change]:
    git = GitCommand.parse(command)
    for path in git.changed_paths():
        yield Change(path, wide=_is_hidden(path) and not is_one_file(path))
    yield from (Change(path) for path in find_values(git.words, "--output"))
    for path in git.removed_paths():
        wide = is_pattern(path) or (has_option(git.words, "r") and not is_one_file(path))
        yield Change(path, deletes=True, wide=wide)


def _is_in_place(command: Command) -> bool:
    if command.name == "sed":
        return any(_SED_IN_PLACE.match(word) for word in command.words[1:])
    return any(_IN_PLACE.match(word) for word in command.words[1:])


def _edit(command: Command) -> Iterator[Change]:
    words = command.words[1:]
    script = has_option(words, "ef", "--expression", "--file")
    given = list_operands(words, word_set("-e -f --expression --file -E"))
    if command.name == "perl" and not script:
        return
    kept = given if script else given[1:]
    yield from (Change(path) for path in kept)


_SED_IN_PLACE = re.compile(r"-[nEruszl]*i|--in-place")
_SED_WRITES = re.compile(r"(?:^|[;/{}\d\s,|#])g?[wW]\s+([^\s;}]+)")
_IN_PLACE = re.compile(r"-[a-zA-Z0-9]*i(?!\w*=)|--inplace")
_COPY_VALUED = word_set("-t -S -m -o -g --target-directory --suffix --mode --exclude --include -e")

_CHANGES: dict[str, Callable[[Command], Iterator[Change]]] = {
    "rm": _remove,
    "unlink": _remove,
    "shred": _remove,
    "rimraf": _clear,
    "del-cli": _clear,
    "trash-put": _clear,
    "del": _clear,
    "fd": _find_and_remove,
    "fdfind": _find_and_remove,
    "trash": _remove,
    "srm": _remove,
    "cp": _copy,
    "mv": _copy,
    "ln": _copy,
    "install": _copy,
    "rsync": _copy,
    "dd": _name_output,
    "tee": _name_all(),
    "touch": _name_all("-d -r -t"),
    "truncate": _truncate,
    "sponge": _name_all(),
    "patch": _name_all("-p -i -d -o"),
    "ed": _name_all(),
    "vi": _name_all("-c --cmd"),
    "vim": _name_all("-c --cmd"),
    "nvim": _name_all("-c --cmd"),
    "nano": _name_all(),
    "dos2unix": _name_all(),
    "ex": _name_all("-c"),
    "chmod": _name_rest,
    "chattr": _name_rest,
    "sort": _name_outputs,
    "curl": _name_outputs,
    "wget": _name_outputs,
    "awk": _edit_by_awk,
    "gawk": _edit_by_awk,
    "git": _change_by_git,
}
