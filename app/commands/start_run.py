"""`/bot retry`, `/bot address` and `/bot update`: commands that start a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import ValidationError

from agents.errors import ConfigError
from agents.requests import (
    AddressReview,
    Again,
    Command,
    FixChecks,
    Request,
    ResolveIssue,
    UpdateBranch,
    request_of,
)
from app.commands.context import CommandContext, Submit
from app.commands.replies import PUZZLED, CommandReplies
from app.store.runs import History, LaneRun, Lanes, Runs
from handlers.access import steering
from handlers.access.issues import Refusal
from handlers.access.steering import LaneFacts
from handlers.issues import RESOLVE_LABEL

DONE = "+1"
STAGE = "stage/"
NOT_OUR_BUTTON = (
    "Nothing was done: the button is on no check run of Fettle's any more. Write `/bot retry` on"
    " the issue or pull request that is meant."
)

log = structlog.get_logger()


@dataclass(frozen=True)
class RunStarter:
    """Starts the runs that somebody asks for in a comment."""

    runs: Runs
    lanes: Lanes
    history: History
    replies: CommandReplies
    submit: Submit

    async def obey(self, context: CommandContext) -> dict[str, str]:
        """Start the run, or explain why not; return the result for the record."""
        command = context.command
        run_id = f"{context.ident}-{'again' if command.verb == 'retry' else command.verb}"
        if await self.lanes.has_run(run_id):  # asked for before a crash
            await self.submit(run_id, request_of(await self.runs.request(run_id)))
        elif (refusal := await self._start(context, run_id)) is not None:
            await self.replies.react(context.client, command, PUZZLED)
            await self.replies.refuse(command, refusal)
            return {"refused": refusal.rule}
        await self.replies.react(context.client, command, DONE)
        return {"asked": run_id}

    async def _start(self, context: CommandContext, run_id: str) -> Refusal | None:
        command, facts = context.command, await context.about_asker()
        last = await self._last(command) if command.verb == "retry" else None
        standing = LaneFacts(
            live=bool(await context.list_live(self.lanes)),
            ended=last is not None,
            stages=await self._stages(last) if last and command.stage else (),
        )
        refusal = steering.decide(command, facts, standing)
        if refusal is not None:
            return refusal
        if not await context.own_button():
            return Refusal(rule="button-ours", text=NOT_OUR_BUTTON)
        try:
            request = await self._request(command, last)
        except (KeyError, ValidationError):
            return Refusal(rule="request-readable", text=_unreadable(command, last))
        await self.submit(run_id, request)
        return None

    async def _last(self, command: Command) -> LaneRun | None:
        return await self.lanes.find_ended(command, begun=True) or await self.lanes.find_ended(
            command
        )

    async def _stages(self, last: LaneRun) -> tuple[str, ...]:
        """Return the stages that it came to, in that order, like `implement/2`."""
        try:
            steps = [step.name for step in await self.history.steps(last.id)]
        except ConfigError:  # sealed with a key that is gone
            return ()
        names = (name.partition("~")[0] for name in steps if name.startswith(STAGE))
        return tuple(dict.fromkeys(name.removeprefix(STAGE) for name in names))

    async def _request(self, command: Command, last: LaneRun | None) -> Request:
        if last is None:
            return address(command) if command.verb == "address" else update(command)
        again = Again(run_id=last.id, stage=command.stage)
        if command.via == "button":
            return repeat(command, await self._read_request(last), again)
        return once_more(command, await self._read_request(last), again)

    async def _read_request(self, last: LaneRun) -> Any:
        """Return the last run's request, as JSON values; only its kind where nobody can read it."""
        try:
            asked = await self.runs.request(last.id)
        except ConfigError as error:
            log.warning("the request of a run cannot be read", run=last.id, reason=str(error))
            asked = None
        return asked if isinstance(asked, dict) and "kind" in asked else {"kind": last.kind}


def _unreadable(command: Command, last: LaneRun | None) -> str:
    """Return what people can do where nobody can tell what the last run was to do."""
    then = (
        "Reopen its alert on GitHub, or have the operator run"
        f" `fettle remediate {command.repository.full_name}`."
        if last is not None and last.kind == "remediate_alert"
        else "Write `/bot address` to have the reviews looked at, or re-run the checks that fail."
    )
    return (
        "Nothing was done: what the last run was asked for cannot be read any more. Its texts were"
        f" deleted after their time, or are sealed with a key that the server does not have. {then}"
    )


def address(command: Command, **more: Any) -> AddressReview:
    """Return the request to address the reviews of the command's pull request."""
    return AddressReview(**_request_fields(command), **more)


def update(command: Command, **more: Any) -> UpdateBranch:
    """Return the request to merge the base branch into the command's pull request."""
    return UpdateBranch(**_request_fields(command), **more)


def once_more(command: Command, last: Any, again: Again) -> Request:
    """Return the request that repeats the last run's; `last` is that request as JSON values."""
    if last["kind"] == "remediate_alert":  # on the issue that Fettle itself has opened for it
        here = {
            "installation_id": command.installation_id,
            "repository": command.repository,
            "number": command.number,
            "asked_by": command.asked_by,
            "via": "command",
            "branch": "",  # another name than Fettle's own is the operator's alone to give
        }
        return request_of(last).model_copy(update={**here, "again": again})
    if command.issue is not None:
        body = command.issue.body
        return ResolveIssue(**_request_fields(command), body=body, label=RESOLVE_LABEL, again=again)
    match last["kind"]:
        case "update_branch":
            return update(command, again=again)
        case "fix_checks":
            head, branch = last["head"], last["branch"]
            return FixChecks(**_request_fields(command), head=head, branch=branch, again=again)
        case _:
            return address(command, again=again)


def repeat(command: Command, last: Any, again: Again) -> Request:
    """Return the last run's request as it was shown then: a button shows no issue."""
    if last["kind"] == "remediate_alert":
        return once_more(command, last, again)
    here = {
        "installation_id": command.installation_id,
        "repository": command.repository,
        "asked_by": command.asked_by,
        "via": "command",
        "again": again,
    }
    return request_of(last).model_copy(update=here)


def _request_fields(command: Command) -> dict[str, Any]:
    """Return what every request says, as the delivery showed it."""
    shown = command.issue or command.pull_request
    assert shown is not None
    return {
        "installation_id": command.installation_id,
        "repository": command.repository,
        "number": command.number,
        "title": shown.title,
        "author": shown.author,
        "asked_by": command.asked_by,
        "url": shown.url,
        "via": "command",
    }
