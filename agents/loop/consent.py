"""Step 7: people's word on the calls of a session that the gate leaves to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.errors import Parked, ToolError, Unanswered
from agents.loop.turns import calls_of, heard_outsiders, submits
from agents.ports import Approval, Approvals, Asking, Block, Turn
from agents.text import one_line, printable
from agents.tools import gate
from agents.tools.base import Bench

Word = Approval | ToolError | None
"""What people decided on a call, or why they cannot be asked; None where nobody needs to."""

LONGEST_ID = 80  # characters of the model's own id of a call
SHOWN = 160  # characters of a call in a report
UNITS = (("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


@dataclass(frozen=True)
class _Question:
    """A call that the gate leaves to people."""

    asking: Asking
    paths: tuple[str, ...]
    """Protected paths that it would change."""


@dataclass(frozen=True)
class Cleared:
    """A call on which nobody has to decide any more."""

    call: Block
    bench: Bench
    """What it works with, and what its session had heard by then."""
    said: Word

    def grant(self) -> Approval | None:
        """Return the yes that the call runs on, if it needs one. Raises ToolError without it."""
        said = self.said
        if isinstance(said, ToolError):
            raise said
        if said is None or said.state == "approved":
            return said
        raise ToolError(_refusal(said))


@dataclass(frozen=True)
class Consent:
    """Asks people about the calls of one stage in one session."""

    approvals: Approvals | None
    """None: nobody can be asked, and the gate refuses what it would leave to people."""
    session: str
    stage: str
    """The stage occurrence, like `implement/2`."""

    async def on(self, turns: Sequence[Turn], bench: Bench) -> list[Cleared]:
        """Return the calls of the last turn, each with what people decided on it.

        Raises Parked until all of it is decided: before that, nothing of the answer may run. Raises
        Unanswered when the time for one of them is over.
        """
        bench = _having_heard(turns, bench)
        questions = self._questions(turns, bench)
        said = [await self._said(each) for each in questions]
        for question, word in zip(questions, said, strict=True):
            if question and isinstance(word, Approval) and word.state == "expired":
                raise Unanswered(_unanswered(question.asking, word))
        approvals = [each for each in said if isinstance(each, Approval)]
        if waiting := [each.id for each in approvals if each.state == "waiting"]:
            raise Parked(waiting)
        return [
            Cleared(call, bench, word) for call, word in zip(calls_of(turns[-1]), said, strict=True)
        ]

    async def used(self, calls: Sequence[Cleared]) -> None:
        """Note that these calls have got their results, so that no decision counts twice."""
        ids = [each.said.id for each in calls if isinstance(each.said, Approval)]
        if self.approvals is not None and ids:
            await self.approvals.used(ids)

    async def permitted(self, turns: Sequence[Turn], bench: Bench) -> frozenset[str]:
        """Return the protected paths that people let the calls of this stage change.

        Made from what was said and decided, so that a stage that is done again finds the same.
        """
        found: set[str] = set()
        for number, turn in enumerate(turns[:-1], 1):
            if turn.stage == self.stage and turns[number].kind == "results":
                then = _having_heard(turns[:number], bench)
                for each in self._questions(turns[:number], then):
                    said = await self._said(each) if each and each.paths else None
                    if each and isinstance(said, Approval) and said.state == "approved":
                        found.update(each.paths)
        return frozenset(found)

    async def _said(self, question: _Question | None) -> Word:
        if question is None or self.approvals is None:
            return None
        try:
            return await self.approvals.ask(question.asking)
        except ToolError as error:
            return error

    def _questions(self, turns: Sequence[Turn], bench: Bench) -> list[_Question | None]:
        return [
            self._question(f"{len(turns) - 1}.{position}", call, bench)
            for position, call in enumerate(calls_of(turns[-1]))
        ]

    def _question(self, place: str, call: Block, bench: Bench) -> _Question | None:
        if submits(call):
            return None
        try:
            verdict = gate.judge(call["name"], call["input"], bench=bench)
        except ToolError:
            return None  # told to the model when the call is made
        if verdict.decision != "ask":
            return None
        asking = Asking(
            # Some servers number the calls of each answer anew: the place makes it one of a kind.
            call_id=f"{place}/{call['id'][:LONGEST_ID]}",
            session=self.session,
            stage=self.stage,
            tool=call["name"],
            arguments=call["input"],
            rule=verdict.rule,
            reason=verdict.reason,
            head=bench.head,
            days=bench.policy.approvals.days,
        )
        return _Question(asking, verdict.paths)


def _refusal(said: Approval) -> str:
    if said.state == "denied":
        why = f": {printable(said.reason)}" if said.reason else " and gave no reason."
        return f"{said.decided_by} denied this{why}\nIt was not done. Go on without it."
    return (
        f"The approval no longer holds, because {said.reason or 'it was withdrawn'}. It was not"
        " done. Ask again if it is still needed."
    )


def _having_heard(turns: Sequence[Turn], bench: Bench) -> Bench:
    """Return the bench for the calls of the last turn: what came before may have tainted it."""
    return replace(bench, tainted=bench.tainted or heard_outsiders(turns[:-1]))


def _unanswered(asking: Asking, approval: Approval) -> str:
    call = one_line(json.dumps(asking.arguments, ensure_ascii=False), SHOWN).replace("`", "'")
    return (
        f"Nobody answered approval `{approval.id}` within {_span(asking.days)}, so the run ended."
        f" The stage `{asking.stage}` wanted to call `{asking.tool}` with `{call}`, which the rule"
        f" `{asking.rule}` leaves to people. What was committed until then is kept. To try again,"
        " set the label again; `approvals.days` in `.github/fettle.yml` gives people more time."
    )


def _span(days: float) -> str:
    """Return a time for people, in its largest unit."""
    seconds = days * UNITS[0][1]
    name, unit = next((each for each in UNITS if seconds >= each[1]), UNITS[-1])
    number = f"{seconds / unit:.1f}".removesuffix(".0")
    return f"{number} {name}" if number == "1" else f"{number} {name}s"
