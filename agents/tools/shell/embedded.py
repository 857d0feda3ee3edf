"""Step 8: commands within the options, and within the little languages, of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agents.tools.shell.command import Command, Script
from agents.tools.shell.options import named
from agents.tools.shell.quotes import ansi_c
from agents.tools.shell.variables import UNKNOWN

_OPTIONS: Mapping[str, tuple[str, ...]] = {
    name: tuple(options.split())
    for name, options in {
        "tar": "-I -F --use-compress-program --to-command --checkpoint-action --info-script"
        " --new-volume-script --rsh-command",
        "bsdtar": "--use-compress-program",
        "rsync": "-e --rsh",
        "sort": "--compress-program",
        "split": "--filter",
        "rg": "--pre",
        "man": "-P --pager",
        "script": "-c --command",
        "su": "-c --command --session-command",
        "runuser": "-c --command --session-command",
        "sg": "-c",
        "npm": "-c --call",
        "npx": "-c --call",
        "just": "-c --command",
        "nix-shell": "--run --command",
        "nodemon": "-x --exec",
        "hyperfine": "-p --prepare -c --cleanup -s --setup",
        "zip": "-TT --unzip-command",
        "git": "-x --extcmd -O --open-files-in-pager --exec --msg-filter --tree-filter"
        " --index-filter --env-filter --upload-pack --receive-pack",
        "gcc": "-wrapper",
        "g++": "-wrapper",
    }.items()
}
_ANYWHERE = ("--to-command", "--filter", "--use-compress-program", "--rsh", "--exec",
             "--exec-batch", "--checkpoint-action")  # fmt: skip
_COMPILERS = named("gcc g++ cc c++")
_REST = {"fd": named("-x -X --exec --exec-batch"), "fdfind": named("-x -X --exec --exec-batch")}

_TEXT = r"""(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')"""
_BRACKETED = (
    r"(?:%[qQxwW]?|\bq[qxw]?)\s*(?:\(([^)]*)\)|\{([^}]*)\}|\[([^\]]*)\]|<([^>]*)>|([/|!])(.*?)\5)"
)
_STRINGS = re.compile(rf"{_TEXT}|`([^`]*)`", re.DOTALL)
_QUOTED = re.compile(_BRACKETED, re.DOTALL)
_WHOLE = re.compile(r"(?:%x|\bqx)\s*(?:\((.*)\)|\{(.*)\}|\[(.*)\])", re.DOTALL)
_LISTS = re.compile(rf"{_TEXT}(?:\s*,\s*{_TEXT}){{1,20}}", re.DOTALL)
_LANGUAGES = named("perl ruby php lua luajit tclsh emacs gnuplot guile Rscript julia")
_STARTS = re.compile(
    r"\b(?:exec|spawn|system|popen\d?|open|fork|qx|syscall|capture\w*|shell[-_]\w+|call-process"
    r"|start-process|passthru|proc_open|posix_spawn|run|IO|Open3|Process|Kernel)\b|%x|`|\|['\"]"
)
_AWK = named("awk gawk mawk nawk original-awk")
_AWK_RUNS = re.compile(r"(?<!\|)\|(?!\|)|\bsystem\s*\(")
_SED_RUNS = re.compile(
    r"(?:^|[;\n{}\d$/])\s*e\s+(?P<line>[^\n]+)"
    r"|s(?P<sign>[^\w\s])(?:(?!(?P=sign)).){0,500}(?P=sign)"
    r"(?P<new>(?:\\.|(?!(?P=sign)).){0,500})(?P=sign)[gpiImM\d]{0,9}e",
    re.DOTALL,
)
_ESCAPES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.DOTALL)
    for names, pattern in {
        "vi vim nvim view ex vimdiff less more": r"^[+:]*(?:sil\w*!?\s+)?[:%\d,.$]*!(.+)",
        "sqlite3 sqlite": r"\.(?:shell|system)\s+([^\n]+)",
        "psql mysql mariadb": r"\\!\s*([^\n]+)",
        "gdb lldb": r"^(?:shell|!|platform shell)\s*(.+)",
    }.items()
    for name in names.split()
}
_DATABASES = named("sqlite sqlite3 psql mysql mariadb")
_FROM_INPUT = named("at batch script newgrp")


def in_options(command: Command) -> Iterator[Command | Script]:
    """Yield the commands that stand in options."""
    words, name = command.words[1:], command.name
    for value in _given(words, (*_OPTIONS.get(name, ()), *_ANYWHERE)):
        text = value.removeprefix("exec=")
        yield Script(text.replace(",", " ") if name in _COMPILERS else text)
    if name == "tar" and any("I" in word or "F" in word for word in _clusters(words)):
        yield from (Script(w) for w in words if w[:1] != "-" and UNKNOWN not in w)
    for at, word in enumerate(words):
        if word in _REST.get(name, ()) and words[at + 1 :]:
            yield replace(command, words=words[at + 1 :], writes=())
    if name in _FROM_INPUT and command.feed:
        yield from (Script(text) for text in command.feed.texts)


def _clusters(words: Sequence[str]) -> Iterator[str]:
    """Yield tar's options of one letter each, also as of old, without a dash."""
    for at, word in enumerate(words):
        if (at == 0 or word[:1] == "-") and word[:2] != "--" and "." not in word:
            yield word


def _given(words: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """Yield the values of options: long ones also cut short, short ones also behind others."""
    letters = "".join(option[1] for option in options if len(option) == 2)
    long = [option for option in options if len(option) > 2]
    for at, word in enumerate(words):
        after = words[at + 1 : at + 2]
        name, equals, value = word.partition("=")
        if name in long or (len(name) > 3 and any(each.startswith(name) for each in long)):
            yield from [value] if equals else after
        elif word[:1] == "-" and word[:2] != "--" and letters:
            found = re.search(f"[{letters}](.*)", word[1:], re.DOTALL)
            yield from ([found[1]] if found[1] else after) if found else ()


def embedded(command: Command) -> Iterator[Command | Script]:
    """Yield the commands in programs of awk, sed, Perl, Ruby and the like, and in editors'."""
    name, words = re.sub(r"[\d.]+$", "", command.name) or command.name, command.words[1:]
    plain = replace(command, writes=(), feed=None)
    takes_input = name in _LANGUAGES or name in _DATABASES or (name in _AWK and "-f" in words)
    texts = [*words, *(command.feed.texts if command.feed and takes_input else ())]
    if name in _LANGUAGES:
        for text in texts:
            if _STARTS.search(text):
                yield from _said(text, plain)
    elif name in _AWK and any(map(_AWK_RUNS.search, texts)):
        for text in texts:
            yield from _said(text, plain)
        yield from (Script(w.partition("=")[2]) for w in words if re.match(r"\w+=", w))
    elif name in ("sed", "gsed"):
        for found in (each for text in words for each in _SED_RUNS.finditer(text)):
            yield Script(found["line"] or found["new"])
    elif pattern := _ESCAPES.get(command.name):
        for text in texts:
            yield from (Script(found[1]) for found in pattern.finditer(text))


def _said(text: str, plain: Command) -> Iterator[Command | Script]:
    """Yield the texts in a program, each as a command, and lists of them as one."""
    for pattern in (_STRINGS, _QUOTED, _WHOLE):
        for found in list(pattern.finditer(text))[:40]:
            string = next((part for part in found.groups()[::-1] if part), "").strip("| \n")
            if string:
                yield Script(ansi_c(string))
    for found in list(_LISTS.finditer(text))[:20]:
        strings = [each[1] or each[2] or "" for each in _STRINGS.finditer(found[0])]
        yield replace(plain, words=tuple(strings))
