"""Have work done on GitHub from the terminal: hand it over, stay with it, tell how it ends."""

from __future__ import annotations

import asyncio
import json as json_module
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from agents.errors import ConfigError
from agents.requests import Request
from agents.run import Outcome
from app.cli.progress import TerminalProgress
from app.cli.runs.approval_prompt import ask_here
from app.cli.terminal import PERSON, STOPPED, redactor_of, say, stop_event
from app.clone.log import logging_to
from app.clone.result import exit_code, refer_to
from app.config.settings import Settings
from app.github.transport import GitHub
from app.operator.follow_run import Companion, RunAbandoned
from app.operator.issue_reference import IssueName
from app.operator.issue_request import Wanted, request_for, undo_for
from app.operator.local_worker import require_own, work_here
from app.operator.submit import hand_over, is_served
from app.operator.take_back import take_back
from app.records.approvals import StoredApproval
from app.runs.follow import Follower, RunSnapshot
from app.sandbox.path_permissions import make_data_folder
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.runs import History, Lanes, StoredApprovals
from app.views.record import describe_run
from app.views.text import make_visible
from app.wiring.serve import open_github

LOG = "terminal.log"
SHORT = 16  # characters of a run's id that tell it from others for sure
GOES_ON = (
    "The server goes on with it. `fettle runs show {run}` tells how far it is, and the same command"
    " follows it again; `fettle runs cancel {run}` ends it."
)
HELD = "Stopped. The same command goes on from there, and so does `fettle serve`."
DESERTED = (
    "Nothing is heard of the run any more, and no `fettle serve` is at work. It goes on when one is"
    " started, or here with the same command."
)
ANSWER = "The run waits for an answer on GitHub. Somebody with write access can answer there:"
DECIDE = (
    "The run waits for a decision. Decide with `fettle approve ID` or `fettle deny ID`, or on"
    " GitHub:"
)
IDLE = (
    "It goes on as soon as somebody has answered and `fettle serve` runs, or the same command is"
    " given again."
)


