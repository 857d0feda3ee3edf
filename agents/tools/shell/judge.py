"""Holds each command of a script against the gate's built-in rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agents.policy import Policy, is_for_people_alone
from agents.tools.gate.rules import Finding
from agents.tools.shell import places
from agents.tools.shell.changes import Change, changes
from agents.tools.shell.command import Command
from agents.tools.shell.git import GitCommand
from agents.tools.shell.interpreters import PIPE, is_opaque, is_piped
from agents.tools.shell.network import needs_network
from agents.tools.shell.options import (
    find_values,
    first_operand,
    has_option,
    list_operands,
    word_set,
)
from agents.tools.shell.programs import rule_of
from agents.tools.shell.script import ScriptAnalysis
from agents.tools.shell.variables import UNKNOWN
from agents.tools.shell.wrappers import SHELLS, given_script, script_operand

SHOWN = 200  # characters of a command that a finding repeats

_SET_ID = re.compile(r"[0-7]?[2-7][0-7]{3}|[ugoa,]*[+=][rwxXt]*s.*")
_PS_ENVIRONMENT = re.compile(r"[a-zA-Z]*e[a-zA-Z]*")
_SEARCH = word_set("grep egrep fgrep rg ag ack zgrep")
_SEARCH_VALUED = word_set(
    "--regexp -A -B -C -m -e -f -g -t -T -d -D -j -M --include --exclude --exclude-dir --glob"
    " --type --file --max-count --context --after-context --before-context --color"
)
_MESSAGES = ("-m", "--message", "--grep", "-S", "-G", "--author")


def judge(reading: ScriptAnalysis, policy: Policy) -> Iterator[Finding]:
    """Yield everything that the gate's own rules have against the script."""
    if not reading.readable:
        yield Finding("shell/unreadable")
    if reading.bomb:
        yield Finding("machine/fork-bomb")
    filtered = {each.feed.words for each in reading.commands if each.feed and _filters(each)}
    for command in reading.commands:
        yield from _judge_program(command, narrowed=command.words in filtered)
        yield from _judge_secrets(command)
        for change in changes(command):
            yield from judge_change(change, command, policy)


def describe_command(command: Command) -> str:
    """Return a command for people, `…` where only its run can tell."""
    text = " ".join(command.text.split()).replace(UNKNOWN, "…")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


# --- which program it is ------------------------------------------------------------------------


def _filters(command: Command) -> bool:
    """Return whether it passes on only what a pattern names, or counts."""
    given = list_operands(command.words[1:])
    searches = command.name in ("grep", "egrep", "rg") and not has_option(command.words[1:], "v")
    named_well = bool(given) and len(given[0].strip(".*^$")) > 2
    return (searches and named_well) or (command.name == "wc" and not command.writes)


def _judge_program(command: Command, *, narrowed: bool = False) -> Iterator[Finding]:
    name, words = command.name, command.words[1:]
    if UNKNOWN in name and not _runs_module(command):
        yield Finding("shell/unclear", describe_command(command))
    if rule := rule_of(command):
        yield Finding(rule, describe_command(command))
    if needs_network(command):
        yield Finding("network/none", describe_command(command))
    if name == "git" and (rule := _git_rule(command)):
        yield Finding(rule, describe_command(command))
    if name == "chmod" and any(_SET_ID.fullmatch(word) for word in words[:2]):
        yield Finding("privilege/raise", describe_command(command))
    if not narrowed and _shows_environment(command):
        yield Finding("secrets/environment", describe_command(command))
    yield from _hidden_script(command)


def _runs_module(command: Command) -> bool:
    """Return whether it is some Python that runs a module, like `$PYTHON -m pytest`."""
    words = command.words
    if words[0] != UNKNOWN or words[1:2] != ("-m",) or not words[2:] or UNKNOWN in words[2]:
        return False
    inner = replace(command, words=words[2:])
    return rule_of(inner) is None and inner.name not in ("pip", "http", "timeit", "pdb")


def _git_rule(command: Command) -> str | None:
    git = GitCommand.parse(command)
    return git.rule(command.place(git.folder) if git.folder else command.folder)


def _hidden_script(command: Command) -> Iterator[Finding]:
    """Find a shell that gets to run what is not written out."""
    name, words = command.name, command.words[1:]
    if name == "eval" and any(UNKNOWN in word for word in words):
        yield Finding("shell/piped", describe_command(command))
    if name in SHELLS and given_script(command) is None and not _only_checks(words):
        operand = script_operand(command)
        from_pipe = is_piped(command) or any(map(PIPE.match, command.reads))
        if from_pipe if operand is None else PIPE.fullmatch(operand):
            yield Finding("shell/piped", describe_command(command))
    if is_opaque(command):
        yield Finding("shell/piped", describe_command(command))
    if name in ("source", ".") and words and PIPE.fullmatch(words[0]):
        told = words[0] == "/dev/stdin" and command.feed and command.feed.texts
        if not told:
            yield Finding("shell/piped", describe_command(command))


