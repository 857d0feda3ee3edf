"""Set up a case on the simulated GitHub: people, repository, App, issue."""

from __future__ import annotations

from dataclasses import dataclass

from app.demo.case import DemoCase
from app.registration.manifest import app_manifest
from app.simulator.github import LocalGitHub
from app.simulator.github.accounts import Account
from app.simulator.github.admin.apps import AppCredentials
from app.simulator.github.state.world import Issue, Pull, Repository

LABEL = "bot:resolve"
ORGANIZATION, APP = "octo-org", "fettle"
MAINTAINER, REVIEWER, AUTHOR = "mara", "ola", "jonas"


@dataclass
class Scene:
    """Everything is in place, and the label is not yet set."""

    github: LocalGitHub
    app: AppCredentials
    repository: Repository
    issue: Issue
    maintainer: Account
    reviewer: Account

    async def set_label(self) -> None:
        """Set the label, as the maintainer: GitHub sends its signed webhook."""
        await self.github.label_issue(self.repository, self.issue.number, LABEL, self.maintainer)

    def pulls(self) -> list[Pull]:
        """Return the repository's pull requests, oldest first."""
        issues = sorted(self.repository.issues.values(), key=lambda issue: issue.number)
        return [issue.pull for issue in issues if issue.pull is not None]

    @property
    def page(self) -> str:
        """Return the address of the repository's page for people."""
        return f"{self.github.url}/{self.repository.full_name}"


async def set_scene(github: LocalGitHub, case: DemoCase, webhook_url: str, secret: str) -> Scene:
    """Make the scene; the App's webhook goes to `webhook_url`."""
    organization = github.create_organization(ORGANIZATION)
    maintainer, reviewer, author = map(github.create_user, (MAINTAINER, REVIEWER, AUTHOR))
    repository = await github.create_repository(
        organization,
        case.about.package,
        source=case.before,
        message=f"{case.about.package} {case.about.version}",
    )
    github.set_role(repository, maintainer, "maintain")
    github.set_role(repository, reviewer, "write")
    github.set_role(repository, author, "read")
    manifest = app_manifest()
    app = github.create_app(
        APP,
        webhook_url=webhook_url,
        webhook_secret=secret,
        permissions=manifest.default_permissions,
        events=manifest.default_events,
    )
    await github.install(app.app_id, [repository])
    issue = await github.create_issue(repository, author, case.title, case.body)
    return Scene(github, app, repository, issue, maintainer, reviewer)
