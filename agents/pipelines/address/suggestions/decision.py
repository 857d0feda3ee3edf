"""Read what people answer where Fettle has asked which of two suggestions is to stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.pipelines.address.suggestions.choice import (
    ChosenSuggestion,
    contradict,
    is_by_writer,
    read_offers,
)
from agents.pipelines.address.suggestions.suggestion import find_place
from agents.pipelines.address.wording.wording import choose_wording
from agents.ports import Thread, ThreadComment
from agents.text import code_span, one_line

_LONGEST = 120
_UNCLEAR = re.compile(
    r"\b(?:no|not|neither|nor|except|than|over|unless|but)\b|n['\u2019]t|\?", re.IGNORECASE
)
_TAKING = r"\b(?:take|use|apply|prefer|with)\s+[@`]*{name}\b|(?<![\w-])[@`]*{name}`?['\u2019]s\b"
_SHOWN = 2_000

_RIVAL = (
    "Fettle has asked which of two suggestions for these lines it is to be. {author}'s, in another"
    " thread, for {place}, reads:\n{lines}"
)


@dataclass(frozen=True)
class AnsweredQuestion:
    """A thread in which Fettle asked which suggestion is to stand, and somebody has answered."""

    thread: Thread
    answer: ThreadComment
    offers: tuple[ChosenSuggestion, ...]
    """That of the thread, then those that contradict it."""

    @property
    def decided(self) -> ChosenSuggestion | None:
        """Return whose suggestion the answer plainly takes: `Take bob's.`; None: a reader's work.

        It names one of them, its lines are still there, and nothing could mean the contrary.
        """
        said = self.answer.body
        if len(said) > _LONGEST or _UNCLEAR.search(said):
            return None
        named = [
            each
            for each in self.offers
            if re.search(_TAKING.format(name=re.escape(each.author.login)), said, re.IGNORECASE)
        ]
        return named[0] if len(named) == 1 and find_place(named[0].thread) else None

    @property
    def others(self) -> tuple[str, ...]:
        """Return the other threads that were asked the same, by their ids."""
        found = (each.thread.id for each in self.offers)
        return tuple(dict.fromkeys(each for each in found if each != self.thread.id))

    def describe_rivals(self) -> str:
        """Return what the others suggest, for the model: the threads stand apart."""
        return "\n".join(
            _RIVAL.format(
                author=each.author.login,
                place=each.change.place,
                lines="\n".join(each.suggestion.lines)[:_SHOWN],
            )
            for each in self.offers
            if each.thread.id != self.thread.id
        )

    def describe_decision(self, taken: ChosenSuggestion, thread: Thread) -> str:
        """Return who decided, as it is said in one of the threads."""
        return choose_wording(thread).decided.format(
            by=code_span(one_line(self.answer.author.login, 100)),
            url=self.answer.url,
            author=code_span(taken.author.login),
        )


async def find_answered_questions(
    threads: Sequence[Thread], *, strangers: bool
) -> list[AnsweredQuestion]:
    """Return the answers to such questions that nobody has dealt with."""
    asking = [thread for thread in threads if _has_asked(thread)]
    answered = [each for each in asking if not each.ours_is_last]
    if not answered:
        return []
    offers = [offer for each in asking for offer in await _read_newest(each, strangers=strangers)]
    found = []
    for thread in answered:
        answer = next((each for each in reversed(thread.said) if not each.own), None)
        if answer is not None and is_by_writer(answer, strangers=strangers):
            mine = [each for each in offers if each.thread.id == thread.id]
            rivals = [each for each in offers if any(contradict(one, each) for one in mine)]
            if rivals:
                found.append(AnsweredQuestion(thread, answer, (*mine, *rivals)))
    return found


def _has_asked(thread: Thread) -> bool:
    """Return whether the newest word of Fettle's asks people, with something said before it."""
    ours = [each for each in thread.said if each.own]
    return bool(ours) and ours[-1].verdict == "needs_human"


async def _read_newest(thread: Thread, *, strangers: bool) -> Iterable[ChosenSuggestion]:
    """Return what the newest comment with a suggestion offers, at the line that it was made for.

    Where that line has changed since, it still tells which suggestions contradicted each other.
    """
    gone = thread.original_line or 0
    for said in reversed(thread.said):
        by_writer = not said.own and is_by_writer(said, strangers=strangers)
        if by_writer and (offers := await read_offers(thread, said, gone=gone)):
            return offers
    return ()
