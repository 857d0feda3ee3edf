"""Which set-up commands of a model may be tried at all: a list of what is taken, not of refusals.

They run in a sandbox that reaches package indexes alone, so this is the second line. It is here
because what helps is offered for the repository's policy, where people read and keep it, and
because checks are to start with what was installed, not with what was made to look like it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agents.analysis.exposure import holds_secret
from agents.analysis.known_packages import KnownPackages
from agents.text.child_process import Exhausted, run_in_child
from agents.tools.shell.command import Command
from agents.tools.shell.known_install import find_known_install
from agents.tools.shell.options import word_set
from agents.tools.shell.programs import rule_of
from agents.tools.shell.script import read

MOST_COMMANDS, LONGEST = 12, 400  # commands, and characters of each

_INSTALLERS = word_set(
    "pip pip3 uv poetry pdm pipenv hatch tox nox npm npx pnpm yarn bun corepack go cargo mvn mvnw"
    " gradle gradlew bundle bundler gem composer mix dotnet cmake meson ninja make configure"
)
_BESIDES = word_set("cd export mkdir command [ test")
_INSTALLED_WITH = frozenset(("pip", name) for name in ("pip", "setuptools", "wheel"))
"""What packages are built and installed with, whatever names them."""
_IN_PYTHON = word_set("setup.py venv ensurepip build")  # as what `python` runs is named
_PYTHONS = re.compile(r"python3?(?:\.\d{1,2})?")
_MODULES = word_set("pip venv ensurepip build tox nox poetry pdm pipenv hatch")
_NULL = "/dev/null"
_PLAIN = re.compile(r"[\x20-\x7e]+")
_ADDRESS = re.compile(r"://|\bgit\+|\b[\w.-]+@[\w.-]+:", re.ASCII)
_INDEX = re.compile(
    r"\bindex(?:-url)?\b|--default-index\b|--find-links\b|--trusted-host\b|--proxy\b|\bregistry\b"
    r"|--source\b|--clear-sources\b|\w*(?:INDEX|REGISTRY|PROXY)\w*=|^\S+ config\b"
)
_SECRETS = re.compile(
    r"(?:\$\{?\w*|\b[A-Z0-9_]*)"
    r"(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE_?KEY|_AUTH)"
)

_NONE = "Name at least one command that installs something."
_MANY = f"That is too much: at most {MOST_COMMANDS} commands of {LONGEST} characters each."
_ODD = "Each command is one line of plain ASCII text."
_HARD = "`{command}` cannot be read: name simple commands, one after another."
_PROGRAM = (
    "`{name}` is no program that installs what a project needs. Use package tools, build tools,"
    " `python -m venv` and the like, `cd`, `export`, `mkdir`."
)
_PYTHON = "Python may run `-m` with {modules}, or `setup.py`; nothing else."
_WRITES = "`{command}` writes a file by itself: have a package tool install what is missing."
_ADDRESSES = (
    "`{command}` names an address or an index. The set-up reaches the package indexes of this"
    " machine and nothing else: name packages."
)
_FOREIGN = (
    "`{command}` would bring in what the default branch does not name, and people are asked for"
    " that. Install from its manifests and lock files (`-r`, `.[extra]`, `npm ci`), or packages"
    " that they name, in one `pip install` or `npm install` of their own."
)
_NAMES_SECRETS = (
    "`{command}` names what may be a secret. There are none where it runs, and the command would"
    " be shown to everybody."
)


async def find_fault(commands: Sequence[str], known: KnownPackages) -> str:
    """Return why these may not be tried, for the model; empty where they may.

    `known`: the packages that the default branch names. Others are for people to say yes to.
    """
    if len(commands) > MOST_COMMANDS or any(len(each) > LONGEST for each in commands):
        return _MANY
    if not all(_PLAIN.fullmatch(each) for each in commands):
        return _ODD
    try:
        return await run_in_child("\n".join(commands), _look_through, tuple(commands), known)
    except Exhausted:
        return _HARD.format(command="\n".join(commands)[:LONGEST])


def _look_through(commands: Sequence[str], known: KnownPackages) -> str:
    known = replace(known, names=known.names | _INSTALLED_WITH)
    installs = False
    for command in commands:
        analysis = read(command)
        if not analysis.readable or analysis.bomb or not analysis.commands:
            return _HARD.format(command=command)
        # Packages by name in a command of their own: that is one that can be read to the letter.
        own = find_known_install(command, known) is not None
        faults = (
            _judge_text(command),
            *(_judge(each, command, own=own) for each in analysis.commands),
        )
        if fault := next((fault for fault in faults if fault), ""):
            return fault
        installs = installs or any(each.name not in _BESIDES for each in analysis.commands)
    return "" if installs else _NONE


def _judge_text(command: str) -> str:
    if _ADDRESS.search(command) or _INDEX.search(command):
        return _ADDRESSES.format(command=command)
    if _SECRETS.search(command) or holds_secret(command):
        return _NAMES_SECRETS.format(command=command)
    return ""


def _judge(simple: Command, command: str, *, own: bool) -> str:
    """Return what speaks against one simple command of this one.

    `own`: it installs packages that the default branch names, and does nothing else.
    """
    if any(path != _NULL for path in simple.writes) or simple.reads or simple.feed:
        return _WRITES.format(command=command)
    name = simple.name
    if _PYTHONS.fullmatch(name):
        return _judge_python(simple.words[1:])
    if (rule := rule_of(simple)) is not None and not (own and rule == "dependency/new"):
        return _FOREIGN.format(command=command)
    known = not name or name in _INSTALLERS | _IN_PYTHON | _BESIDES
    return "" if known else _PROGRAM.format(name=name)


def _judge_python(words: Sequence[str]) -> str:
    module = words[1] if len(words) > 1 and words[0] == "-m" else ""
    if module in _MODULES or words[:1] == ("setup.py",):
        return ""
    return _PYTHON.format(modules=", ".join(f"`{each}`" for each in sorted(_MODULES)))
