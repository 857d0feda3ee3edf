"""What could break by a fix, told with the reason; never a bare word."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.remediate.ladder import Level, Move
from agents.pipelines.remediate.work import Work
from agents.pipelines.stages.quality import to_code
from agents.text import one_line

_UNTRIED = "Nothing shows that the repository works with it: {why}."
_SMALL = "Small: {moved} moved a small step, and the repository's checks are no worse."
_CHANGED = (
    "Moderate: {moved} moved, and what the repository itself asks for was changed for it; the"
    " repository's checks are no worse."
)
_MADE_BY_MODEL = (
    "Moderate: {moved} moved, and a model changed the dependency files; the repository's checks are"
    " no worse."
)
_FAR = (
    "Another major version comes in: {named}. It may break what uses it in ways that no check here"
    " covers: read its release notes before merging."
)
_BREAKING = (
    "A version before 1.0 may break what uses it with each step of its second number, as this does:"
    " {named}. Read its release notes before merging."
)
_MAJOR = (
    "Version {version} is another major version, and no release of the same one is safe. It may"
    " break what uses it in ways that no check here covers: read its release notes before merging."
)

_BROKEN = "With the new version alone {checks} failed. "
_FOLLOWED = "The code was changed along with it: read the second commit."


def tell_risk(work: Work) -> str:
    """Return what could break by the change, with the reason; never a bare word."""
    assert work.bump is not None, "it passed"
    if why := explain_untried(work):
        return _UNTRIED.format(why=why)
    broken = _BROKEN.format(checks=work.broken) if work.broken else ""
    changed = f"{broken}{_FOLLOWED}" if work.adapted else ""
    said = _tell_far(work)
    if said or changed:
        return f"{said} {changed}".strip()
    if not work.moves:
        return "Small: no package moved, and the repository's checks are no worse."
    return _tell_near(work)


def _tell_far(work: Work) -> str:
    """Return what is said of a move that its own number calls a risk; empty: none does."""
    if work.bump is not None and (major := work.bump.major):
        return _MAJOR.format(version=to_code(one_line(major, 30)))
    if far := [move for move in work.moves if move.delta in ("major", "other")]:
        return _FAR.format(named=_join_moves(far))
    breaking = [move for move in work.moves if move.breaking]
    return _BREAKING.format(named=_join_moves(breaking)) if breaking else ""


def _tell_near(work: Work) -> str:
    """Return what is said of a move by small steps alone."""
    if work.mechanical:
        return _SMALL.format(moved=_name_movers(work))
    if len(work.moves) > len(work.bumps):
        return "More than the package's own version moved: look at the table above."
    by_model = any(bump.by == "engineer" for bump in work.bumps)
    return (_MADE_BY_MODEL if by_model else _CHANGED).format(moved=_name_movers(work))


def _join_moves(moves: Sequence[Move]) -> str:
    named = [
        f"{to_code(one_line(each.name, 60))} {', '.join(map(to_code, each.ends[1][:3]))}"
        for each in moves
    ]
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return f"{', '.join(named[:3])}{more}"


def _name_movers(work: Work) -> str:
    if any(bump.level is Level.PARENT for bump in work.bumps):
        return "all that moved, within what the repository asks for,"
    return "each package alone" if work.companions else "the package alone"


def explain_untried(work: Work) -> str:
    """Return why the repository's checks say nothing about the fix; empty where they do."""
    if work.setup is not None and work.setup.problems:
        return "the dependencies could not be installed here"
    if work.quality is None:
        return "no check of the repository was run"
    return "; ".join(work.quality.untold)
