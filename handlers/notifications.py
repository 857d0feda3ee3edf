"""Notices: deliveries that start no run and only bring the store up to date.

Each class is what one kind of delivery tells; the same notice may come several times.
`app/webhooks/notifications.py` hands each to the class that follows it.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, RootModel

from agents.requests import Frozen, Person, Repository, lane_of_alerts

InstallationChange = Literal[
    "created", "deleted", "suspended", "unsuspended", "permissions", "added", "removed", "renamed"
]
"""What became of an installation; `added`, `removed`: of some of its repositories."""
Move = Literal[
    "renamed", "transferred", "archived", "unarchived", "publicized", "privatized", "deleted"
]
"""What became of a repository."""


class InstallationChanged(Frozen):
    """The App was installed on an account, or what it may reach or do there has changed.

    Deliveries may come late and in any order: whoever takes the notice asks GitHub how things are.
    """

    kind: Literal["installation_changed"] = "installation_changed"
    installation_id: int
    change: InstallationChange
    account_id: int
    account: str
    """Login of the organisation or person that it is installed on."""

    @property
    def lane(self) -> str:
        """Return the queue key: notices about one installation are taken in order."""
        return f"installation {self.installation_id}"


class RepositoryChanged(Frozen):
    """A repository was renamed, moved to another owner, archived, made public or deleted."""

    kind: Literal["repository_changed"] = "repository_changed"
    installation_id: int
    change: Move
    repository: Repository
    """As it was called when GitHub told."""
    archived: bool = False

    @property
    def lane(self) -> str:
        """Return the queue key: by the id, which stays when the name does not."""
        return f"repository {self.repository.id}"


class AlertClosed(Frozen):
    """An alert about a vulnerable dependency is fixed, or somebody dismissed it."""

    kind: Literal["alert_closed"] = "alert_closed"
    installation_id: int
    repository: Repository
    alert: int
    state: Literal["fixed", "dismissed", "auto_dismissed"]
    ecosystem: str
    package: str
    directory: str = ""

    @property
    def lane(self) -> str:
        """Return the queue key: it never waits for the run that it may end."""
        return f"{self.repository.key}/alerts"

    @property
    def about(self) -> str:
        """Return the queue key of the runs that it concerns."""
        return lane_of_alerts(self.repository, self.ecosystem, self.directory, self.package)


class PullChanged(Frozen):
    """A pull request was opened, or has new commits: it may edit the policy."""

    kind: Literal["pull_changed"] = "pull_changed"
    installation_id: int
    repository: Repository
    number: int
    head: str
    """The newest commit."""
    base: str = ""
    """The commit that it is to be merged into; empty: GitHub is asked for it."""
    again: bool = False
    """Somebody asked for the check again."""

    @property
    def lane(self) -> str:
        """Return the queue key: it never waits for the runs of the pull request."""
        return f"{self.repository.key}#{self.number}/notices"


class PullClosed(Frozen):
    """A pull request was closed, merged or not: alerts may wait for it, or it is watched."""

    kind: Literal["pull_closed"] = "pull_closed"
    installation_id: int
    repository: Repository
    number: int
    merged: bool
    author_id: int = 0
    """Whose it was; 0: nobody's any more."""
    branch: str = ""
    """The branch that it was made of."""
    base: str = ""
    """The branch that it was merged into."""
    commit: str = ""
    """The commit that the merge made there, or the last of several."""
    by: Person | None = None
    """Who closed it; None: nobody that can be named."""

    @property
    def lane(self) -> str:
        """Return the queue key: it never waits for the runs of the pull request."""
        return f"{self.repository.key}#{self.number}/notices"


class Suspicion(Frozen):
    """Something broke, and what was merged lately may be why: checks fail, or somebody names it."""

    kind: Literal["suspicion"] = "suspicion"
    installation_id: int
    repository: Repository
    branch: str = ""
    """The branch on which checks fail; empty: people named what they suspect."""
    head: str = ""
    """The commit on which they do."""
    named: tuple[str, ...] = ()
    """Numbers of pull requests, and beginnings of commits' ids, that a new issue names."""

    @property
    def lane(self) -> str:
        """Return the queue key: one after another in each repository."""
        return f"{self.repository.key}/watch"


class BoardTicked(Frozen):
    """Somebody ticked boxes on an issue that may be Fettle's dashboard."""

    kind: Literal["board_ticked"] = "board_ticked"
    installation_id: int
    repository: Repository
    number: int
    approve: tuple[str, ...] = ()
    """Ids of approvals."""
    again: tuple[str, ...] = ()
    """Runs about alerts that are to be looked at again."""
    asked_by: Person
    url: str

    @property
    def lane(self) -> str:
        """Return the queue key: one after another in each repository."""
        return f"{self.repository.key}/board"


Notification = Annotated[
    InstallationChanged
    | RepositoryChanged
    | AlertClosed
    | PullChanged
    | PullClosed
    | Suspicion
    | BoardTicked,
    Field(discriminator="kind"),
]
"""A notice of any kind."""

KINDS = frozenset(each.model_fields["kind"].default for each in get_args(get_args(Notification)[0]))


class _Any(RootModel[Notification]):
    """A notice of any kind."""


def notice_of(value: object) -> Notification:
    """Return the notice that was dumped to this plain value; pydantic.ValidationError if none."""
    return _Any.model_validate(value, extra="ignore").root
