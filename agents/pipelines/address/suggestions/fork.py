"""Express a change as suggestions, for a fork's branch that the App cannot push to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchSet

from agents.pipelines.address.suggestions.neighbours import LineGroup, group_changes
from agents.ports import PullSnapshot, Suggested
from agents.text import code_span, one_line, publish, without_hidden

LONGEST = 50_000  # characters of one suggestion, and of the patch in a comment
FILES_SHOWN = 20

_SECTION = re.compile(r"^(?=diff --git )", re.MULTILINE)
_HUNK = re.compile(r"^(?=@@ )", re.MULTILINE)
_HEADER = re.compile(r"diff --git |index |--- |\+\+\+ ")
_PATH = re.compile(r'^\+\+\+ (?:b/(?P<plain>[^\t\n]+)|"b/(?P<quoted>.+)")', re.MULTILINE)

_WHY = "Fettle cannot push to this branch: {why}. What it would have pushed is proposed here."
_HOW = (
    "**{count}** can be committed right here: one at a time with *Commit suggestion*, or several as"
    " one commit with *Add suggestion to batch*."
)
_SAID = (
    "{count} of the reviewers can be committed in the threads where {they} already, and {are} not"
    " repeated here."
)
_REST = (
    "What cannot be suggested, such as new files, is in this patch. Save it in the branch's"
    " checkout, then run `git apply` on it:"
)
_TOO_LONG = "What cannot be suggested is too long to be shown here. It changes {paths}."


def diff_to_suggestions(diff: str) -> tuple[tuple[Suggested, ...], str]:
    """Return a unified diff as replacements of lines, and what of it is none, as a patch.

    It needs a line of context. New, renamed and binary files are none, nor is what changes a line's
    end, or whether the file's last line has one: no suggestion can say so.
    """
    made: list[Suggested] = []
    rest: list[str] = []
    for section in _SECTION.split(diff):
        head, *hunks = _HUNK.split(section)
        path = _path(head)
        left = []
        for hunk in hunks:
            found = _of_hunk(path, head + hunk) if path else None
            made += found or ()
            left += [hunk] if found is None else []
        if left or not hunks:
            rest += [head, *left]
    return tuple(made), "".join(rest)


def format_body(
    pull: PullSnapshot,
    made: Sequence[Suggested],
    rest: str,
    *,
    repository_url: str,
    quality: str = "",
    said: int = 0,
) -> str:
    """Return the text above the suggestions: why it cannot push, and what people can do.

    `said`: how many of the changes are reviewers' own suggestions, which stand there already.
    """
    theirs = _SAID.format(
        count=_count(said),
        are="is" if said == 1 else "are",
        they="it stands" if said == 1 else "they stand",
    )
    parts = (
        _WHY.format(why=one_line(pull.why_not, 400).rstrip(".")),
        theirs if said else "",
        _HOW.format(count=_count(len(made))) if made else "",
        _patch(rest),
        quality,
    )
    text = "\n\n".join(publish(part, repository_url=repository_url) for part in parts if part)
    return publish(text, repository_url=repository_url)


def _count(number: int) -> str:
    return "1 suggestion" if number == 1 else f"{number} suggestions"


def _patch(rest: str) -> str:
    if not rest.strip():
        return ""
    if len(rest) > LONGEST:
        heads = (_HUNK.split(section)[0] for section in _SECTION.split(rest))
        paths = [code_span(one_line(head.split("\n")[0][11:], 200)) for head in heads if head]
        more = f" and {len(paths) - FILES_SHOWN} more" if len(paths) > FILES_SHOWN else ""
        return _TOO_LONG.format(paths=", ".join(paths[:FILES_SHOWN]) + more)
    fence = "`" * (max((len(run) for run in re.findall("`{3,}", rest)), default=2) + 1)
    return f"{_REST}\n\n{fence}diff\n{rest.rstrip(chr(10))}\n{fence}"


# --- one hunk -----------------------------------------------------------------------------------


def _path(head: str) -> str:
    """Return the path of a file of which only text changes; empty for all others."""
    lines = head.strip("\n").split("\n")
    found = _PATH.search(head)
    if not found or not all(_HEADER.match(line) for line in lines):
        return ""
    if found["plain"]:
        return found["plain"]
    try:  # git quotes as C does
        return found["quoted"].encode().decode("unicode_escape").encode("latin-1").decode()
    except UnicodeError:
        return ""


def _of_hunk(path: str, text: str) -> list[Suggested] | None:
    """Return the replacements that make up a hunk; None where they could not say all of it."""
    try:
        (file,) = PatchSet(text)
        (hunk,) = file
    except (UnidiffParseError, ValueError):
        return None
    if _moves_the_end(hunk):
        return None
    found = group_changes((line.line_type, line.value, line.source_line_no) for line in hunk)
    made = [_make_suggestion(path, group) for group in found]
    sayable = [each for each in made if each is not None]
    return sayable if len(sayable) == len(made) else None


def _moves_the_end(hunk: Hunk) -> bool:
    """Return whether it changes if the file's last line has an end."""
    return len(list(_endless(hunk))) == 1


def _endless(hunk: Hunk) -> Iterator[str]:
    """Return the sides of the diff whose last line has no end."""
    last = " "
    for line in hunk:
        if line.line_type == "\\":
            yield from "-+" if last == " " else last
        last = line.line_type


def _make_suggestion(path: str, group: LineGroup) -> Suggested | None:
    ends = {line.endswith("\r") for line in (*group.old, *group.new)}
    lines = [line.removesuffix("\r") for line in group.new]
    text = "".join(f"{line}\n" for line in lines)
    unsayable = without_hidden(text)[1] or re.search("[\r\ufffd]", text) or len(text) > LONGEST
    if group.start is None or group.incomplete or len(ends) > 1 or unsayable:
        return None
    return Suggested(path=path, start=group.start, end=group.start + len(group.old) - 1, lines=text)
