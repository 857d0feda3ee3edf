"""Tell a change of documentation alone, and whether tests read what it changes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence

from agents.analysis.test_runners import list_program_files, list_step_files
from agents.analysis.weakening import FileDiff
from agents.analysis.which_are_tests import is_test, is_test_code
from agents.run import StageContext

MOST_READ = 300  # files that are looked through
LONGEST = 200_000  # characters of each

_TEXT = re.compile(r".*\.(?:md|markdown|rst|adoc|asciidoc)", re.IGNORECASE)
_FOLDERS = frozenset(("doc", "docs", ".github"))
_NAME = re.compile(
    r"(?:readme|change(?:s|log)|history|news|releases?|contributing|code_of_conduct|security"
    r"|support|governance|authors|contributors|maintainers|licen[cs]e|copying|notice|install|faq"
    r"|roadmap|upgrading|architecture)"
    r"(?:\.(?:txt|md|markdown|rst|adoc|asciidoc))?",
    re.IGNORECASE,
)


def is_documentation(changes: Sequence[FileDiff]) -> bool:
    """Return whether all files of a diff are written for people, by their names.

    A text elsewhere may be what a program works with, such as a template.
    """
    paths = {path for each in changes for path in (each.old, each.new) if path}
    plain = not any(each.binary or each.link or each.executable for each in changes)
    return bool(paths) and plain and all(map(is_document, paths))


def is_document(path: str) -> bool:
    """Return whether a file is written for people, by its name."""
    *folders, name = path.split("/")
    at_home = bool(folders) and folders[0] in _FOLDERS and _TEXT.fullmatch(name)
    return not is_test(path) and bool(at_home or _NAME.fullmatch(name))


async def find_reader(
    run: StageContext, command: str, documents: Collection[str], commit: str
) -> str:
    """Return a test, or a program of the command, that may read what these files say.

    Empty where none is known; of many files, the first that nobody looked through.
    """
    steps = await run.read_texts(commit, list_step_files(command))
    paths = await run.ports.source.files(commit)
    programs = {*await asyncio.to_thread(list_program_files, command, steps)} & {*paths}
    asked = sorted({*filter(is_test_code, paths)} | programs)
    texts = await run.read_texts(commit, asked[:MOST_READ])
    found = await asyncio.to_thread(_find_mention, texts, documents)
    return found or next(iter(asked[MOST_READ:]), "")


def _find_mention(texts: Mapping[str, str], documents: Collection[str]) -> str:
    words = {re.escape(part) for path in documents for part in path.split("/")[-1:]}
    words |= {rf"[*'\"`]\.{re.escape(path.rpartition('.')[2])}\b" for path in documents}
    words |= {rf"['\"`/]{re.escape(path.partition('/')[0])}['\"`/]" for path in documents}
    reads = re.compile("|".join(sorted(words)))
    return next((path for path, text in texts.items() if reads.search(text[:LONGEST])), "")
