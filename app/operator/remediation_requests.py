"""What an operator asks for about alerts, and the requests that come of it: one for each group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from agents.errors import ConfigError, RunError
from agents.pipelines.remediate.findings import AlertGroup, with_companions
from agents.pipelines.remediate.ladder import Group
from agents.requests import Person, RemediateAlert, Repository
from agents.text import one_line
from app.config.system_user import find_operator
from app.git import BRANCH_PREFIX, own_branch
from app.operator.open_alerts import Choice
from app.operator.scan_file import Scan

RemediationCommand = Literal["scan", "remediate"]


@dataclass(frozen=True)
class RemediationOptions:
    """What is to be done with the alerts."""

    command: RemediationCommand
    choice: Choice = field(default_factory=Choice)
    base: str = ""
    branch: str = ""
    dry_run: bool = False
    no_pr: bool = False
    skip_verify: bool = False
    assess: bool = False
    max_iterations: int = 3
    scan: Scan | None = None
    """What an earlier scan found; None: everything is looked at now."""

    @property
    def looks(self) -> bool:
        """Return whether nothing is to be changed."""
        return self.command == "scan" or self.dry_run

    def with_branch_name(self) -> RemediationOptions:
        """Return the options, their branch Fettle's own. Raises ConfigError for no name of one."""
        if not self.branch:
            return self
        branch = BRANCH_PREFIX + self.branch.removeprefix(BRANCH_PREFIX)
        try:
            own_branch(branch)
        except RunError as error:
            raise ConfigError(
                f"`{one_line(self.branch, 80)}` cannot be the name of the branch. Write letters,"
                " digits and `._/-`; it begins with `bot/`, with or without your saying so."
            ) from error
        return replace(self, branch=branch)

    def require_one_branch(self, groups: Iterable[Group], name: str) -> None:
        """Raise ConfigError when one name is given to the branches of several fixes."""
        meant = sum(not self.choice.why_not(group) for group in groups)
        if self.branch and meant > 1:
            raise ConfigError(
                f"{meant} packages of `{name}` are meant, and --branch names one branch. Choose one"
                " with --package, or leave --branch out."
            )

    def request(
        self,
        group: Group,
        repository: Repository,
        *,
        installation_id: int,
        url: str,
        found: AlertGroup | None = None,
        others: Iterable[AlertGroup] = (),
    ) -> RemediateAlert:
        """Return the request for one group; `found` is what an earlier scan says of it.

        `others`: what it says of packages that may go along, unless some were chosen by name.
        `url` is the page of the repository; empty where it is not on GitHub.
        """
        numbers = [each.alert for each in group.advisories if each.alert]
        together = not (self.looks or self.branch or self.choice.alerts or self.choice.packages)
        if found is not None and together:
            found = with_companions(found, others)
        page = f"{url}/security/dependabot" if url else ""
        return RemediateAlert(
            installation_id=installation_id,
            repository=repository,
            number=0,
            title=f"Update {one_line(group.package, 80)}",
            author=Person(id=0, login=""),
            asked_by=Person(id=0, login=find_operator()),
            url=f"{page}/{numbers[0]}" if page and len(numbers) == 1 else page,
            ecosystem=group.ecosystem,
            package=group.package,
            directory=group.directory,
            alerts=tuple(each for each in self.choice.alerts if each in numbers),
            severities=() if self.choice.alerts else self.choice.severities,
            base_branch=self.base,
            branch=self.branch,
            dry_run=self.looks,
            no_pr=self.no_pr,
            skip_verify=self.skip_verify,
            assess=self.assess,
            max_iterations=self.max_iterations,
            scan=found.model_dump(mode="json") if found is not None else None,
            via="terminal",
            together=together,
        )


def is_same_request(one: RemediateAlert, other: RemediateAlert) -> bool:
    """Return whether both ask for the same, whoever asks, and however it is called by now."""
    loose = ("asked_by", "author", "title", "url", "repository", "again", "told")
    return one.model_dump(exclude=set(loose)) == other.model_dump(exclude=set(loose))
