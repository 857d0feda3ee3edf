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
    read_suggestions_in_child,
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
        known = one.start > 0 and two.start > 0
        return known and self.path == other.path and one.start <= two.end and two.start <= one.end


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
        """Return whether the comment is the suggestion alone, and only praise came after it."""
        said = reversed(self.thread.said)
        newest = next((each for each in said if not (each.own or each.praise)), self.said)
        return self.alone and newest.id == self.said.id


@dataclass(frozen=True)
class SuggestionsByUse:
    """The suggestions in the newest comments of people with write access, oldest thread first."""

    single: tuple[ChosenSuggestion, ...]
    """Those that could be applied."""
    several: tuple[ChosenSuggestion, ...]
    """Those of comments with different texts for the same lines: none is applied as it is."""
    left: Mapping[str, str]
    """Why nothing is applied of what is in no place any more, and of `several`, by thread id."""


async def select_suggestions(threads: Iterable[Thread], *, strangers: bool) -> SuggestionsByUse:
    """Return what the newest words of writers suggest.

    Older words do not count: what was said after them may take them back, unless it is praise.
    `strangers`: people who may not write have their say in the threads as well.
    """
    single, several, left = list[ChosenSuggestion](), list[ChosenSuggestion](), dict[str, str]()
    for thread in sorted(threads, key=lambda each: (each.said[0].at, each.root)):
        said = _newest(thread, strangers=strangers)
        offered = await read_offers(thread, said) if said else []
        if len(offered) > 1:
            left[thread.id] = f"it offers {len(offered)} different texts for the same lines"
            several += offered
        elif find_place(thread) is None and offered:
            left[thread.id] = find_trouble("", thread, offered[0].suggestion)
        else:
            single += offered
    return SuggestionsByUse(tuple(single), tuple(several), left)


async def read_offers(
    thread: Thread, said: ThreadComment, *, gone: int = 0
) -> list[ChosenSuggestion]:
    """Return the different texts that a comment suggests, at the line `gone` if it is no more."""
    offered = dict.fromkeys(await read_suggestions_in_child(said.body))
    at, alone = find_place(thread) or (gone, gone), bool(offered) and await is_alone(said.body)
    return [
        ChosenSuggestion(
            thread, said, each, LineReplacement(thread.path, Replacement(*at, each.lines)), alone
        )
        for each in offered
    ]


def _newest(thread: Thread, *, strangers: bool) -> ThreadComment | None:
    """Return the newest word of a writer, unless Fettle has dealt with it."""
    for said in reversed(thread.said):
        if said.own:
            if said.verdict in STILL_WAITING:
                continue
            return None
        if is_by_writer(said, strangers=strangers) and not said.praise:
            return said
    return None


def is_by_writer(said: ThreadComment, *, strangers: bool) -> bool:
    """Return whether somebody who may write said it."""
    return said.role in WRITERS if strangers else said.role not in READERS


def choose(
    candidates: Sequence[ChosenSuggestion], texts: Mapping[str, str], unfit: Mapping[str, str]
) -> tuple[list[ChosenSuggestion], dict[str, str]]:
    """Return which of these are applied, and why the others are not.

    `texts` are the files as they are, `unfit` says why others are left alone. Of two that are
    about the same lines the first is taken; the second as well, where both want the same. What one
    person suggests twice for the same lines is what they said last.
    """
    chosen: list[ChosenSuggestion] = []
    left: dict[str, str] = {}
    for each in candidates:
        if any(_takes_back(other, each) for other in candidates):
            left[each.thread.id] = "its author has suggested something else for the same lines"
        elif reason := _find_trouble(each, texts, unfit):
            left[each.thread.id] = reason
        elif (other := _rival(each, chosen)) is not None:
            left[each.thread.id] = (
                f"it overlaps with that of {other.author.login}, which came first"
            )
        else:
            chosen.append(each)
    return chosen, left


def find_contradictions(
    offers: Sequence[ChosenSuggestion], texts: Mapping[str, str], unfit: Mapping[str, str]
) -> dict[str, tuple[ChosenSuggestion, ...]]:
    """Return, by thread, what other people want instead on the same lines: people have to decide.

    Nobody's wish is decided by another one's that happens to apply: also what does not apply as it
    is contradicts what does. Of one person the newest words count.
    """
    meant = [each for each in offers if not any(_takes_back(other, each) for other in offers)]
    sound = {id(each) for each in meant if not _find_trouble(each, texts, unfit)}
    found: dict[str, dict[int, ChosenSuggestion]] = {}
    for each in meant:
        for other in meant:
            if contradict(each, other) and not sound.isdisjoint((id(each), id(other))):
                found.setdefault(each.thread.id, {})[id(other)] = other
    return {thread: tuple(others.values()) for thread, others in found.items()}


def contradict(one: ChosenSuggestion, other: ChosenSuggestion) -> bool:
    """Return whether two people want different things of some of the same lines."""
    differ = one.change != other.change and one.author.id != other.author.id
    return differ and one.change.overlaps(other.change)


def _takes_back(later: ChosenSuggestion, one: ChosenSuggestion) -> bool:
    """Return whether its own author said something else of some of the same lines later."""
    same = later.author.id == one.author.id and later.change.overlaps(one.change)
    return same and later.change != one.change and later.said.at > one.said.at


def _find_trouble(
    each: ChosenSuggestion, texts: Mapping[str, str], unfit: Mapping[str, str]
) -> str:
    path = each.thread.path
    return unfit.get(path) or find_trouble(texts[path], each.thread, each.suggestion)


def _rival(one: ChosenSuggestion, chosen: Iterable[ChosenSuggestion]) -> ChosenSuggestion | None:
    """Return what was chosen for some of the same lines, and wants something else there."""
    rivals = (each for each in chosen if one.change.overlaps(each.change))
    return next((each for each in rivals if each.change != one.change), None)
