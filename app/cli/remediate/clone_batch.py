"""Mend in a clone what an earlier scan found, without GitHub: branches of that clone are made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from agents.errors import Cancelled, ConfigError, FettleError
from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.requests import Repository
from app.cli.progress import TerminalProgress
from app.cli.remediate.terminal_session import LONG, TerminalSession
from app.cli.runs.approval_prompt import ask_here
from app.cli.terminal import say
from app.clone.ask_person import CloneWaits
from app.clone.preconditions import CloneStart
from app.clone.resolve import resolve_clone
from app.clone.result import CloneResult
from app.clone.run import CloneRequest
from app.git import GitObjects, any_branch
from app.operator.remediation_report import (
    GroupReport,
    Report,
    RepositoryReport,
    find_taken_along,
    left_alone,
    report_ended,
)
from app.operator.repository_reference import RepositoryName
from app.operator.scan_file import Scan
from app.views.text import to_line

KEPT = "{text} Conversation and log are kept in `{folder}`."


@dataclass
class RemediatingClone(TerminalSession):
    """One command of the operator, in a clone."""

    async def report(self, start: CloneStart, name: RepositoryName, scan: Scan) -> Report:
        """Work on each group that the scan found, and return what came of it."""
        self.here = True
        asked = self.wanted.asked
        self.settings = self.with_model()
        scan.require(name, await self._commit(start))
        groups = scan.find_groups(name)
        asked.choice.require([found.group for found in groups], str(name))
        if asked.choice.narrow:
            groups = tuple(each for each in groups if not asked.choice.why_not(each.group))
        asked.require_one_branch([found.group for found in groups], str(name))
        done = RepositoryReport(repository=str(name), commit=groups[0].commit if groups else "")
        say(f"{name} in `{to_line(str(start.path), LONG)}`; nothing is asked of GitHub.")
        complete = True
        for number, found in enumerate(groups, 1):
            say(f"  [{number}/{len(groups)}] {to_line(found.name, LONG)} ({found.group.ecosystem})")
            try:
                group = find_taken_along(found.group, done.groups) or await self._group(
                    start, name, found, groups[number:]
                )
            except Cancelled as stopped:
                say(str(stopped))
                complete = False
                break
            except ConfigError as error:
                if not done.groups:
                    raise
                group = left_alone(found.group, str(error), "infra_error")
            say(f"  {group.result.replace('_', ' ')}: {to_line(group.text, LONG)}")
            done = done.model_copy(update={"groups": (*done.groups, group)})
        self.leave()
        return Report.from_repositories(asked.command, [done], complete=complete)

    async def _commit(self, start: CloneStart) -> str:
        """Return what is to be mended: what is checked out, or the branch that was named."""
        base = self.wanted.asked.base
        if not base:
            return start.head.commit
        commit = await GitObjects(start.clone.git).resolve(any_branch(base))
        if commit is None:
            raise ConfigError(f"The clone has no branch `{to_line(base, 80)}`. Name another one.")
        return commit

    async def _group(
        self,
        start: CloneStart,
        name: RepositoryName,
        found: AlertGroup,
        others: Sequence[AlertGroup],
    ) -> GroupReport:
        asked = self.wanted.asked
        if why_not := asked.choice.why_not(found.group) or found.over:
            return left_alone(found.group, why_not)
        repository = Repository(
            id=0, owner=name.owner, name=name.name, default_branch=start.head.branch or "HEAD"
        )
        request = asked.request(
            found.group, repository, installation_id=0, url="", found=found, others=others
        )
        asks = sys.stdin.isatty() and not self.wanted.machine_readable
        progress = self.progress()
        wish = CloneRequest(request.title, "", say, progress, ask_here if asks else None, request)
        try:
            result = await resolve_clone(self.settings, self.redactor, start, wish, self.stop)
        except CloneWaits as waits:
            progress.end("stopped")
            report = left_alone(found.group, waits.text, "waits")
            return report.model_copy(update={"run": waits.run_id})
        except ConfigError:
            raise
        except (FettleError, OSError) as error:
            progress.end("failed")
            return left_alone(found.group, str(error), "infra_error")
        return self._report(found, result, progress)

    def _report(
        self, found: AlertGroup, result: CloneResult, progress: TerminalProgress
    ) -> GroupReport:
        usage, usd, _ = result.spent
        spent = (sum(usage.model_dump().values()), usd)
        group = report_ended(found.group, result.run_id, result.outcome, spent)
        progress.end("failed" if result.outcome.kind == "failed" else "done")
        kept = {"text": KEPT.format(text=group.text, folder=result.kept)} if result.kept else {}
        tip = result.commits[-1][0] if result.commits else ""
        made = {"branch": result.branch or "", "commit": tip}
        return group.model_copy(update={"url": "", **made, **kept})
