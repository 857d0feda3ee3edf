"""A session's transcript: its turns on disk and in memory, and how the model adds the next one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agents.errors import ContextFull, PrefixChanged, RunError, TransientError
from agents.loop.compaction import (
    COMPACT_AT,
    REQUEST,
    estimate_tokens,
    is_due,
    is_window_full,
    write_excerpts,
    write_summary,
)
from agents.loop.head import (
    find_lasting,
    forget_thoughts,
    has_head,
    is_passing,
    lists_tool,
    read_head,
    write_head,
)
from agents.loop.turns import DROP, LEAVE_OUT, calls_of, to_messages
from agents.ports import Answer, Block, Journal, Model, Query, Turn

log = logging.getLogger(__name__)

REFUSED, COMPACTED = "refusal", "compaction"
CUT_OFF = ("max_tokens", "model_context_window_exceeded")
"""Stop reasons of answers that end in the middle; what they call is not whole."""


MOST_READ_ANEW = 100_000
"""Tokens of a session that another model may read for one stage: above, fast ones cost more."""
SHORTEST_ANSWER = 1_024  # tokens that are asked for, however full the window seems


@dataclass
class Transcript:
    """The turns of one session, in the stage that speaks now. Each is on disk before the next."""

    id: str
    stage: str
    query: Query
    """The head of a session that begins now; one under way has its own."""
    model: Model
    journal: Journal
    fallback: str = ""
    """The model that is asked where the session's own refuses; empty: none."""
    passing: bool = False
    """The stage is not the session's own model's: `query` is sent in it, and in none after it."""
    handed_over: bool = False
    """Where it passes, the other model has it however long the session is."""
    turns: list[Turn] = field(default_factory=list)

    @property
    def own(self) -> list[Turn]:
        """Return what was said in this stage."""
        return [t for t in self.turns if t.stage == self.stage and t.kind != "head"]

    @property
    def last(self) -> Turn:
        """Return the newest turn."""
        return self.turns[-1]

    @property
    def sums_up(self) -> bool:
        """Return whether the newest turn answers the request to sum the conversation up."""
        by_itself = len(self.turns) > 1 and self.turns[-2].kind == "compact"
        return by_itself or self.last.stop_reason == COMPACTED

    async def begin(self, prompt: str, pictures: Sequence[Block]) -> None:
        """Load the turns; say the stage's prompt where it was not said yet."""
        self.turns = await self.journal.turns(self.id)
        if not self.own:
            if not self.turns or (self.last.kind, self.last.stage) != ("head", self.stage):
                await self._begin_head()
            await self.say("prompt", prompt, *pictures)

    async def append(self, turn: Turn) -> None:
        """Store the turn."""
        await self.journal.append(self.id, len(self.turns), turn)
        self.turns.append(turn)

    async def say(
        self, kind: Literal["prompt", "notice", "compact"], text: str, *more: Block
    ) -> None:
        """Store a message of ours."""
        content = [{"type": "text", "text": text}, *more]
        await self.append(Turn(kind, self.stage, content))

    async def ask(self, tool: str) -> None:
        """Have the model add its answer; `tool` is the one that ends the stage.

        A conversation that comes near the model's window is summed up instead, by the model while
        there is room for it. Raises what the port `Model` raises.
        """
        head = await self._head(tool)
        if is_window_full(self.turns):
            await self.append(write_excerpts(self.turns, self.stage))
        elif self.last.kind != "compact" and is_due(self.turns, head):
            if head.capabilities.compaction and await self._compact(head):
                return
            await self.say("compact", REQUEST)
        try:
            answer = await self._send(head)
        except ContextFull as error:
            log.warning("session %s goes on with excerpts: %s", self.id, error)
            await self.append(write_excerpts(self.turns, self.stage))
            answer = await self._send(head)
        await self._keep(answer, head)

    async def _keep(self, answer: Answer, head: Query) -> None:
        reason = answer.stop_reason
        await self.append(
            Turn(
                "answer",
                self.stage,
                answer.content,
                stop_reason=f"{reason}/{answer.category}" if answer.category else reason,
                usage=answer.usage,
                cost_usd=answer.cost_usd,
                seconds=answer.seconds,
                model=head.model,
            )
        )

    async def _compact(self, head: Query) -> bool:
        """Have the server sum the conversation up; False where it cannot, and we do it."""
        messages = to_messages(self.turns, compaction=True)
        try:
            answer = await self.model.answer(replace(head, messages=messages, compact=True))
        except (RunError, TransientError) as error:
            log.warning("session %s is not summed up by the server: %s", self.id, error)
            return False
        await self._keep(answer, head)
        return True

    async def sum_up(self) -> None:
        """Go on from the summary that the model has just written."""
        await self.append(write_summary(self.turns, self.stage))

    async def fall_back(self) -> bool:
        """Have another model go on, once in a session; return whether there is one."""
        head = read_head(self.turns)
        if not self.fallback or head.model == self.fallback:
            return False
        log.warning("session %s: %s refuses, %s is asked", self.id, head.model, self.fallback)
        passing = is_passing(self.turns)
        await self._write_head(replace(head, model=self.fallback), passing=passing)
        return True

    async def _begin_head(self) -> None:
        """Journal the head that the stage is sent with, where it is not the newest one.

        A model that holds one stage of another's session reads all of it anew: a long one stays
        with its own model, which has it in its cache, unless the stage is handed over.
        """
        if not self.turns:
            await self._write_head(self.query)
            return
        can = await self.model.capabilities(self.query.model)
        most = min(MOST_READ_ANEW, COMPACT_AT * can.context_window)
        short = estimate_tokens(self.turns, self.query) < most
        if self.passing and (self.handed_over or short):
            await self._write_head(self.query, passing=True)
        elif is_passing(self.turns):
            lasting = find_lasting(self.turns)
            if lasting is None:
                await self._write_head(self.query)
            else:
                await self.append(replace(lasting, stage=self.stage))

    async def _write_head(self, query: Query, *, passing: bool = False) -> None:
        """Journal the head, with what its model understands now."""
        can = await self.model.capabilities(query.model)
        told = replace(query, capabilities=can)
        await self.append(write_head(told, self.stage, passing=passing))

    async def _head(self, tool: str) -> Query:
        """Return the head that is sent: the session's own, while that can end this stage.

        A session of an older version has none, and its tools may lack this stage's submission.
        """
        if has_head(self.turns):
            head = read_head(self.turns)
            if lists_tool(head, tool):
                return head
        await self._write_head(self.query, passing=self.passing)
        return read_head(self.turns)

    async def _send(self, head: Query) -> Answer:
        """Ask; where the model's server sees another conversation, let it drop the thoughts."""
        cut = any(turn.stop_reason == "max_tokens" for turn in self.turns)
        can = head.capabilities
        room = can.context_window - estimate_tokens(self.turns, head)  # some count both together
        wanted = can.longest_answer if cut else min(head.max_tokens, can.longest_answer)
        query = replace(
            head,
            messages=to_messages(self.turns, compaction=can.compaction),
            max_tokens=max(min(wanted, room), SHORTEST_ANSWER),
        )
        try:
            return await self.model.answer(query)
        except PrefixChanged as error:
            return await self._send_without_thoughts(query, error)

    async def _send_without_thoughts(self, query: Query, refused: PrefixChanged) -> Answer:
        """Have the server drop the thoughts; where it cannot, leave them out, now and later."""
        can = query.capabilities
        for how in (LEAVE_OUT,) if query.drop_unbound else (DROP, LEAVE_OUT):
            log.warning("session %s goes on without its thoughts: %s", self.id, refused)
            await self.append(forget_thoughts(self.turns, self.stage, how))
            messages = to_messages(self.turns, compaction=can.compaction)
            again = replace(query, messages=messages, drop_unbound=how == DROP)
            try:
                return await self.model.answer(again)
            except ContextFull:
                raise
            except RunError:
                if how == LEAVE_OUT:
                    raise
        raise AssertionError("unreachable")


def refuse_cut_calls(answer: Turn) -> list[Block]:
    """Return a result for each call of an answer that was cut off: none of them ran."""
    return [
        {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": "Your answer was cut off at its limit, so none of its calls ran. Make"
            " them again, with less text in each: several small edits instead of one large one.",
            "is_error": True,
        }
        for call in calls_of(answer)
    ]
