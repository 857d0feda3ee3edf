"""Have alerts scanned or mended on GitHub, repository by repository, and report on all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext

from agents.errors import ConfigError
from app.cli.remediate.group_run import GroupRuns
from app.cli.remediate.one_repository import OneByOne
from app.cli.remediate.terminal_session import LONG, Interrupted, TerminalSession
from app.cli.resolve.work_on_issue import opened_database, who_works
from app.cli.terminal import say
from app.clone.log import logging_to
from app.github.transport import GitHub
from app.operator.find_clone import Places
from app.operator.local_worker import work_here
from app.operator.remediation_report import Report, RepositoryReport
from app.operator.repositories import Installed
from app.views.text import to_line
from app.wiring.serve import open_github


class Remediating(TerminalSession):
    """One command of the operator, from the repositories to the report."""

    @asynccontextmanager
    async def github(self) -> AsyncIterator[GitHub]:
        """Hold the way to GitHub open, and know who does the work."""
        self.here, log = await who_works(self.settings)
        if self.here:
            self.settings = self.with_model()
        elif self.wanted.model:
            raise ConfigError(
                "A `fettle serve` is at work, and its own FETTLE_MODEL decides. Leave --model out."
            )
        with logging_to(log, self.settings, self.redactor, say):
            async with open_github(self.settings, self.redactor) as github:
                yield github

    async def report(
        self, github: GitHub, repositories: Sequence[Installed], places: Places, *, batch: bool
    ) -> Report:
        """Work on these repositories, one after the other, and return what came of each."""
        done: list[RepositoryReport] = []
        doing = "this command does the work" if self.here else "the server does the work"
        complete = False
        async with opened_database(self.settings) as database:
            at_work = (
                work_here(self.settings, self.redactor, github) if self.here else nullcontext()
            )
            try:
                async with at_work as ring:
                    runs = GroupRuns(self, database, ring)
                    one = OneByOne(self, github, runs, places, batch)
                    try:
                        for number, installed in enumerate(repositories, 1):
                            counted = f" ({number} of {len(repositories)})" if batch else ""
                            say(f"{to_line(installed.name, LONG)}{counted}; {doing}.")
                            done.append(await one.work(installed))
                        complete = True
                    except Interrupted:
                        done += [one.unfinished] if one.unfinished.groups else []
            finally:
                self.leave()
        return Report.from_repositories(self.wanted.asked.command, done, complete=complete)