def _only_checks(words: Sequence[str]) -> bool:
    """Return whether a shell only reads its script, without running it."""
    options = words[: first_operand(words)]
    return has_option(options, "n") and not any(word.startswith("+") for word in words)


def _shows_environment(command: Command) -> bool:
    words = command.words[1:]
    match command.name:
        case "env":
            rest = words[
                first_operand(words, word_set("-u --unset -C --chdir -S --split-string")) :
            ]
            long = ("--split-string", "--version", "--help")
            return all("=" in word for word in rest) and not has_option(words, "S", *long)
        case "printenv" | "set":
            return not list_operands(words) and not any(
                w[:1] in ("-", "+") and w != "-0" for w in words
            )
        case "export" | "declare" | "typeset" | "readonly":
            return not [word for word in words if word not in ("-p", "-x", "-px", "-xp")]
        case "compgen":
            return has_option(words, "ev")
        case _:
            return _shows_others(command.name, words)


def _shows_others(name: str, words: Sequence[str]) -> bool:
    """Return whether a program shows the environment besides what it is for."""
    if name == "ps":
        letters = list_operands(words, word_set("-C -o -u -U -p -t -g -q -k --sort --pid --ppid"))
        return any(map(_PS_ENVIRONMENT.fullmatch, letters))
    filters = list_operands(words, word_set("--arg --argjson --slurpfile")) if name == "jq" else []
    return bool(filters) and bool(re.fullmatch(r"\s*(?:env|\$ENV)\s*", filters[0]))


# --- which files it is about --------------------------------------------------------------------


def _judge_secrets(command: Command) -> Iterator[Finding]:
    words = list(command.words[1:])
    for text in texts_in(command):
        words.remove(text)
    for word in dict.fromkeys((*words, *command.reads, *command.writes)):
        if found := places.find_secret(word, command.place(word)):
            yield Finding("secrets/files", found.replace(UNKNOWN, "…"))


def texts_in(command: Command) -> Iterator[str]:
    """Yield arguments that the command takes as text, each as often as it is given."""
    name, words = command.name, command.words[1:]
    if name in ("echo", "printf"):
        yield from words
    elif name in _SEARCH:
        yield from _patterns(words)
    elif name == "pytest":
        yield from (value for value in find_values(words, "-k", "-m") if value in words)
    elif name == "git":
        yield from (word for word in words if word.startswith("--") and _is_message(word))
        yield from (value for value in find_values(words, *_MESSAGES) if value in words)


def _patterns(words: tuple[str, ...]) -> Iterator[str]:
    given = [value for value in find_values(words, "-e", "--regexp") if value in words]
    yield from given
    at = first_operand(words, _SEARCH_VALUED)
    if (
        not given
        and not has_option(words, "f", "--file", "--files", "--regexp")
        and at < len(words)
    ):
        yield words[at]


def _is_message(word: str) -> bool:
    return word.partition("=")[0] in _MESSAGES


def judge_change(change: Change, command: Command, policy: Policy) -> Iterator[Finding]:
    """Yield what speaks against one change of a file."""
    place = command.place(change.path)
    path = places.relative_path(place)
    if not change.path or places.is_sink(place) or _names_file(change, command, policy):
        return
    if places.is_unclear(place):
        if change.deletes and change.wide and not places.is_build_output(place):
            yield Finding("delete/outside-build", f"what `{describe_command(command)}` finds")
    elif path is None:
        yield from _judge_outside(place, change, command)
    elif places.is_git(path):
        yield Finding("path/git", path)
    elif pattern := places.find_protection(path, policy, wide=change.wide):
        yield report_protected(path, pattern, wide=change.wide)
    elif change.deletes and change.wide and not _is_made_again(path):
        yield Finding("delete/outside-build", _describe_path(path))


def _is_made_again(path: str) -> bool:
    return places.is_build_output(path) or places.are_pictures(path)


def _names_file(change: Change, command: Command, policy: Policy) -> bool:
    """Return whether the target of a copy is itself a protected file: then it is no folder."""
    target = places.relative_path(command.place(change.within)) if change.within else None
    return target is not None and policy.protects(target) is not None


def _describe_path(path: str) -> str:
    """Return a path for people."""
    whole = path.strip("./*" + UNKNOWN) == ""
    return "everything in the repository" if whole else f"`{path.replace(UNKNOWN, '…')}`"


def _judge_outside(place: str, change: Change, command: Command) -> Iterator[Finding]:
    if places.is_scratch(place):
        return
    if places.is_device(place):
        yield Finding("machine/device", describe_command(command))
    else:
        yield Finding("delete/system" if change.deletes else "path/outside", place)


def report_protected(path: str, pattern: str, *, wide: bool = False) -> Finding:
    """Return what is to be said of a change to a protected path."""
    what = f"{path.replace(UNKNOWN, '…')} (pattern `{pattern}`)"
    if is_for_people_alone(path):
        return Finding("path/never", what)
    if wide or places.is_pattern(path):
        return Finding("path/protected-unnamed", what)
    return Finding("path/protected", what, (path,))
