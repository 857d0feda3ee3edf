"""The words of commits and titles: neutral where the public must not learn of it yet."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.remediate.ladder import Group, Move
from agents.pipelines.remediate.work import Work
from agents.text import one_line

LONGEST = 30  # characters of a version in a title
MOST = 3  # versions in a title
NAME = 60
_WITHOUT = "Without it every copy is outside of the vulnerable ranges of {ids} as well."
_MESSAGE = "Moves it out of the vulnerable ranges of {ids}."


def format_subject(group: Group, moves: Sequence[Move], also: str = "") -> str:
    """Return the subject of a commit or a pull request: `Update jinja2 from 1 to 2 and flask`."""
    name = one_line(group.package, NAME)
    move = next((move for move in moves if not move.forced), None)
    old, new = map(_versions, move.ends if move else ((), ()))
    where = f" in {one_line(group.directory, 40)}" if group.directory else ""
    several = ", " in new or ", " in old
    where = f"{',' * several} and {also}{where}" if also else where
    if not new:
        return f"{'Remove' if old else 'Update'} {name}{where}"
    return f"Update {name}{f' from {old}' if old else ''} to {new}{where}"


def format_title(work: Work) -> str:
    """Return the commit's subject, and the pull request's title, for all that was made."""
    group = work.found.group
    if work.found.retire is None:
        others = [one_line(each.found.name, NAME) for each in work.companions]
        also = others[0] if len(others) == 1 else f"{len(others)} more packages" if others else ""
        return format_subject(group, work.bump.moves if work.bump else (), also)
    where = f" in {one_line(group.directory, 40)}" if group.directory else ""
    return f"Remove the override of {one_line(group.package, NAME)}{where}"


def format_message(group: Group, words: str = "", *, retires: bool = False) -> str:
    """Return the commit's body; nothing where it must stay neutral."""
    if group.undisclosed:
        return ""
    text = (_WITHOUT if retires else _MESSAGE).format(ids=", ".join(group.ids))
    return "\n\n".join(part for part in (text, words) if part)


def _versions(versions: Sequence[str]) -> str:
    shown = [one_line(version, LONGEST) for version in versions[-MOST:]]
    return ", ".join(["…", *shown] if len(versions) > MOST else shown)
