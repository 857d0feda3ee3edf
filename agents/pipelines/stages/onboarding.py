"""Stage set_up: install dependencies before any model is asked; and what each model is told first.

It is told what was installed, and how the repository's contributors are to work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator

from agents.analysis.failure_cause import read_cause
from agents.analysis.scoped_instructions import list_scoped, read_scoped
from agents.pipelines.stages.quality import (
    hold_to,
    look_again,
    look_at_checks,
    may_look_again,
)
from agents.ports import LinkedIssue, SetupCommand, SetupResult
from agents.run import StageContext, stage
from agents.text import clean_in_child, one_line, printable

DIFF_LIMIT = 40_000  # characters of the whole change that a prompt shows
COMMANDS_LIMIT = 2_000  # characters of the commands that a prompt shows
PROBLEMS_LIMIT = 4_000  # and of what went wrong, with the end of what the commands wrote
TAIL = 1_500  # characters of each failed command's output
SUMMARY = 120

_LINKED = "The issue mentions the {kind} #{number} ({state}), written by {by}:"
_TREE = (
    "What is where, at the top of the repository (the number of files in each folder):\n\n{tree}"
)
_TOOLS = "Commands are given these tools, in the versions that the repository asks for: {tools}."
_NOTHING = "Nothing needed to be installed before you began."
_INSTALLED = """Before you began, these commands were run to install what the repository needs \
({source}):

{commands}

What they installed is there read-only, and there is no network to install more."""
_IN_IMAGE = "Commands run in the container image `{image}`: what is installed there, they have."
_MISSING = """Not everything could be installed. Work with what is there, and say in your report \
what you could not run for that reason. This is what went wrong:

{problems}"""
FILES = (
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    "CONTRIBUTING.rst",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
    "docs/contributing.md",
    ".github/copilot-instructions.md",
)
NEARBY = ("AGENTS.md", "CLAUDE.md")
"""Instructions that hold for the folder they lie in, and all below it."""
MOST_FOLDERS = 30
MOST_SCOPED = 40  # files of instructions that are opened to see for what they hold
LINKED_LIMIT = 3_000  # characters of each issue that the issue mentions
TREE_LINES, TREE_LIMIT = 60, 3_000  # lines and characters of the tree that a prompt shows
MOST_TOOLS = 12
_PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)+")
FILE_LIMIT, FILES_LIMIT = 8_000, 20_000  # characters of one file, and of all of them
READ = 8 * FILE_LIMIT  # bytes of a file: what is hidden in it goes before it is bounded
MOST_EXCERPTS = 12
PLACE = re.compile(r"(?P<path>[^\n:]+):(?P<first>[1-9]\d{0,6})(?:-(?P<last>[1-9]\d{0,6}))?")


def _check_place(text: str) -> str:
    if not PLACE.fullmatch(text):
        raise ValueError("must be like `src/lib.py:10-42`")
    return text


KnownPlace = Annotated[str, AfterValidator(_check_place)]
"""Lines of a file, as `path:first-last` or `path:line`."""
_NO_INSTRUCTIONS = "The repository has no instructions for contributors."
_HEADING = "The repository's instructions for contributors, from its default branch:"
_CUT = "\n[cut here: read the file itself for the rest]"


@stage
async def set_up(run: StageContext) -> SetupResult:
    """Install dependencies."""
    result = hold_to(run.standing.setup, await run.install())
    if result.problems and await may_look_again(run):
        look = partial(look_at_checks, run, broken=True)
        result = await look_again(run, result, await look(), look)
    run.summarize(one_line(_summary(result), SUMMARY))
    return result


def describe_setup(run: StageContext, setup: SetupResult) -> str:
    """Return what the model is told of it: bounded, and other people's words fenced."""
    parts = []
    if setup.commands:
        commands = "\n".join(command.command for command in setup.commands)
        fenced = run.fence(printable(commands), limit=COMMANDS_LIMIT)
        parts.append(_INSTALLED.format(source=setup.source, commands=fenced))
    if setup.problems:
        problems = "\n\n".join([*setup.problems, *map(_failure, list_failed_commands(setup))])
        fenced = run.fence(printable(problems), limit=PROBLEMS_LIMIT)
        parts.append(_MISSING.format(problems=fenced))
    if setup.image is not None and setup.image.id:
        parts.append(_IN_IMAGE.format(image=setup.image.image))
    if setup.tools:
        parts.append(_TOOLS.format(tools=", ".join(map(printable, setup.tools[:MOST_TOOLS]))))
    if not (setup.commands or setup.problems):
        parts.insert(0, _NOTHING)
    return "\n\n".join(parts)


async def describe_ground(run: StageContext, setup: SetupResult) -> str:
    """Return what a session that begins is told: what is where, and what was installed."""
    tree = _list_tree(await run.ports.source.files(run.head))
    fenced = run.fence(printable("\n".join(tree)), limit=TREE_LIMIT)
    return "\n\n".join([_TREE.format(tree=fenced), describe_setup(run, setup)])


