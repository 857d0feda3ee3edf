"""One repository after the other: its groups of alerts, a run for each, what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.errors import ConfigError, FettleError
from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.ladder import Group
from app.cli.remediate.group_run import GroupRuns
from app.cli.remediate.terminal_session import LONG, Interrupted, TerminalSession
from app.cli.terminal import say
from app.github.alerts.adapter import NoAlerts
from app.github.transport import GitHub
from app.operator.find_clone import Places
from app.operator.lend_clone import lend
from app.operator.open_alerts import open_alerts
from app.operator.remediation_report import (
    GroupReport,
    RepositoryReport,
    find_taken_along,
    left_alone,
)
from app.operator.remediation_requests import RemediationOptions
from app.operator.repositories import Installed, newest_commit
from app.operator.repository_reference import RepositoryName
from app.views.text import to_line

ARCHIVED = "It is archived, so nothing can be changed in it."


@dataclass
class OneByOne:
    """Works on one repository after the other."""

    session: TerminalSession
    github: GitHub
    runs: GroupRuns
    places: Places
    batch: bool
    unfinished: RepositoryReport = field(default_factory=lambda: RepositoryReport(repository=""))
    """What was done in the one at hand."""

    @property
    def asked(self) -> RemediationOptions:
        """Return what is to be done."""
        return self.session.wanted.asked

    async def work(self, installed: Installed) -> RepositoryReport:
        """Return what came of one repository: its failure is no other's.

        Raises Interrupted; ConfigError where it is the only one, since its person sits here.
        """
        self.unfinished = RepositoryReport(repository=installed.name)
        if self.session.stop.is_set():
            raise Interrupted
        if installed.archived and not self.asked.looks:
            return self._end(skipped=ARCHIVED)
        try:
            every = await self.session.unless_stopped(self._groups(installed))
            await self._run_all(installed, every)
        except NoAlerts as error:
            return self._end(**{"skipped" if self.batch else "error": str(error)})
        except ConfigError as error:
            if not self.batch:
                raise
            return self._end(error=str(error))
        except (FettleError, OSError) as error:
            return self._end(error=str(error))
        return self.unfinished

    def _end(self, **why: str) -> RepositoryReport:
        self.unfinished = self.unfinished.model_copy(update=why)
        for text in why.values():
            say(f"  {to_line(text, LONG)}")
        return self.unfinished

    # --- which groups ---------------------------------------------------------------------------

    async def _groups(self, installed: Installed) -> list[tuple[Group, AlertGroup | None]]:
        """Return what is to be worked on, with what an earlier scan found, if one is handed in."""
        asked, name = (
            self.asked,
            RepositoryName(installed.repository.owner, installed.repository.name),
        )
        groups: list[tuple[Group, AlertGroup | None]]
        if asked.scan is None:
            listed = await open_alerts(self.github, installed, self.session.redactor.clean)
            groups = [(group, None) for group in listed]
        else:
            handed_in = asked.scan.find_groups(name)
            if handed_in:
                commit = await newest_commit(self.github, installed, asked.base)
                asked.scan.require(name, commit)
            groups = [(found.group, found) for found in handed_in]
        if not self.batch:
            asked.choice.require([group for group, _ in groups], installed.name)
        if asked.choice.narrow:
            groups = [each for each in groups if not asked.choice.why_not(each[0])]
        asked.require_one_branch([group for group, _ in groups], installed.name)
        return groups

    async def _run_all(
        self, installed: Installed, groups: list[tuple[Group, AlertGroup | None]]
    ) -> None:
        if not groups:
            say("  No open alert.")
        elif await self.session.unless_stopped(
            lend(self.github, self.session.settings, installed, self.places)
        ):
            say("  Its history was taken from a clone on this machine.")
        for number, (group, found) in enumerate(groups, 1):
            if self.session.stop.is_set():
                raise Interrupted
            where = f" in {group.directory}" if group.directory else ""
            head = f"[{number}/{len(groups)}] {group.package} ({group.ecosystem}){where}"
            say(f"  {to_line(head, LONG)}")
            others = [each for _, each in groups[number:] if each is not None]
            done = find_taken_along(group, self.unfinished.groups)
            done = done or await self._group(installed, group, found, others)
            say(f"  {done.result.replace('_', ' ')}: {to_line(done.text, LONG)}")
            self.unfinished = self.unfinished.model_copy(
                update={
                    "commit": done.found.commit if done.found else self.unfinished.commit,
                    "groups": (*self.unfinished.groups, done),
                }
            )

    async def _group(
        self,
        installed: Installed,
        group: Group,
        found: AlertGroup | None,
        others: Sequence[AlertGroup],
    ) -> GroupReport:
        why_not = self.asked.choice.why_not(group) or (found.over if found else "")
        if why_not:
            return left_alone(group, why_not)
        request = self.asked.request(
            group,
            installed.repository,
            installation_id=installed.installation_id,
            url=installed.url,
            found=found,
            others=others,
        )
        return await self.runs.work(group, request)
