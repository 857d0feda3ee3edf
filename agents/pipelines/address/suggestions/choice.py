"""Choose the suggested changes that code applies, with a reason for each of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agents.pipelines.address.suggestions.replaced import Replacement
from agents.pipelines.address.suggestions.suggestion import (
    Suggestion,
    find_place,
    find_trouble,
    is_alone,
    read_apart,
)
from agents.ports import STILL_WAITING, Thread, ThreadComment
from agents.requests import Person
from agents.text import one_line

WRITERS = frozenset(("write", "maintain", "admin"))
READERS = frozenset(("", "none", "read", "triage"))
"""GitHub's own roles; organisations make up others, whose names do not say what they allow."""


class LineReplacement(NamedTuple):
    """Lines of a file in the place of others."""

    path: str
    lines: Replacement

    @property
    def place(self) -> str:
        """Return where it is, for people."""
        start, end, _ = self.lines
        return f"{one_line(self.path, 200)}:{start}" + (f"-{end}" if end > start else "")

    def overlaps(self, other: LineReplacement) -> bool:
        """Return whether both are about some of the same lines."""
        one, two = self.lines, other.lines
        return self.path == other.path and one.start <= two.end and two.start <= one.end


@dataclass(frozen=True)
class ChosenSuggestion:
    """A suggestion that could be applied."""

    thread: Thread
    said: ThreadComment
    suggestion: Suggestion
    change: LineReplacement
    alone: bool
    """The comment says nothing beside it."""

    @property
    def author(self) -> Person:
        """Return whose suggestion it is."""
        return self.said.author

    @property
    def whole(self) -> bool:
        """Return whether it says nothing beside it, and nobody said anything after it."""
        newest = next(each for each in reversed(self.thread.said) if not each.own)
        return self.alone and newest.id == self.said.id


async def select_suggestions(
    threads: Iterable[Thread], *, strangers: bool
) -> tuple[list[ChosenSuggestion], dict[str, str]]:
    """Return what the newest words of writers suggest, and why of some of them nothing is applied.

    Older words do not count: what was said after them may take them back. Whoever began first
    comes first. `strangers`: people who may not write have their say in the threads as well.
    """
    found: list[ChosenSuggestion] = []
    left: dict[str, str] = {}
    for thread in sorted(threads, key=lambda each: (each.said[0].at, each.root)):
        said = _newest(thread, strangers=strangers)
        offered = dict.fromkeys(await read_apart(said.body)) if said else {}
        if not said or not offered:
            continue
        at, (first, *more) = find_place(thread), offered
        if more:
            left[thread.id] = f"it offers {len(offered)} different texts for the same lines"
        elif at is None:
            left[thread.id] = find_trouble("", thread, first)
        else:
            change = LineReplacement(thread.path, Replacement(*at, first.lines))
            alone = await is_alone(said.body)
            found.append(ChosenSuggestion(thread, said, first, change, alone))
    return found, left


def _newest(thread: Thread, *, strangers: bool) -> ThreadComment | None:
    """Return the newest word of a writer, unless Fettle has dealt with it."""
    for said in reversed(thread.said):
        if said.own:
            if said.verdict in STILL_WAITING:
                continue
            return None
        if _may_write(said.role, strangers=strangers):
            return said
    return None


def _may_write(role: str, *, strangers: bool) -> bool:
    return role in WRITERS if strangers else role not in READERS


def choose(
    candidates: Sequence[ChosenSuggestion], texts: Mapping[str, str], unfit: Mapping[str, str]
) -> tuple[list[ChosenSuggestion], dict[str, str]]:
    """Return which of these are applied, and why the others are not.

    `texts` are the files as they are, `unfit` says why others are left alone. Of two that are
    about the same lines the first is taken; the second as well, where both want the same.
    """
    chosen: list[ChosenSuggestion] = []
    left: dict[str, str] = {}
    for each in candidates:
        if reason := _find_trouble(each, texts, unfit):
            left[each.thread.id] = reason
        elif (other := _rival(each, chosen)) is not None:
            left[each.thread.id] = (
                f"it overlaps with that of {other.author.login}, which came first"
            )
        else:
            chosen.append(each)
    return chosen, left


def find_contradictions(
    candidates: Sequence[ChosenSuggestion], texts: Mapping[str, str], unfit: Mapping[str, str]
) -> dict[str, tuple[ChosenSuggestion, ...]]:
    """Return, by thread, what other people want instead on the same lines: people have to decide.

    What would not apply as it is contradicts nothing.
    """
    sound = [each for each in candidates if not _find_trouble(each, texts, unfit)]
    found = {
        each.thread.id: tuple(
            other
            for other in sound
            if each.change.overlaps(other.change)
            and each.change != other.change
            and each.author.id != other.author.id
        )
        for each in sound
    }
    return {thread: others for thread, others in found.items() if others}


def _find_trouble(
    each: ChosenSuggestion, texts: Mapping[str, str], unfit: Mapping[str, str]
) -> str:
    path = each.thread.path
    return unfit.get(path) or find_trouble(texts[path], each.thread, each.suggestion)


def _rival(one: ChosenSuggestion, chosen: Iterable[ChosenSuggestion]) -> ChosenSuggestion | None:
    """Return what was chosen for some of the same lines, and wants something else there."""
    rivals = (each for each in chosen if one.change.overlaps(each.change))
    return next((each for each in rivals if each.change != one.change), None)
