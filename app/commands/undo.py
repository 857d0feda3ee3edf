"""`/bot undo`: take back what the last run did, as long as nobody has merged it.

Each act looks before it writes, so obeying again after a crash does the rest and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from agents.requests import Command
from app.commands.context import CommandContext
from app.commands.replies import PUZZLED, CommandReplies
from app.github.pulls.withdraw import Withdrawal, read_pull, read_run_of_pull
from app.store.audit import PrivilegedAct, append_act
from app.store.database import Database
from app.store.runs import History, KeptRun, Lanes, Runs
from handlers.access import steering
from handlers.access.issues import Refusal
from handlers.access.steering import Standing

DONE = "+1"
NO_PULL = (
    "Nothing was done: the last run left no pull request behind, so there is nothing to take back"
    " but its comments, which say what was done."
)
MERGED = (
    "Nothing was done: #{number} is merged, so what it changed is part of `{base}`. *Revert* on"
    " #{number} makes a pull request that takes it back, with the repository's checks on it; Fettle"
    " takes back what nobody has merged."
)
NOT_OURS = "Nothing was done: #{number} was opened by somebody else, who can close it."
TAKEN_BACK = "@{login}, what the last run did is taken back:\n\n{lines}"


@dataclass(frozen=True)
class RunUndo:
    """Takes back what runs did."""

    database: Database
    lanes: Lanes
    telling: CommandReplies

    async def obey(self, inquiry: CommandContext) -> dict[str, str]:
        """Take it back, or explain why not; return the result for the record."""
        command = inquiry.command
        facts, live = await inquiry.about_asker(), await inquiry.list_live(self.lanes)
        run = await self._find_run(inquiry)
        under_way = bool(live) or (run is not None and run.outcome is None)
        standing = Standing(live=under_way, ended=run is not None)
        refusal = steering.decide(command, facts, standing)
        if refusal is not None or run is None:
            assert refusal is not None
            return await self._refuse(inquiry, refusal)
        number = _number_of_pull(run)
        pull = await read_pull(inquiry.client, command, number) if number else None
        if refusal := _judge(inquiry, pull):
            return await self._refuse(inquiry, refusal)
        assert pull is not None
        await self.telling.react(inquiry.client, command, DONE)
        await self._record(command, run, pull)
        telling, comment_id = self.telling, await Runs(self.database).comment_of(run.id)
        withdrawal = Withdrawal(
            telling.github, inquiry.client, inquiry.own, command, run.id, telling.settle
        )
        done = await withdrawal.take_back(pull, run.number, comment_id)
        lines = "\n".join(f"- {each}" for each in done)
        told = TAKEN_BACK.format(login=command.asked_by.login, lines=lines)
        await telling.say(command, f"undo-{command.comment_id}", told)
        return {"undone": run.id}

    async def _find_run(self, inquiry: CommandContext) -> KeptRun | None:
        """Return the run that is meant: the last one here, or the one that opened this."""
        command, history = inquiry.command, History(self.database)
        ended = await self.lanes.find_ended(command, begun=True)
        run = await history.run(ended.id) if ended is not None else None
        if command.pull_request is None or (run is not None and _number_of_pull(run)):
            return run
        pull = await read_pull(inquiry.client, command, command.number)
        ident = read_run_of_pull(pull, inquiry.own) if pull is not None else ""
        opened = await history.run(ident) if ident else None
        # People can edit what the pull request says of its run: the run has to say the same.
        here = opened is not None and opened.repository_id == command.repository.id
        return opened if opened and here and _number_of_pull(opened) == command.number else run

    async def _refuse(self, inquiry: CommandContext, refusal: Refusal) -> dict[str, str]:
        await self.telling.react(inquiry.client, inquiry.command, PUZZLED)
        await self.telling.refuse(inquiry.command, refusal)
        return {"refused": refusal.rule}

    async def _record(self, command: Command, run: KeptRun, pull: Mapping[str, Any]) -> None:
        act = PrivilegedAct(
            "run.undone",
            command.asked_by.login,
            run_id=run.id,
            installation_id=command.installation_id,
            repository_id=command.repository.id,
            repository=command.repository.full_name,
            details={"pull_request": pull["number"], "commit": pull["head"]["sha"]},
        )
        await self.database.write(partial(append_act, act=act))


def _number_of_pull(run: KeptRun) -> int:
    """Return the number of the pull request that the run left behind; 0 where it has none."""
    pull = run.outcome.pull_request if run.outcome is not None else None
    return (pull.number if pull is not None else 0) or 0


def _judge(inquiry: CommandContext, pull: Mapping[str, Any] | None) -> Refusal | None:
    """Return why the pull request cannot be taken back."""
    if pull is None:
        return Refusal(rule="something-pushed", text=NO_PULL)
    about = {"number": pull["number"], "base": pull["base"]["ref"]}
    if not inquiry.own.is_author(pull):
        return Refusal(rule="own-pull-request", text=NOT_OURS.format(**about))
    if pull["merged_at"] is not None:
        return Refusal(rule="not-merged", text=MERGED.format(**about))
    return None
