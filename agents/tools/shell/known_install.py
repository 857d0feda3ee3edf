"""Recognise a script that installs packages which the repository names itself, and nothing else.

It is a list of what is taken, not of what is refused: one command of pip, uv or npm, after `cd` to
a folder if need be, with plain names and versions and a few options. Whatever else a script says
makes it one that people are asked about.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from agents.analysis.known_packages import KnownPackages
from agents.analysis.languages import go_to
from agents.tools.paths import leaves
from agents.tools.shell.script import read

LONGEST = 1_000  # characters of such a script

_PLAIN = re.compile(r"[\w \t./=<>~!,@\[\]'\"&^+-]+", re.ASCII)
_PIP = (
    ("pip", "install"),
    ("pip3", "install"),
    ("uv", "pip", "install"),  # pip does it: the environment is the same
    *((python, "-m", "pip", "install") for python in ("python", "python3")),
)
_NPM = tuple(("npm", verb) for verb in ("install", "i", "add"))
_OPTIONS = {
    "pip": re.compile(r"-qq?|--quiet|-U|--upgrade"),
    "npm": re.compile(
        r"-[DSEs]|--save(-dev|-exact)?|--no-(save|audit|fund)|--silent|--ignore-scripts"
    ),
}
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})(?:\[[A-Za-z0-9,._-]{1,99}\])?"
    r"(?:(?:[=!~]=|[<>]=?)[\w.*+!]{1,40}(?:,(?:[=!~]=|[<>]=?)[\w.*+!]{1,40}){0,3})?",
    re.ASCII,
)
_PACKAGE = re.compile(
    r"((?:@[a-z0-9][\w.-]{0,99}/)?[a-z0-9][\w.-]{0,99})"
    r"(?:@(?:latest|[\^~]?\d[\w.+-]{0,40}))?",
    re.ASCII,
)
_FOLDER = re.compile(r"[\w][\w./-]{0,199}", re.ASCII)
_GUARDS = {
    # Wheels alone, since building runs what their authors wrote; no settings that lie about.
    "pip": "export PIP_CONFIG_FILE=/dev/null PIP_KEYRING_PROVIDER=disabled PYTHONNOUSERSITE=1",
    "npm": "export npm_config_ignore_scripts=true npm_config_globalconfig=/dev/null",
}
_COMMANDS = {
    "pip": "pip install --only-binary :all:",
    "npm": "npm install --ignore-scripts --no-audit --no-fund",
}


@dataclass(frozen=True)
class KnownInstall:
    """Such a script, taken apart."""

    tool: str
    folder: str
    """Where it installs, relative to the root; empty for the root."""
    script: str
    """What is run for it."""


def find_known_install(script: str, known: KnownPackages | None) -> KnownInstall | None:
    """Return the install that the script is, if all that it names is known; else None."""
    if known is None or len(script) > LONGEST or not _PLAIN.fullmatch(script.strip()):
        return None
    parts = _split(script)
    if not parts or len(parts) > 2 or not _runs_just(parts, script):
        return None
    folder = _read_folder(parts[0]) if len(parts) == 2 else ""
    if folder is None:
        return None
    for tool, forms in (("pip", _PIP), ("npm", _NPM)):
        for form in forms:
            if tuple(parts[-1][: len(form)]) == form:
                return _read_install(tool, folder, parts[-1][len(form) :], known)
    return None


def _runs_just(parts: list[list[str]], script: str) -> bool:
    """Return whether the gate reads the script as just these commands, too."""
    commands = read(script).commands
    inner = [part[2:] for part in parts if part[1:2] == ["-m"]]
    return {each.words for each in commands} == {tuple(part) for part in (*parts, *inner)} and not (
        any(each.writes or each.reads or each.feed for each in commands)
    )


def _split(script: str) -> list[list[str]]:
    """Return the words of each command; none where one does not simply follow the other."""
    lexer = shlex.shlex(script.strip(), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.wordchars += "@[]^!+,"
    try:
        words = list(lexer)
    except ValueError:
        return []
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            parts.append([])
        elif set(word) <= set("();<>|&"):
            return []
        else:
            parts[-1].append(word)
    return parts if all(parts) else []


def _read_folder(words: list[str]) -> str | None:
    if len(words) != 2 or words[0] != "cd" or not _FOLDER.fullmatch(words[1]):
        return None
    return None if leaves(words[1]) or ".." in words[1] else words[1].strip("/")


def _read_install(
    tool: str, folder: str, words: list[str], known: KnownPackages
) -> KnownInstall | None:
    pattern = _REQUIREMENT if tool == "pip" else _PACKAGE
    names = [word for word in words if word[:1] != "-"]
    if not names or not all(_OPTIONS[tool].fullmatch(word) for word in words if word[:1] == "-"):
        return None
    found = [pattern.fullmatch(word) for word in names]
    if not all(each and known.holds(tool, each[1]) for each in found):
        return None
    if tool == "npm" and folder not in known.folders:
        return None
    given = " ".join(map(shlex.quote, words))
    steps = [_GUARDS[tool], f"{_COMMANDS[tool]} {given}"]
    return KnownInstall(
        tool, folder, go_to(folder, [folder] if tool == "pip" else []) + " && ".join(steps)
    )
