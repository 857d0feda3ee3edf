"""Steps 4 and 9: what a run on GitHub is given: admission first, ports to work with, a report."""

from __future__ import annotations

from dataclasses import dataclass

from agents.requests import Request
from agents.run import Outcome, Ports
from app.git.source import GitSource
from app.github.auth import Profile
from app.github.client import GitHub
from app.github.facts import issue_facts
from app.github.reporter import GitHubReporter
from handlers import access
from handlers.access import Refusal


@dataclass
class GitHubEquipment:
    """Everything that one run on GitHub holds."""

    request: Request
    github: GitHub
    reporter: GitHubReporter
    source: GitSource
    ports: Ports

    async def admit(self) -> Refusal | None:
        """React to the issue, then judge from what GitHub says now whether the run may go on."""
        await self.reporter.acknowledge()
        client = await self.github.installation(
            self.request.installation_id, self.request.repository.id, Profile.READ
        )
        return access.decide(self.request, await issue_facts(client, self.request))

    async def finish(self, outcome: Outcome) -> None:
        """Show how it ended on the issue; remove the work tree.

        The commits of a run that failed stay in the mirror: they were paid for.
        """
        await self.reporter.finish(outcome)
        await self.source.discard(forget=outcome.kind != "failed")

    async def close(self) -> None:
        """Show the newest state and stop updating it."""
        await self.reporter.flush()
