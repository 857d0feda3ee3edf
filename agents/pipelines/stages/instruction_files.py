"""A repository's instruction files for contributors, from its default branch."""

from __future__ import annotations

from agents.run import StageContext
from agents.text import clean

FILES = (
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    "CONTRIBUTING.rst",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
    "docs/contributing.md",
)
FILE_LIMIT, LIMIT = 8_000, 20_000  # characters of one file, and of all of them
READ = 8 * FILE_LIMIT  # bytes of a file: what is hidden in it goes before it is bounded
_NONE = "The repository has no instructions for contributors."
_HEADING = "The repository's instructions for contributors, from its default branch:"
_CUT = "\n[cut here: read the file itself for the rest]"


async def instructions(run: StageContext) -> str:
    """Return them for a prompt, bounded, each text once.

    They are taken from the default branch alone: those of a pull request's branch are part of what
    is worked on. Who may write there may also tell Fettle how to work.
    """
    parts: list[str] = []
    texts: set[str] = set()
    room = LIMIT
    for path in FILES:
        text = await _text(run, path)
        if not text or text in texts or text in FILES:  # a link to one of the others is its name
            continue
        texts.add(text)
        shown = text[: min(FILE_LIMIT, room)]
        if not shown:
            break
        room -= len(shown)
        parts.append(f"# {path}\n\n{shown}{_CUT if shown != text else ''}")
    return "\n\n".join([_HEADING, *parts]) if parts else _NONE


async def _text(run: StageContext, path: str) -> str:
    data = await run.ports.source.show(run.trunk, path)
    return clean((data or b"")[:READ].decode("utf-8", "replace")).text.strip()
