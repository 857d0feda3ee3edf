"""What an index does not have: which command installs the rest, where one package is in the way.

A private package, or a version that was never published, must not keep all others away: most
often it is a linter's settings or a plugin for the documentation, and the tests need neither. It
is left out, and never taken in another version: under the name of a private package an index may
have somebody else's.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from agents.analysis.languages.javascript import DEPENDENCIES

_NO_DISTRIBUTION = re.compile(r"No matching distribution found for ([A-Za-z0-9][\w.-]{0,100})")
_NPM_NAME = r"((?:@[a-z0-9~][\w.~-]{0,100}/)?[a-z0-9~][\w.~-]{0,100})"
_NO_PACKAGE = re.compile(
    rf"No matching version found for {_NPM_NAME}@"
    rf"|'{_NPM_NAME}@[^'\n]{{0,200}}' is not in this registry"
)
_REFUSED = re.compile(r"40[134] [^\n]{0,40}- GET https?://[^/\s]{1,200}/(\S{1,300})")
_EDITED = ".in-reach.txt"


@dataclass(frozen=True)
class Unavailable:
    """One package that cannot be had as it is asked for, and how to do without."""

    name: str
    commands: tuple[str, ...]
    """What to run instead; the last one is the command that failed, as far as it can succeed."""


def find_unavailable(command: str, output: str, told: Collection[str] = ()) -> Unavailable | None:
    """Return what the output says cannot be had; None where it says nothing that helps.

    For the commands that Fettle writes itself: pip's with names or a file of them, npm's without.
    `told`: what was left out by earlier tries.
    """
    if command.startswith("pip install ") and _is_plain(command):
        found = _find_distribution(shlex.split(command), output)
    elif command.startswith("npm install "):
        found = _find_package(command, output)
    else:
        return None
    return None if found is None or found.name in told else found


def _is_plain(command: str) -> bool:
    """Return whether it is one program with its arguments, for the shell as for us."""
    if any(each in command for each in "$`\n\\"):
        return False
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    try:
        return not any(word and not word.strip("();<>|&") for word in words)
    except ValueError:  # a quote that is not closed
        return False


def _find_distribution(words: Sequence[str], output: str) -> Unavailable | None:
    said = _NO_DISTRIBUTION.search(output)
    if said is None:
        return None
    name = str(canonicalize_name(said[1]))
    if len(words) == 4 and words[2] == "-r":
        return Unavailable(name, _edit_requirements(words[3], name))
    kept = [word for word in words if _name_of(word) != name]
    if kept == list(words) or all(word.startswith("-") for word in kept[2:]):
        return None
    return Unavailable(name, (shlex.join(kept),))


def _edit_requirements(path: str, name: str) -> tuple[str, ...]:
    """Return how to install what a file lists but for that package.

    Not where it has hashes: then nothing may be installed that it does not name to the letter.
    """
    line = f"^{name.replace('-', '[-_.]+')}([[:space:]=<>!~;#@([]|$)"
    copy = path if path.endswith(_EDITED) else f"{path}{_EDITED}"
    place = "-i " if copy == path else ""
    into = "" if copy == path else f" >{shlex.quote(copy)}"
    source, edit = shlex.quote(path), shlex.quote(f"/{line}/Id")
    return (
        f"! grep -q -e --hash {source} && sed -E {place}{edit} {source}{into}",
        f"pip install -r {shlex.quote(copy)}",
    )


def _name_of(word: str) -> str:
    try:
        return str(canonicalize_name(Requirement(word).name))
    except InvalidRequirement:
        return ""


def _find_package(command: str, output: str) -> Unavailable | None:
    """Take it out of the manifest: that of the set-up is a copy, which is thrown away."""
    found = _NO_PACKAGE.search(output)
    name = (found[1] or found[2]) if found else ""
    if not name and (refused := _REFUSED.search(output)):
        name = unquote(refused[1]).partition("/-/")[0]
    if not re.fullmatch(_NPM_NAME, name):
        return None
    places = (f"{kind}[{name}]" for kind in (*DEPENDENCIES, "peerDependencies"))
    return Unavailable(name, (f"npm pkg delete {shlex.join(places)}", command))
