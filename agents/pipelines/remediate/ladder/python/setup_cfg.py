"""Read the requirements of a setup.cfg, and change one in place.

https://setuptools.pypa.io/en/latest/userguide/declarative_config.html
"""

from __future__ import annotations

import asyncio
import re

from agents.pipelines.remediate.ladder.files import read_text
from agents.pipelines.remediate.ladder.python.pyproject import Editing
from agents.pipelines.remediate.ladder.python.specs import Goal
from agents.ports import WorkTree

_SECTION = re.compile(r"\[([^\]]+)\]")
_OPTION = re.compile(r"([A-Za-z0-9_][\w.-]*)\s*[=:]\s*")
_EXTRAS = "options.extras_require"
_LISTS = ("install_requires", "setup_requires", "tests_require")


def list_lines(text: str) -> list[tuple[int, int, str]]:
    """Return the requirements: the number of the line, where in it each begins, and its text."""
    found, section, inside = [], "", False
    for at, line in enumerate(text.split("\n")):
        start = len(line) - len(line.lstrip())
        if (head := _SECTION.match(line)) is not None:
            section, inside = head[1].strip(), False
        elif (option := _OPTION.match(line)) is not None:
            inside = section == _EXTRAS or (section == "options" and option[1].lower() in _LISTS)
            start = option.end()
        elif line.strip() and not start:
            inside = False
        wanted = line[start:].rstrip()
        if inside and wanted and not wanted.startswith(("#", ";")):
            found.append((at, start, wanted))
    return found


async def require(tree: WorkTree, file: str, package: str, goal: Goal, *, widen: bool) -> list[str]:
    """Change the file's requirements on a package so that each admits its goal, and none before.

    Returns the changes for people. Raises Stuck where a requirement cannot be changed so.
    """
    text = await read_text(tree, file)
    editing = Editing(file, package, goal, widen=widen, locked=False)
    changed = await asyncio.to_thread(_rewrite, text, editing)
    if editing.changes:
        await tree.write(file, changed.encode())
    return editing.changes


def _rewrite(text: str, editing: Editing) -> str:
    lines = text.split("\n")
    found = list_lines(text)
    wanted = [requirement for _, _, requirement in found]
    editing.rewrite_list(wanted)
    for (at, start, old), new in zip(found, wanted, strict=True):
        lines[at] = f"{lines[at][:start]}{new}{lines[at][start + len(old) :]}"
    return "\n".join(lines)