async def describe_linked(run: StageContext, linked: Sequence[LinkedIssue]) -> list[str]:
    """Return what the issue refers to, each for a prompt, in fences."""
    told = []
    for issue in linked:
        text = (await clean_in_child(f"{issue.title}\n\n{issue.body}")).text
        author = issue.author or "somebody whose account is gone"
        about = _LINKED.format(**issue.model_dump(include={"kind", "number", "state"}), by=author)
        told.append(f"{about}\n\n{run.fence(text, limit=LINKED_LIMIT)}")
    return told


def _list_tree(paths: Sequence[str]) -> list[str]:
    """Return the files and folders of the root, and those below them where there is room."""
    lines: list[str] = []
    top = _count_entries(paths, "")
    room = TREE_LINES - len(top)
    for entry, number in list(top.items())[:TREE_LINES]:
        lines.append(_name_entry(entry, number))
        below = _count_entries(paths, entry) if entry.endswith("/") else {}
        if len(below) <= room:
            room -= len(below)
            lines += [f"  {_name_entry(*each)}" for each in below.items()]
    more = len(top) - TREE_LINES
    return [*lines, f"and {more} more"] if more > 0 else lines


def _count_entries(paths: Sequence[str], start: str) -> dict[str, int]:
    """Return how many files each entry of a folder holds, by its name; those of folders end so."""
    inside = (path[len(start) :].partition("/") for path in paths if path.startswith(start))
    found = Counter(f"{name}{slash}" for name, slash, _ in inside)
    return dict(sorted(found.items()))


def _name_entry(entry: str, number: int) -> str:
    return f"{entry} ({number})" if entry.endswith("/") else entry


def list_failed_commands(setup: SetupResult) -> list[SetupCommand]:
    """Return the commands that failed."""
    return [command for command in setup.commands if command.exit_code]


def cut_output(command: SetupCommand) -> str:
    """Return what a command says is wrong, or the end of what it wrote."""
    return read_cause(command.output, TAIL)


def _failure(command: SetupCommand) -> str:
    return f"`{command.command}` wrote:\n{cut_output(command)}"


def _summary(setup: SetupResult) -> str:
    if setup.proposal is not None and setup.proposal.holds and not setup.problems:
        return "installed by commands that a model proposed"
    if setup.problems:
        more = len(setup.problems) - 1
        return f"failed: {setup.problems[0]}" + (f" (and {more} more)" if more else "")
    if not setup.commands:
        return "nothing to install"
    if setup.cached:
        return "installed by an earlier run"
    return f"installed in {setup.seconds:.0f} s"


async def read_instructions(
    run: StageContext, touched: Iterable[str] = (), *, nearby_alone: bool = False
) -> str:
    """Return them for a prompt, bounded, each text once.

    They are taken from the default branch alone: those of a pull request's branch are part of what
    is worked on. Who may write there may also tell Fettle how to work. `touched`: paths that the
    work is about; the instructions of their folders, and those for such files, come after those of
    the whole, or stand alone where those are known: then the text is empty if there are none.
    """
    parts: list[str] = []
    texts: set[str] = set()
    room = FILES_LIMIT
    touched = tuple(dict.fromkeys(touched))
    async for path, text in _find_instructions(run, touched, nearby_alone=nearby_alone):
        if not text or text in texts or text in FILES:  # a link to one of the others is its name
            continue
        texts.add(text)
        shown = text[: min(FILE_LIMIT, room)]
        if not shown:
            break
        room -= len(shown)
        parts.append(f"# {path}\n\n{shown}{_CUT if shown != text else ''}")
    if not parts:
        return "" if nearby_alone else _NO_INSTRUCTIONS
    return "\n\n".join([_HEADING, *parts])


async def _find_instructions(
    run: StageContext, touched: Sequence[str], *, nearby_alone: bool
) -> AsyncIterator[tuple[str, str]]:
    """Yield each file of the default branch that holds for work on these paths, with its text."""
    there = await run.ports.source.files(run.trunk)
    folders = sorted({str(each) for path in touched for each in PurePosixPath(path).parents})
    nearby = [f"{each}/{name}" for each in folders[:MOST_FOLDERS] for name in NEARBY if each != "."]
    known = set(there)
    for path in (*(() if nearby_alone else FILES), *nearby):
        if path in known:
            yield path, await read_text(run, path)
    for path in list_scoped(there, touched)[:MOST_SCOPED]:
        scoped = read_scoped(path, await read_text(run, path))
        if scoped.holds_for(touched) and not (nearby_alone and scoped.holds_for_all):
            yield path, scoped.text


def find_paths(text: str) -> list[str]:
    """Return what looks like paths of files in a text."""
    return list(dict.fromkeys(_PATH.findall(text)))


async def read_text(run: StageContext, path: str) -> str:
    """Return the begin of a file of the default branch, without what is hidden in it."""
    data = await run.ports.source.show(run.trunk, path)
    text = (data or b"")[:READ].decode("utf-8", "replace")
    return (await clean_in_child(text)).text.strip()
