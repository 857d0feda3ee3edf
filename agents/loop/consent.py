"""Ask a person before a tool call that the gate does not allow by itself, and wait durably."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agents.errors import Parked, ToolError, Unanswered
from agents.loop.turns import OUTSIDE, calls_of, heard_outsiders, last_tree, submits
from agents.ports import Approval, ApprovalRequest, Approvals, Block, Ruling, Turn
from agents.text import one_line, printable
from agents.tools.base import Bench, Effect
from agents.tools.gate import gate
from agents.tools.mcp import PREFIX, find_effects

ConsentAnswer = Approval | ToolError | None
"""What people decided on a call, or why they cannot be asked; None where nobody needs to."""

LONGEST_ID = 80  # characters of the model's own id of a call
SHOWN = 160  # characters of a call in a report
_MAY_HAVE_RUN = (
    "This may already have run: Fettle was interrupted, and nothing is known of its result. It was"
    " not repeated. Look at what it was to change before you ask for it again."
)
_BESIDE = (
    "Not done: another call of the same answer changes protected files, and no command may run"
    " beside it. Make this call again in an answer of its own if it is still needed."
)
UNITS = (("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


@dataclass(frozen=True)
class _Question:
    """A call that the gate leaves to people."""

    asking: ApprovalRequest
    paths: tuple[str, ...]
    """Protected paths that it would change."""


@dataclass(frozen=True)
class ClearedCall:
    """A call on which nobody has to decide any more."""

    call: Block
    bench: Bench
    """What it works with, and what its session had heard by then."""
    said: ConsentAnswer
    rule: str = ""
    """The rule that left it to people, if one did."""

    @property
    def leaves(self) -> bool:
        """Return whether it may reach beyond the sandbox, where nothing is ever put back."""
        name: str = self.call["name"]
        if name.startswith(PREFIX):
            return find_effects(name, self.bench).outside
        return name.startswith(OUTSIDE)

    @property
    def ruling(self) -> Ruling | None:
        """Return what was decided before it ran: that people are asked."""
        approval = self.said.id if isinstance(self.said, Approval) else ""
        return Ruling("ask", self.rule, approval) if self.rule else None

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
    branch: str = ""
    """The branch of the pull request that the run goes on with; empty where there is none."""
    branch_head: str = ""
    """Where it stood when the run began."""

    async def decide_calls(self, turns: Sequence[Turn], bench: Bench) -> list[ClearedCall]:
        """Return the calls of the last turn, each with what people decided on it.

        Raises Parked until all of it is decided: before that, nothing of the answer may run. Raises
        Unanswered when the time for one of them is over.
        """
        bench = _having_heard(turns, bench)
        questions = await self._questions(turns, bench)
        said = [await self._ask(each) for each in questions]
        for question, word in zip(questions, said, strict=True):
            if question and isinstance(word, Approval) and word.state == "expired":
                raise Unanswered(describe_timeout(question.asking, word))
        approvals = [each for each in said if isinstance(each, Approval)]
        if waiting := [each.id for each in approvals if each.state == "waiting"]:
            raise Parked(waiting)
        calls = calls_of(turns[-1])
        if any(each and each.paths for each in questions):
            said = [_withhold_beside(call, word) for call, word in zip(calls, said, strict=True)]
        rules = [each.asking.rule if each else "" for each in questions]
        told = zip(calls, said, rules, strict=True)
        return [ClearedCall(call, bench, word, rule) for call, word, rule in told]

    async def claim(self, call: ClearedCall) -> ClearedCall:
        """Note that the call is about to run, if people approved it: one yes, one use.

        One that was noted before may have run, and its result is lost. In the sandbox it may run
        once more, since the files are back to what they were; elsewhere it may not.
        """
        said = call.said
        if self.approvals is None or not isinstance(said, Approval) or said.state != "approved":
            return call
        free = await self.approvals.claim([said.id])
        return call if free or not call.leaves else replace(call, said=ToolError(_MAY_HAVE_RUN))

    async def find_permitted_paths(self, turns: Sequence[Turn], bench: Bench) -> dict[str, str]:
        """Return the protected paths that people let the calls of this stage change.

        Each has the tree that the approved call left: the yes is to the file as it is there. Made
        from what was said and decided, so that a stage that is done again finds the same.
        """
        found: dict[str, str] = {}
        for number, turn in enumerate(turns[:-1], 1):
            if turn.stage == self.stage and turns[number].kind == "results":
                left = turns[number].tree
                paths = await self._approved_paths(turns[:number], bench) if left else set()
                before = last_tree(turns[:number], self.stage) or bench.head
                for path in sorted(paths):
                    # What nobody was shown may not ride along on a yes to a part of the file.
                    if left and await _is_in_known_state(
                        path, before, {bench.head, found.get(path)}, bench
                    ):
                        found[path] = left
        return found

    async def _approved_paths(self, turns: Sequence[Turn], bench: Bench) -> set[str]:
        found: set[str] = set()
        for each in await self._questions(turns, _having_heard(turns, bench)):
            said = await self._ask(each) if each and each.paths else None
            if each and isinstance(said, Approval) and said.state == "approved":
                found.update(each.paths)
        return found

    async def _ask(self, question: _Question | None) -> ConsentAnswer:
        if question is None or self.approvals is None:
            return None
        try:
            return await self.approvals.ask(question.asking)
        except ToolError as error:
            return error

    async def _questions(self, turns: Sequence[Turn], bench: Bench) -> list[_Question | None]:
        return [
            await self._question(f"{len(turns) - 1}.{position}", call, bench)
            for position, call in enumerate(calls_of(turns[-1]))
        ]

    async def _question(self, place: str, call: Block, bench: Bench) -> _Question | None:
        if submits(call):
            return None
        try:
            verdict = await gate.judge_in_child(call["name"], call["input"], bench=bench)
        except ToolError:
            return None  # told to the model when the call is made
        if verdict.decision != "ask":
            return None
        asking = ApprovalRequest(
            # Some servers number the calls of each answer anew: the place makes it one of a kind.
            call_id=f"{place}/{call['id'][:LONGEST_ID]}",
            session=self.session,
            stage=self.stage,
            tool=call["name"],
            arguments=call["input"],
            rule=verdict.rule,
            reason=verdict.reason,
            head=bench.head,
            branch=self.branch,
            branch_head=self.branch_head,
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


def _withhold_beside(call: Block, word: ConsentAnswer) -> ConsentAnswer:
    """Return the word on a call beside one that may change a protected path.

    What that one leaves is taken as approved, so no command may have a hand in it unasked.
    """
    if word is None and gate.find_effect(call["name"]) is Effect.EXECUTE:
        return ToolError(_BESIDE)
    return word


async def _is_in_known_state(
    path: str, tree: str, states: Iterable[str | None], bench: Bench
) -> bool:
    """Return whether the path is in the tree what it is in one of these states."""
    return any(
        [each and path not in await bench.tree.list_changed_paths(each, tree) for each in states]
    )


def _having_heard(turns: Sequence[Turn], bench: Bench) -> Bench:
    """Return the bench for the calls of the last turn: what came before may have tainted it."""
    return replace(bench, tainted=bench.tainted or heard_outsiders(turns[:-1]))


def describe_timeout(asking: ApprovalRequest, approval: Approval) -> str:
    """Return what people read when nobody has answered in time."""
    call = one_line(json.dumps(asking.arguments, ensure_ascii=False), SHOWN).replace("`", "'")
    return (
        f"Nobody answered approval `{approval.id}` within {_span(asking.days)}, so the run ended."
        f" The stage `{asking.stage}` wanted to call `{asking.tool}` with `{call}`, which the rule"
        f" `{asking.rule}` leaves to people. `approvals.days` in `.github/fettle.yml` gives people"
        " more time."
    )


def _span(days: float) -> str:
    """Return a time for people, in its largest unit."""
    seconds = days * UNITS[0][1]
    name, unit = next((each for each in UNITS if seconds >= each[1]), UNITS[-1])
    number = f"{seconds / unit:.1f}".removesuffix(".0")
    return f"{number} {name}" if number == "1" else f"{number} {name}s"
