"""A session: ask the model and run its tool calls, until the stage's submission.

A session is its list of turns. Each turn is on disk before the next begins, so a process that
dies loses at most the call in flight: the next process loads the turns and goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agents.errors import ModelRefused, ToolError
from agents.loop.budget import RunLimits, Spent, StageProgress, check_share
from agents.loop.consent import ClearedCall, Consent
from agents.loop.conversation import Conversation, Submission
from agents.loop.transcript import CUT_OFF, REFUSED, Transcript, refuse_cut_calls
from agents.loop.turns import (
    PAUSED,
    calls_of,
    is_paused,
    make_remarks,
    pair_calls,
    submits,
)
from agents.ports import Block, Reporter, Ruling, Steer, Turn
from agents.tools.base import Bench, Effect
from agents.tools.gate import gate

CUT = "[Fettle: Your answer was cut off at its limit. Go on where it stopped, in smaller parts.]"

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

    transcript: Transcript
    conversation: Conversation[S]
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
    _seen: BudgetState | None = None
    """What was seen before the last answer; None when an earlier process asked for it."""

    async def run(self, prompt: str, pictures: Sequence[Block] = ()) -> S:
        """Hold the conversation until the model submits; return the submission.

        Raises ModelRefused when the model declines, is cut off, or never submits validly, and
        BudgetExceeded where another answer would be needed that the budget does not allow; Parked
        and Unanswered where people have to decide.
        """
        await self.transcript.begin(prompt, pictures)
        while True:
            if is_paused(self.transcript.last):  # sent back as it is, the model goes on with it
                await self._ask()
            elif self.transcript.last.kind == "answer":
                await self._settle(self.transcript.last)
            elif (submission := self._find_submission()) is not None:
                return submission
            else:
                await self._ask()

    @property
    def stage(self) -> str:
        """Return the stage occurrence that speaks, like `decompose/1`."""
        return self.transcript.stage

    @property
    def turns(self) -> list[Turn]:
        """Return all turns, those of earlier stages included."""
        return self.transcript.turns

    # --- the two moves --------------------------------------------------------------------------

    async def _ask(self) -> None:
        await self.boundary()
        self._seen = look = await self.look()
        look.spent.check(look.limits)
        check_share(self.transcript.own, self.conversation.usd_share, look.limits)
        if last_call := self._progress().check():
            await self.transcript.say("notice", last_call)
        if new := await make_remarks(look.steers, self.turns, self.fenced):
            await self.transcript.append(Turn("remark", self.stage, new))
        await self.transcript.ask(self.conversation.output.tool_name())
        self.reporter.report_spending(*await self.transcript.journal.sum_usage())

    async def _settle(self, answer: Turn) -> None:
        """Give every tool call of the answer its result, in one message.

        What people must decide is decided before anything runs, so that a run which waits for them
        has lost nothing when its files are gone: the last turn tells what they were.
        """
        if self.transcript.sums_up:
            await self.transcript.sum_up()
            return
        reason, _, category = (answer.stop_reason or "").partition("/")
        if reason == REFUSED and await self.transcript.fall_back():
            return
        if reason not in ("tool_use", "end_turn", PAUSED, *CUT_OFF):
            raise ModelRefused(_describe_refusal(self.stage, reason, category))
        calls = calls_of(answer)
        if not calls:
            await self._nudge(cut_off=reason in CUT_OFF)
            return
        if reason in CUT_OFF:
            await self.transcript.append(Turn("results", self.stage, refuse_cut_calls(answer)))
            return
        await self.boundary()
        cleared = await self.consent.decide_calls(self.turns, self.bench)
        rulings: dict[str, Ruling] = {}
        results = await self._results(cleared, rulings)
        tree = await self.bench.tree.snapshot() if self._may_have_changed(calls) else None
        results += await self._notice()
        await self.transcript.append(
            Turn("results", self.stage, results, tree=tree, rulings=rulings)
        )

    async def _notice(self) -> list[Block]:
        """Return a word to wrap up, once, when most of what it may use is used."""
        look = self._seen or await self.look()
        last = self.transcript.last
        spent = look.spent.add_answer(last.cost_usd) if self._seen else look.spent
        notice = self._progress().notice(spent.share(look.limits))
        return [{"type": "text", "text": notice}] if notice else []

    def _progress(self) -> StageProgress:
        return StageProgress(self.stage, self.transcript.own, self.conversation.max_turns)

    # --- tool calls -----------------------------------------------------------------------------

    async def _results(
        self, calls: Sequence[ClearedCall], rulings: dict[str, Ruling]
    ) -> list[Block]:
        """Return each call's result: tools first, since a submission rests on what they did."""
        tools = [each for each in calls if not submits(each.call)]
        told = iter(results := await self._run_calls(tools, rulings))
        failed = any("is_error" in result for result in results)
        return [
            await self._accept(each.call, failed) if submits(each.call) else next(told)
            for each in calls
        ]

    async def _run_calls(
        self, calls: Sequence[ClearedCall], rulings: dict[str, Ruling]
    ) -> list[Block]:
        """Run the calls: those that only read at once, those that change one after another."""
        changing = asyncio.Lock()

        async def one(cleared: ClearedCall) -> Block:
            if gate.find_effect(cleared.call["name"]) is Effect.READ:
                return await self._call(cleared, rulings)
            async with changing:
                return await self._call(cleared, rulings)

        running = [asyncio.ensure_future(one(each)) for each in calls]
        try:
            return list(await asyncio.gather(*running))
        finally:
            for each in running:
                each.cancel()
            if running:  # none may go on in the work tree of a stage that has ended
                await asyncio.wait(running)

    async def _call(self, cleared: ClearedCall, rulings: dict[str, Ruling]) -> Block:
        call = cleared.call
        if (asked := cleared.ruling) is not None:
            rulings[call["id"]] = asked
        try:
            claimed = await self.consent.claim(cleared)
            result = _result(call, await self._call_tool(claimed, rulings))
        except ToolError as error:
            result = _result(call, str(error), error=True)
        result["content"] += self._progress().remark_on(call, result)
        return result

    async def _call_tool(self, cleared: ClearedCall, rulings: dict[str, Ruling]) -> str:
        def watch(tool: str, subject: str) -> None:
            self.reporter.tool_called(self.stage, tool, subject)

        def note(verdict: gate.Verdict) -> None:
            approval = grant.id if grant is not None else ""
            ruling = Ruling(verdict.decision, verdict.rule, approval)
            rulings.setdefault(cleared.call["id"], ruling)

        name, arguments, grant = cleared.call["name"], cleared.call["input"], cleared.grant()
        return await gate.call(
            name, arguments, bench=cleared.bench, watch=watch, note=note, grant=grant
        )

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

    # --- the end of the conversation ------------------------------------------------------------

    def _find_submission(self) -> S | None:
        """Return the submission that the last two turns of this stage hold, if they hold one."""
        output = self.conversation.output
        for call, result in pair_calls(self.transcript.own[-2:]):
            if call["name"] == output.tool_name() and "is_error" not in result:
                return output.parse(call["input"])
        return None

    async def _nudge(self, *, cut_off: bool) -> None:
        if cut_off:
            await self.transcript.say("notice", CUT)
            return
        tool = self.conversation.output.tool_name()
        text = f"Nothing was submitted. If your work is done, call {tool}; if not, go on."
        await self.transcript.say("prompt", text)


def _result(call: Block, text: str, *, error: bool = False) -> Block:
    block = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
    return block | {"is_error": True} if error else block


def _describe_refusal(stage: str, reason: str, category: str) -> str:
    if reason != REFUSED:
        return (
            f"The model's server ended an answer in the stage `{stage}` for a reason that Fettle"
            f" does not know ({reason}). Write `/bot retry` to try again."
        )
    what = f" Its category: {category}." if category else ""
    return (
        f"The model declined to go on in the stage `{stage}`.{what} That is its provider's"
        " rule, not Fettle's. If nothing improper is asked for, word the request differently and"
        " write `/bot retry`; the operator can name another model for such cases"
        " (`FETTLE_FALLBACK_MODEL`)."
    )
