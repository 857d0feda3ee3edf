"""Step 8: programs that run other programs: what they would run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from agents.tools.shell.code import runs_in_code
from agents.tools.shell.command import Command, Script
from agents.tools.shell.find import found_by, unfold_find
from agents.tools.shell.options import Valued, first_operand, named, valued, values
from agents.tools.shell.variables import UNKNOWN

Inner = Command | Script

SHELLS = named("sh bash dash zsh ksh ash mksh rbash fish")
_SHELL_VALUED = valued("-o +o -O +O --rcfile --init-file")
_COMMAND_OPTION = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
_RUNS_VALUE = re.compile(
    r"--(?:to-command|filter|use-compress-program|rsh|exec|exec-batch)=(.+)"
    r"|--checkpoint-action=exec=(.+)"
)


@dataclass(frozen=True)
class Prefix:
    """A program whose operands, after `skipped` of them, are the command that it runs."""

    with_value: Valued = frozenset()
    skipped: int = 0


_PREFIXES = {
    "env": Prefix(valued("-u --unset -C --chdir -S --split-string")),
    "sudo": Prefix(valued("-u -g -h -p -C -T -r -t -D -R --user --group --host")),
    "doas": Prefix(valued("-u -C")),
    "nice": Prefix(valued("-n --adjustment")),
    "ionice": Prefix(valued("-c -n -p --class --classdata")),
    "chrt": Prefix(skipped=1),
    "taskset": Prefix(skipped=1),
    "nohup": Prefix(),
    "setsid": Prefix(),
    "time": Prefix(valued("-f -o --format --output")),
    "timeout": Prefix(valued("-k -s --kill-after --signal"), skipped=1),
    "stdbuf": Prefix(valued("-i -o -e --input --output --error")),
    "unbuffer": Prefix(),
    "chronic": Prefix(),
    "ifne": Prefix(),
    "exec": Prefix(valued("-a")),
    "command": Prefix(),
    "builtin": Prefix(),
    "coproc": Prefix(),
    "busybox": Prefix(),
    "toybox": Prefix(),
    "prlimit": Prefix(),
    "strace": Prefix(valued("-e -o -s -p -P -u -E")),
    "ltrace": Prefix(valued("-e -o -s -p -u")),
    "unshare": Prefix(valued("-S -G -R -w")),
    "chroot": Prefix(skipped=1),
    "setarch": Prefix(),
    "xvfb-run": Prefix(valued("-n -e -f -s -w")),
    "dbus-run-session": Prefix(),
    "fakeroot": Prefix(),
    "catchsegv": Prefix(),
    "direnv exec": Prefix(skipped=1),
    "uv run": Prefix(
        valued(
            "--with --with-editable --with-requirements --python -p --extra --group --only-group"
            " --project --directory --env-file --package --index --index-url -m --module"
        )
    ),
    "uvx": Prefix(valued("--from --with --python -p")),
    "uv tool run": Prefix(valued("--from --with --python -p")),
    "pipx run": Prefix(valued("--spec --python")),
    "poetry run": Prefix(),
    "pipenv run": Prefix(),
    "pdm run": Prefix(valued("-p --project")),
    "rye run": Prefix(),
    "hatch run": Prefix(),
    "conda run": Prefix(valued("-n -p --name --prefix --cwd")),
    "npx": Prefix(valued("-p --package -w --workspace")),
    "pnpm exec": Prefix(),
    "pnpm dlx": Prefix(),
    "npm exec": Prefix(valued("-w --workspace --package")),
    "yarn exec": Prefix(),
    "yarn dlx": Prefix(),
    "bunx": Prefix(),
    "bundle exec": Prefix(),
    "mise exec": Prefix(),
    "mise x": Prefix(),
    "git bisect run": Prefix(),
    "git submodule foreach": Prefix(),
}
_SCRIPTED = frozenset(("watch", "git submodule foreach", "hatch run"))
"""These hand what they run to a shell, as one line."""


def unfold(command: Command) -> Iterator[Inner]:
    """Yield what the command would have run by others: commands, and scripts for a shell."""
    name, words = command.name, command.words
    if name in SHELLS:
        yield from _shell(command)
    elif special := _SPECIAL.get(name):
        yield from special(command)
    yield from _prefixed(command)
    yield from runs_in_code(command)
    for word in words[1:]:
        if found := _RUNS_VALUE.fullmatch(word):
            yield Script(found[1] or found[2])


def script_operand(command: Command) -> str | None:
    """Return the file that a shell would run; None when it takes its script from its input."""
    words = command.words[1:]
    at = first_operand(words, _SHELL_VALUED)
    if any(word.startswith("-") and "s" in word[1:] and word[1:2] != "-" for word in words[:at]):
        return None
    return words[at] if at < len(words) and words[at] not in ("-", "/dev/stdin") else None


def given_script(command: Command) -> tuple[str, tuple[str, ...]] | None:
    """Return the script after `-c`, and its arguments."""
    words = command.words[1:]
    at = first_operand(words, _SHELL_VALUED)
    if not any(_COMMAND_OPTION.fullmatch(word) for word in words[:at]) or at >= len(words):
        return None
    return words[at], tuple(words[at + 1 :])


# --- by their own rules -------------------------------------------------------------------------


def _prefixed(command: Command) -> Iterator[Inner]:
    names = [command.name, *command.words[1:3]]
    for length in (3, 2, 1):
        key = " ".join(names[:length])
        if len(names) >= length and (prefix := _PREFIXES.get(key)):
            break
    else:
        return
    words = command.words[length:]
    if key == "command" and words[:1] and words[0] in ("-v", "-V"):
        return
    rest = words[first_operand(words, prefix.with_value) + prefix.skipped :]
    folder = next(values(words, "-C", "--chdir"), "") if key == "env" else ""
    if rest and key in _SCRIPTED:
        yield Script(" ".join(rest))
    elif rest:
        yield replace(
            command,
            words=rest,
            writes=(),
            folder=command.place(folder) if folder else command.folder,
        )
    if key == "env":
        yield from (Script(value) for value in values(words, "-S", "--split-string"))
    if key == "npx":
        yield from (Script(value) for value in values(words, "-c", "--call"))
    if key == "uv run":
        options = words[: len(words) - len(rest)]
        yield from _module(command, list(values(options, "-m", "--module")), rest)


def _module(command: Command, names: list[str], rest: tuple[str, ...]) -> Iterator[Inner]:
    for name in names:
        yield replace(command, words=(name, *rest), writes=())


def _shell(command: Command) -> Iterator[Inner]:
    if given := given_script(command):
        yield Script(*given)
    elif command.feed and script_operand(command) is None:
        yield from (Script(text) for text in command.feed.texts)


def _eval(command: Command) -> Iterator[Inner]:
    yield Script(" ".join(command.words[1:]))


def _trap(command: Command) -> Iterator[Inner]:
    words = command.words[1:]
    at = first_operand(words)
    if len(words) > at + 1:
        yield Script(words[at])


def _alias(command: Command) -> Iterator[Inner]:
    for word in command.words[1:]:
        if "=" in word:
            yield Script(word.partition("=")[2])


def _source(command: Command) -> Iterator[Inner]:
    if command.feed and command.words[1:2] == ("/dev/stdin",):
        yield from (Script(text) for text in command.feed.texts)


def _xargs(command: Command) -> Iterator[Inner]:
    with_value = valued("-I -n -P -L -d -E -s -a --max-args --max-procs --delimiter --arg-file")
    words = command.words[1:]
    rest = words[first_operand(words, with_value) :]
    if not rest:
        return
    marks = [*values(words[: len(words) - len(rest)], "-I", "--replace"), "{}"]
    for given in _items(command):
        if any(mark in word for mark in marks[:1] for word in rest) and len(marks) > 1:
            inner = tuple(word.replace(marks[0], given) for word in rest)
        else:
            inner = (*rest, *given.split())
        yield replace(command, words=inner, writes=(), feed=None)


def _items(command: Command) -> list[str]:
    """Return what xargs gets to hand on."""
    feed = command.feed
    if feed and feed.texts:
        return list(feed.texts)
    if feed and feed.words and feed.words[0].rsplit("/", 1)[-1] == "find":
        return found_by(feed.words[1:])
    return [UNKNOWN]


def _parallel(command: Command) -> Iterator[Inner]:
    words = command.words[1:]
    body, given = words, list[str]()
    for sign in (":::", ":::+", "::::"):
        if sign in body:
            at = body.index(sign)
            body, given = body[:at], list(words[at + 1 :])
    rest = body[first_operand(body, valued("-j -P -N -n -I --jobs -S --sshlogin")) :]
    for item in given or _items(command):
        line = " ".join(rest)
        yield Script(line.replace("{}", item) if "{}" in line else f"{line} {item}")


def _flock(command: Command) -> Iterator[Inner]:
    words = command.words[1:]
    yield from (Script(value) for value in values(words, "-c", "--command"))
    rest = words[first_operand(words, valued("-w -E --timeout")) + 1 :]
    if rest:
        yield replace(command, words=rest, writes=())


def _with_c(command: Command) -> Iterator[Inner]:
    yield from (Script(value) for value in values(command.words[1:], "-c", "--command"))


def _git(command: Command) -> Iterator[Inner]:
    """Yield what a git command is told to run: aliases, and the commands of a rebase."""
    words = command.words[1:]
    for setting in values(words, "-c"):
        key, _, value = setting.partition("=")
        if key.startswith("alias.") or key.rpartition(".")[2].lower() in _GIT_COMMANDS:
            yield Script(value.lstrip("!") if value.startswith("!") else f"git {value}")
    if "config" in words and words[-1].startswith("!"):
        yield Script(words[-1][1:])
    if "rebase" in words:
        yield from (Script(value) for value in values(words, "-x", "--exec"))


_GIT_COMMANDS = named(
    "pager editor sshcommand askpass fsmonitor hookspath external textconv driver helper"
)
_SPECIAL: dict[str, Callable[[Command], Iterator[Inner]]] = {
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "source": _source,
    ".": _source,
    "xargs": _xargs,
    "find": unfold_find,
    "parallel": _parallel,
    "flock": _flock,
    "script": _with_c,
    "su": _with_c,
    "runuser": _with_c,
    "git": _git,
}
