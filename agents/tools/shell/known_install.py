"""Recognise a script that installs packages which the repository names itself, and nothing else.

It is a list of what is taken, not of what is refused: one command of pip, uv, npm, pnpm, Yarn or
Bun, after `cd` to a folder if need be, with plain names and versions and a few options. Whatever
else a script says makes it one that people are asked about.
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
_FORMS = {
    "pip": _PIP,
    **{
        program: tuple((program, verb) for verb in ("install", "i", "add"))
        for program in ("npm", "pnpm", "bun")
    },
    "yarn": (("yarn", "add"),),  # its `install` takes no names
}
_OPTIONS = {
    "pip": re.compile(r"-qq?|--quiet|-U|--upgrade"),
    "npm": re.compile(
        r"-[DSEs]|--save(-dev|-exact)?|--no-(save|audit|fund)|--silent|--ignore-scripts"
    ),
    "pnpm": re.compile(r"-[DE]|--save-(dev|exact)|--silent|--ignore-scripts"),
    "yarn": re.compile(r"-[DE]|--(dev|exact)"),
    "bun": re.compile(r"-[dDE]|--(dev|exact)|--ignore-scripts"),
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
    # And the Yarn of this machine: a repository may bring a file to run instead.
    "yarn": "export YARN_IGNORE_PATH=1 YARN_ENABLE_SCRIPTS=false YARN_IGNORE_SCRIPTS=true",
}
_COMMANDS = {
    "pip": "pip install --only-binary :all: {given}",
    "npm": "npm install --ignore-scripts --no-audit --no-fund {given}",
    "pnpm": "pnpm add --ignore-scripts --ignore-pnpmfile {given}",
    "yarn": 'case "$(yarn --version)" in 1.*) yarn add --ignore-scripts --non-interactive {given};;'
    " *) yarn add --mode=skip-build {given};; esac",
    "bun": "bun add --ignore-scripts {given}",
}


@dataclass(frozen=True)
class KnownInstall:
    """Such a script, taken apart."""

    tool: str
    """Whose packages they are: `pip` or `npm`."""
    program: str
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
    for program, forms in _FORMS.items():
        for form in forms:
            if tuple(parts[-1][: len(form)]) == form:
                return _read_install(program, folder, parts[-1][len(form) :], known)
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
    program: str, folder: str, words: list[str], known: KnownPackages
) -> KnownInstall | None:
    tool = "pip" if program == "pip" else "npm"
    pattern = _REQUIREMENT if tool == "pip" else _PACKAGE
    names = [word for word in words if word[:1] != "-"]
    if not names or not all(_OPTIONS[program].fullmatch(word) for word in words if word[:1] == "-"):
        return None
    found = [pattern.fullmatch(word) for word in names]
    if not all(each and known.holds(tool, each[1]) for each in found):
        return None
    if tool == "npm" and folder not in known.folders:
        return None
    given = " ".join(map(shlex.quote, words))
    guards = dict.fromkeys((tool, program))
    steps = [*(_GUARDS[each] for each in guards if each in _GUARDS)]
    steps.append(_COMMANDS[program].format(given=given))
    start = go_to(folder, [folder] if tool == "pip" else [])
    return KnownInstall(tool, program, folder, start + " && ".join(steps))
