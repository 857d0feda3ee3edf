"""`/bot undo`: take back what the last run did; by another pull request what is merged.

Each act looks before it writes, so obeying again after a crash does the rest and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from agents.requests import REVERSALS, Command, Person, RevertChange, request_of
from app.commands.context import CommandContext, Submit
from app.commands.replies import PUZZLED, CommandReplies
from app.github.pulls.withdraw import Withdrawal, read_pull, read_run_of_pull
from app.store.audit import PrivilegedAct, append_act
from app.store.database import Database
from app.store.runs import History, KeptRun, Lanes, Runs
from handlers.access import steering
from handlers.access.issues import Refusal
from handlers.access.steering import LaneFacts

DONE = "+1"
NO_PULL = (
    "Nothing was done: the last run left no pull request behind, so there is nothing to take back"
    " but its comments, which say what was done."
)
REVERTING = (
    "{to} #{number} is merged, so what it changed is part of `{base}`. A pull request that"
    " takes it back is being made and checked; #{number} tells how that goes."
)
BEING_MADE = (
    "Nothing was done: a pull request that takes #{number} back is being made. #{number} tells how"
    " that goes."
)
TAKES_BACK = (
    "Nothing was done: #{by} takes #{number} back. Merge it, or write `/bot undo` on #{by} to have"
    " it closed."
)
NEVER_MERGED = "Nothing was done: GitHub does not say which commit the merge of #{number} made."
NOT_OURS = "Nothing was done: #{number} was opened by somebody else, who can close it."
TAKEN_BACK = "{to} what the last run did is taken back:\n\n{lines}"
BY_OPERATOR = "As the operator of Fettle asked,"


@dataclass(frozen=True)
class RunUndo:
    """Takes back what runs did."""

    database: Database
    lanes: Lanes
    replies: CommandReplies
    submit: Submit

    async def obey(self, context: CommandContext) -> dict[str, str]:
        """Take it back, or explain why not; return the result for the record."""
        command, run_id = context.command, _name_run(context)
        if await self.lanes.has_run(run_id):  # asked for before a crash
            request = request_of(await Runs(self.database).request(run_id))
            return await self._submit(context, cast("RevertChange", request))
        facts, live = await context.about_asker(), await context.list_live(self.lanes)
        run = await self._find_run(context)
        under_way = bool(live) or (run is not None and run.outcome is None)
        standing = LaneFacts(live=under_way, ended=run is not None)
        refusal = steering.decide(command, facts, standing)
        if refusal is not None or run is None:
            assert refusal is not None
            return await self._refuse(context, refusal)
        pulls = await _read_pulls(context, run)
        pull = next((each for each in pulls if each["number"] == command.number), None)
        pull = pull if pull and pull["merged_at"] else pulls[0] if pulls else None
        if refusal := _judge(context, pull):
            return await self._refuse(context, refusal)
        assert pull is not None
        if pull["merged_at"] is not None:
            return await self._revert(context, run, pull)
        await self.replies.react(context.client, command, DONE)
        await self._record(command, run, pull)
        replies, comment_id = self.replies, await Runs(self.database).comment_of(run.id)
        withdrawal = Withdrawal(
            replies.github, context.client, context.own, command, run.id, replies.settle
        )
        done = await withdrawal.take_back(pulls, run.number, comment_id)
        lines = "\n".join(f"- {each}" for each in done)
        told = TAKEN_BACK.format(to=_address(command), lines=lines)
        await replies.say(command, _name_answer(context), told)
        return {"undone": run.id}

    async def _revert(
        self, context: CommandContext, run: KeptRun, pull: Mapping[str, Any]
    ) -> dict[str, str]:
        """Have a pull request made that takes the merged one back, once."""
        if refusal := await self._is_reverted(context, pull):
            return await self._refuse(context, refusal)
        await self._record(context.command, run, pull)
        return await self._submit(context, _request_revert(context.command, pull))

    async def _submit(self, context: CommandContext, request: RevertChange) -> dict[str, str]:
        command, run_id = context.command, _name_run(context)
        await self.submit(run_id, request)
        await self.replies.react(context.client, command, DONE)
        told = REVERTING.format(
            to=_address(command), number=request.number, base=request.base_branch
        )
        await self.replies.say(command, _name_answer(context), told)
        return {"asked": run_id}

    async def _is_reverted(
        self, context: CommandContext, pull: Mapping[str, Any]
    ) -> Refusal | None:
        """Return by what it is taken back already, or is about to be."""
        number = pull["number"]
        if not pull["merge_commit_sha"]:
            text = NEVER_MERGED.format(number=number)
            return Refusal(rule="merge-known", text=text)
        there = context.command.model_copy(update={"number": number})
        if any(each.kind in REVERSALS for each in await self.lanes.live(there)):
            return Refusal(rule="not-being-made", text=BEING_MADE.format(number=number))
        last = await self.lanes.find_ended(there, begun=True)
        if last is None or last.kind not in REVERSALS:
            return None
        made = await History(self.database).run(last.id)
        by = _number_of_pull(made) if made is not None else 0
        other = await read_pull(context.client, context.command.repository, by) if by else None
        if other is None or (other["state"] != "open" and other["merged_at"] is None):
            return None
        text = TAKES_BACK.format(number=number, by=by)
        return Refusal(rule="not-taken-back", text=text)

    async def _find_run(self, context: CommandContext) -> KeptRun | None:
        """Return the run that is meant: the last one here, or the one that opened this."""
        command, history = context.command, History(self.database)
        ended = await self.lanes.find_ended(command, begun=True)
        run = await history.run(ended.id) if ended is not None else None
        # One that takes this pull request back made another one, where it is taken back itself.
        other = run is not None and run.kind in REVERSALS
        if command.pull_request is None or (run and _number_of_pull(run) and not other):
            return run
        pull = await read_pull(context.client, command.repository, command.number)
        ident = read_run_of_pull(pull, context.own) if pull is not None else ""
        opened = await history.run(ident) if ident else None
        # People can edit what the pull request says of its run: the run has to say the same.
        here = opened is not None and opened.repository_id == command.repository.id
        return opened if opened and here and command.number in _numbers_of(opened) else run

    async def _refuse(self, context: CommandContext, refusal: Refusal) -> dict[str, str]:
        await self.replies.react(context.client, context.command, PUZZLED)
        await self.replies.refuse(context.command, refusal)
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


def _name_run(context: CommandContext) -> str:
    """Return the id of the run that this command may ask for."""
    return f"{context.ident}-undo"


def _name_answer(context: CommandContext) -> str:
    """Return the key of the answer, which is given once."""
    return f"undo-{context.command.comment_id or context.ident}"


def _address(command: Command) -> str:
    """Return how the answer begins: to whom it is, or by whose wish."""
    return BY_OPERATOR if command.via == "terminal" else f"@{command.asked_by.login},"


def _request_revert(command: Command, pull: Mapping[str, Any]) -> RevertChange:
    """Return the request to take the merged pull request back."""
    author = pull["user"]
    return RevertChange(
        installation_id=command.installation_id,
        repository=command.repository,
        number=pull["number"],
        title=pull["title"],
        author=Person(id=author["id"], login=author["login"]),
        asked_by=command.asked_by,
        via="terminal" if command.via == "terminal" else "command",
        url=pull["html_url"],
        merged=pull["merge_commit_sha"],
        base_branch=pull["base"]["ref"],
    )


async def _read_pulls(context: CommandContext, run: KeptRun) -> list[Mapping[str, Any]]:
    """Return the run's pull request as it is now, before those that it stands on."""
    client, repository = context.client, context.command.repository
    found = [await read_pull(client, repository, number) for number in _numbers_of(run)]
    top, *lower = found or [None]
    ours = [each for each in lower if each is not None and context.own.is_author(each)]
    return [top, *ours] if top is not None else []


def _numbers_of(run: KeptRun) -> list[int]:
    """Return the numbers of the run's pull requests, what stands on others first."""
    outcome = run.outcome
    lower = [each.number for each in outcome.lower if each.number] if outcome else []
    top = _number_of_pull(run)
    return [top, *reversed(lower)] if top else []


def _number_of_pull(run: KeptRun) -> int:
    """Return the number of the pull request that the run left behind; 0 where it has none."""
    pull = run.outcome.pull_request if run.outcome is not None else None
    return (pull.number if pull is not None else 0) or 0


def _judge(context: CommandContext, pull: Mapping[str, Any] | None) -> Refusal | None:
    """Return why the pull request cannot be taken back."""
    if pull is None:
        return Refusal(rule="something-pushed", text=NO_PULL)
    if not context.own.is_author(pull):
        text = NOT_OURS.format(number=pull["number"])
        return Refusal(rule="own-pull-request", text=text)
    return None
