"""A session: ask the model and run its tool calls, until the stage's submission.

A session is its list of turns. Each turn is on disk before the next begins, so a process that
dies loses at most the call in flight: the next process loads the turns and goes on.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from agents.errors import ModelRefused, PrefixChanged, ToolError
from agents.loop.budget import WRAP_UP_AT, RunLimits, Spent
from agents.loop.consent import ClearedCall, Consent
from agents.loop.conversation import Conversation, Submission
from agents.loop.head import has_head, lists_tool, read_head, write_head
from agents.loop.turns import calls_of, make_remarks, pair_calls, submits, to_messages
from agents.ports import Answer, Block, Journal, Model, Query, Reporter, Steer, Turn
from agents.tools import gate
from agents.tools.base import Bench, Effect

log = logging.getLogger(__name__)

NUDGES = 3  # times that prose instead of a submission is sent back
FAULTS = 5  # times that a faulty submission is sent back
WRAP_UP = (
    "[Fettle: most of this run's budget is used. Finish what you are at, leave the files in a"
    " working state, and submit.]"
)
SAME_CALL = 4  # the same call with the same result: the model is stuck and is told so
STUCK = (
    f"\n\n[You have made this very call {SAME_CALL} times with this very result."
    " Try something else, or submit what you have and say what stopped you.]"
)
_SECONDS = re.compile(r"\b\d+\.\d+ ?s\b")  # no two runs of a command take equally long

S = TypeVar("S", bound=Submission)
Objection = Callable[[S], str | Awaitable[str | None] | None]
"""Says what speaks against a submission that has the right shape; None: nothing."""


@dataclass(frozen=True)
class BudgetState:
    """Where the whole run stands before an answer is asked for."""

    spent: Spent
    limits: RunLimits
    steers: Sequence[Steer] = ()
    """All that people have said to it."""


@dataclass
class Session(Generic[S]):
    """One conversation with a model, for the length of one stage."""

    id: str
    stage: str
    """The stage occurrence that speaks, like `decompose/1`."""
    conversation: Conversation[S]
    query: Query
    """Model, system prompt and tools of a session that begins now; one under way has its own."""
    model: Model
    journal: Journal
    reporter: Reporter
    bench: Bench
    consent: Consent
    boundary: Callable[[], Awaitable[None]]
    """Awaited where stopping loses nothing."""
    look: Callable[[], Awaitable[BudgetState]]
    """Returns where the whole run stands."""
    fenced: Callable[[str], str]
    """Puts people's words into this stage's fence."""
    objection: Objection[S] | None = None
    """What it says is sent back to the model."""
    turns: list[Turn] = field(default_factory=list)
    _seen: BudgetState | None = None
    """What was seen before the last answer; None when an earlier process asked for it."""

    async def run(self, prompt: str, pictures: Sequence[Block] = ()) -> S:
        """Hold the conversation until the model submits; return the submission.

        Raises ModelRefused when the model declines, is cut off, or never submits validly, and
        BudgetExceeded where another answer would be needed that the budget does not allow; Parked
        and Unanswered where people have to decide.
        """
        self.turns = await self.journal.turns(self.id)
        if not self.turns:
            await self._append(write_head(self.query, self.stage))
        if not self._own_turns():
            content = [{"type": "text", "text": prompt}, *pictures]
            await self._append(Turn("prompt", self.stage, content))
        while True:
            if self.turns[-1].kind == "answer":
                await self._settle(self.turns[-1])
            elif (submission := self._find_submission()) is not None:
                return submission
            else:
                await self._ask()

    # --- the two moves --------------------------------------------------------------------------

    async def _ask(self) -> None:
        await self.boundary()
        self._seen = look = await self.look()
        look.spent.check(look.limits)
        self._check_length()
        if new := make_remarks(look.steers, self.turns, self.fenced):
            await self._append(Turn("remark", self.stage, new))
        answer = await self._send(await self._head())
        await self._append(
            Turn(
                "answer",
                self.stage,
                answer.content,
                stop_reason=answer.stop_reason,
                usage=answer.usage,
                cost_usd=answer.cost_usd,
                seconds=answer.seconds,
            )
        )
        self.reporter.report_spending(*await self.journal.sum_usage())

    async def _head(self) -> Query:
        """Return the head that is sent: the session's own, while that can end this stage.

        A session of an older version has none, and its tools may lack this stage's submission.
        """
        if has_head(self.turns):
            head = read_head(self.turns)
            if lists_tool(head, self.conversation.output.tool_name()):
                return head
        await self._append(write_head(self.query, self.stage))
        return read_head(self.turns)

    async def _send(self, head: Query) -> Answer:
        """Ask; where the model's server sees another conversation, let it drop the thoughts."""
        query = replace(head, messages=to_messages(self.turns))
        try:
            return await self.model.answer(query)
        except PrefixChanged as error:
            if query.drop_unbound:
                raise
            log.warning("session %s goes on without its earlier thoughts: %s", self.id, error)
            return await self.model.answer(replace(query, drop_unbound=True))

    async def _settle(self, answer: Turn) -> None:
        """Give every tool call of the answer its result, in one message.

        What people must decide is decided before anything runs, so that a run which waits for them
        has lost nothing when its files are gone: the last turn tells what they were.
        """
        if answer.stop_reason not in ("tool_use", "end_turn", "pause_turn"):
            raise ModelRefused(_refusal(self.stage, answer.stop_reason))
        calls = calls_of(answer)
        if not calls:
            await self._nudge()
            return
        await self.boundary()
        cleared = await self.consent.decide_calls(self.turns, self.bench)
        results = await self._results(cleared)
        tree = await self.bench.tree.snapshot() if self._may_have_changed(calls) else None
        await self._append(Turn("results", self.stage, results + await self._notice(), tree=tree))

    async def _notice(self) -> list[Block]:
        """Return a word to wrap up, once, when most of the budget is used."""
        notice = {"type": "text", "text": WRAP_UP}
        told = any(notice in turn.content for turn in self.turns)
        look = self._seen or await self.look()
        spent = look.spent.and_one(self.turns[-1].cost_usd) if self._seen else look.spent
        return [] if told or spent.share(look.limits) < WRAP_UP_AT else [notice]

    # --- tool calls -----------------------------------------------------------------------------

    async def _results(self, calls: Sequence[ClearedCall]) -> list[Block]:
        """Return each call's result: tools first, since a submission rests on what they did."""
        told = iter(results := await self._run_calls([c for c in calls if not submits(c.call)]))
        failed = any("is_error" in result for result in results)
        return [
            await self._accept(each.call, failed) if submits(each.call) else next(told)
            for each in calls
        ]

    async def _run_calls(self, calls: Sequence[ClearedCall]) -> list[Block]:
        """Run the calls: those that only read at once, those that change one after another."""
        changing = asyncio.Lock()

        async def one(cleared: ClearedCall) -> Block:
            if gate.find_effect(cleared.call["name"]) is Effect.READ:
                return await self._call(cleared)
            async with changing:
                return await self._call(cleared)

        running = [asyncio.ensure_future(one(each)) for each in calls]
        try:
            return list(await asyncio.gather(*running))
        finally:
            for each in running:
                each.cancel()
            if running:  # none may go on in the work tree of a stage that has ended
                await asyncio.wait(running)

    async def _call(self, cleared: ClearedCall) -> Block:
        call = cleared.call
        try:
            result = _result(call, await self._call_tool(await self.consent.claim(cleared)))
        except ToolError as error:
            result = _result(call, str(error), error=True)
        if self._is_stuck(call, result):
            result["content"] += STUCK
        return result

    async def _call_tool(self, cleared: ClearedCall) -> str:
        def watch(tool: str, subject: str) -> None:
            self.reporter.tool_called(self.stage, tool, subject)

        name, arguments, grant = cleared.call["name"], cleared.call["input"], cleared.grant()
        return await gate.call(name, arguments, bench=cleared.bench, watch=watch, grant=grant)

    async def _accept(self, call: Block, failed: bool) -> Block:
        """Return what becomes of a submission; `failed`: a call beside it did not work."""
        output = self.conversation.output
        if call["name"] != output.tool_name():
            text = f"This stage ends with {output.tool_name()}, not with {call['name']}."
            return _result(call, text, error=True)
        if failed:
            text = "Not recorded: another call of this answer failed. See to that, then submit."
            return _result(call, text, error=True)
        try:
            submission = output.parse(call["input"])
            objection = self.objection(submission) if self.objection else None
            if isinstance(objection, Awaitable):
                objection = await objection
        except ToolError as error:
            objection = str(error)
        if objection is not None:
            return _result(call, objection, error=True)
        return _result(call, "Recorded.")

    def _may_have_changed(self, calls: Sequence[Block]) -> bool:
        return self.bench.writable and any(
            gate.find_effect(call["name"]) not in (Effect.READ, None) for call in calls
        )

    def _is_stuck(self, call: Block, result: Block) -> bool:
        def normalize_result(result: Block) -> str:
            return _SECONDS.sub("", result["content"].removesuffix(STUCK))

        this = (call["name"], call["input"], normalize_result(result))
        past = (
            (c["name"], c["input"], normalize_result(r)) for c, r in pair_calls(self._own_turns())
        )
        return sum(each == this for each in past) + 1 >= SAME_CALL

    # --- the end of the conversation ------------------------------------------------------------

    def _find_submission(self) -> S | None:
        """Return the submission that the last two turns of this stage hold, if they hold one."""
        output = self.conversation.output
        for call, result in pair_calls(self._own_turns()[-2:]):
            if call["name"] == output.tool_name() and "is_error" not in result:
                return output.parse(call["input"])
        return None

    async def _nudge(self) -> None:
        tool = self.conversation.output.tool_name()
        text = f"Nothing was submitted. If your work is done, call {tool}; if not, go on."
        await self._append(Turn("prompt", self.stage, [{"type": "text", "text": text}]))

    def _check_length(self) -> None:
        """Stop a conversation that does not come to its end."""
        own = self._own_turns()
        answers = sum(turn.kind == "answer" for turn in own)
        prompts = sum(turn.kind == "prompt" for turn in own)
        faults = sum(submits(call) and "is_error" in result for call, result in pair_calls(own))
        if answers >= self.conversation.max_turns or prompts > NUDGES + 1 or faults >= FAULTS:
            raise ModelRefused(
                f"The stage `{self.stage}` did not come to a result within {answers} answers of"
                " the model. Say more about what is wanted and where, then ask again."
            )

    def _own_turns(self) -> list[Turn]:
        return [t for t in self.turns if t.stage == self.stage and t.kind != "head"]

    async def _append(self, turn: Turn) -> None:
        await self.journal.append(self.id, len(self.turns), turn)
        self.turns.append(turn)


def _result(call: Block, text: str, *, error: bool = False) -> Block:
    block = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
    return block | {"is_error": True} if error else block


def _refusal(stage: str, reason: str | None) -> str:
    if reason == "refusal":
        return (
            f"The model declined to go on in the stage `{stage}`. If nothing improper is asked for,"
            " word it differently and ask again."
        )
    return (
        f"The model's answer in the stage `{stage}` was cut off ({reason}). Ask for less at once."
    )
