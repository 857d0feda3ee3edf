"""Programs whose operands are the command that they run, such as `env` and `timeout`, as data."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agents.tools.shell.command import Command, Script
from agents.tools.shell.options import Valued, find_values, first_operand, word_set


@dataclass(frozen=True)
class Prefix:
    """A program whose operands, after `skipped` of them, are the command that it runs."""

    with_value: Valued = frozenset()
    skipped: int = 0


_ENV_VALUED = word_set("-u --unset -C --chdir -S --split-string -a --argv0")
_ENV_SPLIT = "--split-string"
_LINKER = word_set("--library-path --preload --argv0 --audit")
_TMUX = Prefix(word_set("-c -f -L -S -n -s -t -x -y -F -e"))
_PREFIXES = {
    "env": Prefix(_ENV_VALUED),
    "sudo": Prefix(word_set("-u -g -h -p -C -T -r -t -D -R --user --group --host")),
    "doas": Prefix(word_set("-u -C")),
    "nice": Prefix(word_set("-n --adjustment")),
    "ionice": Prefix(word_set("-c -n -p --class --classdata")),
    "chrt": Prefix(skipped=1),
    "taskset": Prefix(skipped=1),
    "nohup": Prefix(),
    "setsid": Prefix(),
    "time": Prefix(word_set("-f -o --format --output")),
    "timeout": Prefix(word_set("-k -s --kill-after --signal"), skipped=1),
    "stdbuf": Prefix(word_set("-i -o -e --input --output --error")),
    "unbuffer": Prefix(),
    "rlwrap": Prefix(word_set("-a -H -f -p -s")),
    "watch": Prefix(word_set("-n --interval -q --equexit")),
    "entr": Prefix(),
    "watchexec": Prefix(word_set("-w -e -f -i -d -s")),
    "nodemon": Prefix(word_set("-w -e -i -d --watch --ext --ignore --delay")),
    "concurrently": Prefix(word_set("-n -c -k -m")),
    "hyperfine": Prefix(word_set("-w -r -m -M -p -c -n -L")),
    "cross-env": Prefix(),
    "cross-env-shell": Prefix(),
    "faketime": Prefix(word_set("-f"), skipped=1),
    "eatmydata": Prefix(),
    "firejail": Prefix(),
    "proxychains": Prefix(word_set("-f")),
    "proxychains4": Prefix(word_set("-f")),
    "torsocks": Prefix(),
    "torify": Prefix(),
    "perf stat": Prefix(word_set("-e -r -o")),
    "perf record": Prefix(word_set("-e -F -o")),
    "valgrind": Prefix(),
    "gdb": Prefix(word_set("-x -ex -iex")),
    "systemd-run": Prefix(word_set("-p -u -E")),
    "sg": Prefix(skipped=1),
    "dotenv": Prefix(word_set("-f -e -c -v")),
    "dotenv run": Prefix(),
    "honcho run": Prefix(word_set("-e -f")),
    "foreman run": Prefix(word_set("-e -f")),
    "tox exec": Prefix(word_set("-e")),
    "screen": Prefix(word_set("-S -dmS -dS -c -h -p -s -t -T")),
    "tmux new": _TMUX,
    "tmux new-session": _TMUX,
    "tmux new-window": _TMUX,
    "tmux neww": _TMUX,
    "tmux split-window": _TMUX,
    "tmux run-shell": _TMUX,
    "chpst": Prefix(word_set("-u -U -e -/ -n -l -L -m -d -o -p -f -c -r -t")),
    "ld-linux.so.2": Prefix(_LINKER),
    "ld-linux-x86-64.so.2": Prefix(_LINKER),
    "ld-linux-aarch64.so.1": Prefix(_LINKER),
    "chronic": Prefix(),
    "ifne": Prefix(),
    "exec": Prefix(word_set("-a")),
    "command": Prefix(),
    "builtin": Prefix(),
    "coproc": Prefix(),
    "busybox": Prefix(),
    "toybox": Prefix(),
    "prlimit": Prefix(),
    "strace": Prefix(word_set("-e -o -s -p -P -u -E")),
    "ltrace": Prefix(word_set("-e -o -s -p -u")),
    "unshare": Prefix(word_set("-S -G -R -w")),
    "chroot": Prefix(skipped=1),
    "setarch": Prefix(),
    "xvfb-run": Prefix(word_set("-n -e -f -s -w")),
    "dbus-run-session": Prefix(),
    "fakeroot": Prefix(),
    "catchsegv": Prefix(),
    "direnv exec": Prefix(skipped=1),
    "uv run": Prefix(
        word_set(
            "--with --with-editable --with-requirements --python -p --extra --group --only-group"
            " --project --directory --env-file --package --index --index-url -m --module"
        )
    ),
    "uvx": Prefix(word_set("--from --with --python -p")),
    "uv tool run": Prefix(word_set("--from --with --python -p")),
    "pipx run": Prefix(word_set("--spec --python")),
    "poetry run": Prefix(),
    "pipenv run": Prefix(),
    "pdm run": Prefix(word_set("-p --project")),
    "rye run": Prefix(),
    "hatch run": Prefix(),
    "conda run": Prefix(word_set("-n -p --name --prefix --cwd")),
    "npx": Prefix(word_set("-p --package -w --workspace")),
    "pnpm exec": Prefix(),
    "pnpm dlx": Prefix(),
    "npm exec": Prefix(word_set("-w --workspace --package")),
    "npm x": Prefix(word_set("-w --workspace --package")),
    "yarn exec": Prefix(),
    "yarn run": Prefix(),
    "yarn dlx": Prefix(),
    "bunx": Prefix(),
    "bundle exec": Prefix(),
    "mise exec": Prefix(),
    "mise x": Prefix(),
    "git bisect run": Prefix(),
    "git submodule foreach": Prefix(),
}
_SCRIPTED = frozenset(("watch", "git submodule foreach", "hatch run", "sg", "cross-env-shell"))
"""These hand what they run to a shell, as one line."""

_BY_NAME = {
    name: [key for key in sorted(_PREFIXES, key=len, reverse=True) if key.split()[0] == name]
    for name in {key.split()[0] for key in _PREFIXES}
}
_LOOKS_UP = word_set("-v -V")


def unfold_prefix(command: Command) -> Iterator[Command | Script]:
    """Yield what such a program would run."""
    for key in _BY_NAME.get(command.name, ()):
        words = _skip_verbs(command.words[1:], key.split()[1:])
        if words is not None:
            yield from _unfold(key, words, command)
            return


def _skip_verbs(words: tuple[str, ...], verbs: Sequence[str]) -> tuple[str, ...] | None:
    """Return what follows these verbs; options, which may have values, can stand between them."""
    for verb in verbs:
        at = 0
        while at < len(words) and words[at] != verb:
            if words[at][:1] != "-" and (at == 0 or words[at - 1][:1] != "-"):
                return None
            at += 1
        if at == len(words):
            return None
        words = words[at + 1 :]
    return words


def _unfold(key: str, words: tuple[str, ...], command: Command) -> Iterator[Command | Script]:
    prefix = _PREFIXES[key]
    if key == "command" and words[:1] and words[0] in _LOOKS_UP:
        return
    if key == "env":
        yield from _env(words, command)
        return
    start = first_operand(words, prefix.with_value)
    rest = words[start + prefix.skipped :]
    rest = rest[1:] if prefix.skipped and rest[:1] == ("--",) else rest
    if rest and (key in _SCRIPTED or " " in rest[0]):
        yield Script(" ".join(rest))
    if rest and " " not in rest[0]:
        yield replace(command, words=rest, writes=())
    if key in ("concurrently", "hyperfine"):
        yield from (Script(word) for word in rest[1:])
    if key == "uv run":
        for name in find_values(words[:start], "-m", "--module"):
            yield replace(command, words=(name, *rest), writes=())


def _env(words: tuple[str, ...], command: Command) -> Iterator[Command | Script]:
    """Yield what `env` runs: `-` alone is an option of it, and `-S` makes words of one."""
    at = 0
    while at < len(words) and words[at][:1] == "-" and words[at] != "--":
        word, value = words[at], words[at + 1 : at + 2]
        name, equals, given = word.partition("=")
        short = word[:2] != "--" and "S" in word
        if short or (len(name) > len("--") and _ENV_SPLIT.startswith(name)):
            after = word.partition("S")[2] if short else given
            text = (after,) if after or equals else value
            rest = words[at + (1 if after or equals else 2) :]
            yield Script(" ".join(["env", *text, *map(shlex.quote, rest)]))
            return
        takes = word in _ENV_VALUED or (word[:2] != "--" and word[-1:] in ("u", "C", "a"))
        at += 2 if takes else 1
    rest = words[at + (words[at : at + 1] == ("--",)) :]
    folder = next(find_values(words[:at], "-C", "--chdir"), "")
    place = command.place(folder) if folder else command.folder
    if rest:
        yield replace(command, words=rest, writes=(), folder=place)