@dataclass
class AtTheTerminal:
    """One request of the operator, from its name to its end."""

    settings: Settings
    redactor: Redactor
    json: bool
    progress: TerminalProgress = field(
        default_factory=lambda: TerminalProgress(Console(stderr=True))
    )
    here: bool = False
    """Whether this process does the work; else a server does."""

    async def work_on(self, wanted: Wanted) -> int:
        """Have it done, and return the command's exit code."""
        self.here, log = await who_works(self.settings)
        with logging_to(log, self.settings, self.redactor, say):
            async with open_github(self.settings, self.redactor) as github:
                return await self._work_on(github, wanted)

    async def take_back(self, name: IssueName) -> int:
        """Have the last run there taken back, and return the command's exit code."""
        self.here, log = await who_works(self.settings)
        with logging_to(log, self.settings, self.redactor, say):
            async with open_github(self.settings, self.redactor) as github:
                command = await undo_for(github, name)
                async with opened_database(self.settings) as database:
                    undone = await take_back(database, github, command, self.redactor)
                if undone.request is None:
                    typer.echo(make_visible(undone.told))
                    return 0 if undone.done else PERSON
                say(make_visible(undone.told))
                return await self._have_done(github, undone.request)

    async def _work_on(self, github: GitHub, wanted: Wanted) -> int:
        return await self._have_done(github, await request_for(github, wanted))

    async def _have_done(self, github: GitHub, request: Request) -> int:
        async with opened_database(self.settings) as database:
            run_id = await self._run_of(database, request)
            stop = stop_event(self._on_interrupt(run_id))
            at_work = (
                work_here(self.settings, self.redactor, github) if self.here else nullcontext()
            )
            async with AsyncExitStack() as stack:
                stack.callback(self.progress.end, "stopped")
                if ring := await stack.enter_async_context(at_work):
                    ring()
                return await self._stay(database, request, run_id, stop)

    async def _run_of(self, database: Database, request: Request) -> str:
        """Return the run that does it: one of its kind that is under way, or a new one."""
        live = await Lanes(database).live(request)
        if live and request.again is not None:
            raise ConfigError(
                f"The run {live[0].id[:SHORT]} is under way on {request.reference}. Wait for it, or"
                f" end it with `fettle runs cancel {live[0].id[:SHORT]}`."
            )
        same = [run.id for run in live if run.kind == request.kind]
        run_id = same[0] if same else await hand_over(database, request)
        how = "Going on with" if same else "Asked for"
        who = "this command does the work" if self.here else "the server does the work"
        say(f"{how} the run {run_id[:SHORT]} on {request.reference}; {who}.")
        return run_id

    def _on_interrupt(self, run_id: str) -> Callable[[], None]:
        def handle_interrupt() -> None:
            if self.here:
                self.progress.announce_stop()
            else:
                self.progress.end("stopped")
                say(GOES_ON.format(run=run_id[:SHORT]))

        return handle_interrupt

    async def _stay(
        self, database: Database, request: Request, run_id: str, stop: asyncio.Event
    ) -> int:
        companion = Companion(
            Follower(History(database), run_id, self.progress),
            StoredApprovals(database),
            ask=ask_here if sys.stdin.isatty() and not self.json else None,
            alone=None if self.here else self._is_deserted,
        )
        staying = asyncio.create_task(companion.stay())
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({staying, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not staying.done():
                if self.here:
                    say(HELD)
                return STOPPED
            seen = staying.result()
        except RunAbandoned:
            say(DESERTED)
            return PERSON
        finally:
            staying.cancel()
            stopping.cancel()
        if seen.has_ended:
            return self._tell_end(seen, request)
        return self._tell_wait(seen, request, await companion.list_waiting(run_id))

    async def _is_deserted(self) -> bool:
        return not await is_served(self.settings)

    # --- how it ends ----------------------------------------------------------------------------

    def _tell_end(self, seen: RunSnapshot, request: Request) -> int:
        outcome = seen.run.outcome
        code = code_of(request, outcome) if outcome is not None else 1
        self.progress.end("failed" if code == 1 else "done")
        if self.json:
            typer.echo(json_module.dumps(self._describe(seen), indent=2))
            return code
        style = {0: "bold green", 1: "bold red"}.get(code, "bold yellow")
        words = (
            make_visible(self.redactor.clean(outcome.text))
            if outcome
            else "It ended, nobody knows how."
        )
        Console().print(Text(words, style), soft_wrap=True)
        if outcome is not None and outcome.url:
            Console().print(Text(make_visible(outcome.url)), soft_wrap=True)
        pull = outcome.pull_request if outcome is not None else None
        made = (pull.branch, pull.head) if pull is not None else ()
        Console().print(Text(make_visible(refer_to(seen.run.id, *made))), soft_wrap=True)
        return code

    def _tell_wait(self, seen: RunSnapshot, request: Request, asked: list[StoredApproval]) -> int:
        self.progress.end("stopped")
        if self.json:
            waits = {"waits_for": [each.id for each in asked] or ["an answer"], "url": request.url}
            typer.echo(json_module.dumps({**self._describe(seen), **waits}, indent=2))
            return PERSON
        typer.echo(f"{DECIDE if asked else ANSWER}\n{make_visible(request.url)}")
        for each in asked:
            typer.echo(f"{each.id}  {make_visible(each.tool)}")
        typer.echo(refer_to(seen.run.id))
        if self.here:
            say(IDLE)
        return PERSON

    def _describe(self, seen: RunSnapshot) -> dict[str, Any]:
        return describe_run(seen.run, self.redactor, short=seen.run.id[:SHORT], clone=False)


def code_of(request: Request, outcome: Outcome) -> int:
    """Return the exit code; what is done on a pull request ends with a comment there."""
    if request.kind != "resolve_issue" and outcome.kind in ("comment", "covered"):
        return 0 if outcome.ready else PERSON
    return exit_code(outcome)


async def who_works(settings: Settings) -> tuple[bool, Path]:
    """Return whether this process does the work, and the file for its log; a server has its own."""
    if await is_served(settings):
        return False, Path(os.devnull)
    require_own(settings)
    make_data_folder(settings.data_dir)
    return True, settings.data_dir / LOG


@asynccontextmanager
async def opened_database(settings: Settings) -> AsyncIterator[Database]:
    """Hold the server's database open, as new as this version has it."""
    database = Database(settings.database, settings.cipher)
    try:
        await asyncio.to_thread(database.migrate)
        yield database
    finally:
        database.close()


async def work_on(settings: Settings, wanted: Wanted, *, json: bool) -> int:
    """Have something done on GitHub, and return the exit code."""
    return await AtTheTerminal(settings, redactor_of(settings), json).work_on(wanted)
