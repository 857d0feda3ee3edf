"""All state of the simulated GitHub: plain objects in memory, found by id or name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from app.simulator.github.accounts import (
    Account,
    Actor,
    App,
    CreationFields,
    Label,
    Reaction,
    Role,
    Thing,
)
from app.simulator.github.traces import Attachment, Push

if TYPE_CHECKING:
    from app.simulator.github.state.alerts import Advisory, Alert
    from app.simulator.github.state.checks import ActionsRun, CheckRun, CheckSuite, CommitStatus
    from app.simulator.github.state.reviews import LineRemark, Review, Thread

Selection = Literal["selected", "all"]
FIRST_ID = 1001  # far from any issue number, so that mixing up ids and numbers shows


@dataclass(eq=False, kw_only=True)
class Installation(Thing):
    """An App on an account, with the repositories it may see and what it may do there."""

    app: App
    account: Account
    repositories: list[Repository]
    permissions: dict[str, str]
    selection: Selection = "selected"
    """`all`: whatever repositories the account has at the time."""
    suspended_at: datetime | None = None
    suspended_by: Account | None = None

    prefix = "MDIzOklu"


@dataclass(eq=False, kw_only=True)
class Happening(Thing):
    """A line of an issue's timeline: labeled, closed, renamed, committed, cross-referenced."""

    event: str
    actor: Actor
    label: Label | None = None
    rename: tuple[str, str] | None = None
    source: Issue | None = None
    reviewer: Account | None = None
    review: Review | None = None

    prefix = "EV"


@dataclass(eq=False, kw_only=True)
class TextEdit(Thing):
    """A text as somebody left it."""

    editor: Account
    body: str

    prefix = "UCE"


@dataclass(eq=False, kw_only=True)
class AuthoredText(Thing):
    """A text by somebody that can be edited and reacted to."""

    repository: Repository
    author: Actor
    body: str
    updated_at: datetime
    last_edited_at: datetime | None = None
    editor: Account | None = None
    edits: list[TextEdit] = field(default_factory=list)
    """Empty until the first edit, which keeps the text as it was made, too; oldest first."""
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(eq=False, kw_only=True)
class Comment(AuthoredText):
    """A comment under an issue or a pull request."""

    issue: Issue

    prefix = "IC"


@dataclass(eq=False, kw_only=True)
class Issue(AuthoredText):
    """An issue; with `pull` set, the issue half of a pull request."""

    number: int
    title: str
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: Account | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[Account] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    timeline: list[Happening] = field(default_factory=list)
    pull: Pull | None = None
    parent: Issue | None = None
    sub_issues: list[Issue] = field(default_factory=list)
    blocked_by: list[Issue] = field(default_factory=list)

    prefix = "I"


@dataclass(frozen=True)
class PullFacts:
    """What git says about a pull request."""

    commits: int
    additions: int
    deletions: int
    changed_files: int
    mergeable: bool


@dataclass(frozen=True)
class Merged:
    """That a pull request was merged: when, by whom, as which commit."""

    at: datetime
    by: Account
    commit: str


@dataclass(eq=False, kw_only=True)
class Pull(Thing):
    """What a pull request has beyond its issue."""

    issue: Issue
    head: str
    """The branch, in `head_repository`."""
    head_repository: Repository | None
    """Where the branch is: here, in a fork, or in a fork that has been deleted."""
    head_owner: Account
    base: str
    head_sha: str
    base_sha: str
    facts: PullFacts
    draft: bool = False
    maintainer_can_modify: bool = False
    asked: bool = False
    """Whether somebody wanted to know if it can be merged: GitHub finds out only then."""
    merged: Merged | None = None
    reviews: list[Review] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    requested: list[Account] = field(default_factory=list)

    prefix = "PR"

    @property
    def repository(self) -> Repository:
        """Return the repository that it would change."""
        return self.issue.repository

    @property
    def crosses(self) -> bool:
        """Say whether its branch is in another repository."""
        return self.head_repository is not self.issue.repository

    @property
    def mergeable(self) -> bool | None:
        """Return what is known of it by now."""
        open_still = self.issue.state == "open"
        return self.facts.mergeable if self.asked and open_still else None

    def remarks(self) -> list[LineRemark]:
        """Return what was said about single lines, oldest first."""
        every = (remark for review in self.reviews for remark in review.remarks)
        return sorted(every, key=lambda remark: remark.id)


@dataclass(eq=False, kw_only=True)
class Stack(Thing):
    """Pull requests of which each stands on the one before it."""

    number: int
    pulls: list[Pull]

    prefix = "S"


@dataclass(eq=False, kw_only=True)
class Repository(Thing):
    """A repository: its git directory and all that people wrote around it."""

    owner: Account
    name: str
    gitdir: Path
    default_branch: str
    private: bool
    description: str | None
    pushed_at: datetime
    app_branches: str = "refs/heads/bot/"
    """Apps may push below this prefix only; the rule a careful owner sets up."""
    roles: dict[int, Role] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    suites: dict[int, CheckSuite] = field(default_factory=dict)
    runs: dict[int, ActionsRun] = field(default_factory=dict)
    statuses: list[CommitStatus] = field(default_factory=list)
    pushes: list[Push] = field(default_factory=list)
    alerts: dict[int, Alert] = field(default_factory=dict)
    alerts_enabled: bool = True
    archived: bool = False
    releases: dict[str, datetime] = field(default_factory=dict)
    """When the release of each tag was published."""
    release_notes: dict[str, str] = field(default_factory=dict)
    """What the release of a tag says of itself."""
    signed: set[str] = field(default_factory=set)
    """Commits that this GitHub made and signed."""
    signing_keys: list[str] = field(default_factory=list)
    """Signing keys of accounts, each a line as in ssh-keygen(1), ALLOWED SIGNERS."""
    signs: bool = True
    """Whether it signs what Apps make; an Enterprise Server may not."""
    requires_signatures: bool = False
    """A ruleset takes signed commits only."""
    stacks: list[Stack] = field(default_factory=list)
    has_stacks: bool = True
    """Whether this GitHub leads pull requests as stacks: a preview."""
    parent: Repository | None = None
    """What it is a fork of."""

    prefix = "R"

    @property
    def full_name(self) -> str:
        """Return `owner/name`."""
        return f"{self.owner.login}/{self.name}"

    def role_of(self, account: Account) -> Role:
        """Return the role; everybody may read what is public."""
        if account is self.owner:
            return Role("admin", "admin")
        fallback = Role("none", "none") if self.private else Role("read", "read")
        return self.roles.get(account.id, fallback)

    def comment(self, comment_id: int) -> Comment | None:
        """Return a comment of any issue."""
        comments = (each for issue in self.issues.values() for each in issue.comments)
        return next((each for each in comments if each.id == comment_id), None)

    def remark(self, remark_id: int) -> LineRemark | None:
        """Return a review comment of any pull request."""
        remarks = (each for pull in self.pulls() for each in pull.remarks())
        return next((each for each in remarks if each.id == remark_id), None)

    def pulls(self) -> Iterator[Pull]:
        """Iterate the pull requests, newest first."""
        return (issue.pull for issue in reversed(self.issues.values()) if issue.pull)


@dataclass
class World:
    """Everything there is."""

    url: str
    root: Path
    clock_skew: timedelta = timedelta()
    """How far this GitHub's clock is ahead of the machine's."""
    accounts: dict[str, Account] = field(default_factory=dict)
    apps: dict[int, App] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    repositories: dict[int, Repository] = field(default_factory=dict)
    former_names: dict[str, int] = field(default_factory=dict)
    advisories: dict[str, Advisory] = field(default_factory=dict)
    attachments: dict[str, Attachment] = field(default_factory=dict)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(FIRST_ID))

    def __post_init__(self) -> None:
        """Make the root independent of the folder a program runs in."""
        self.root = self.root.resolve()

    @property
    def api(self) -> str:
        """Return the root of the REST API."""
        return f"{self.url}/api/v3"

    def get_time(self) -> datetime:
        """Return the time here, to the second as GitHub tells it."""
        return (datetime.now(UTC) + self.clock_skew).replace(microsecond=0)

    def birth(self) -> CreationFields:
        """Return the next id, and now."""
        return {"id": next(self.ids), "created_at": self.get_time()}

    def free_gitdir(self, owner: Account, name: str) -> Path:
        """Return where a new repository may be kept: one that was renamed has not moved."""
        numbers = ("", *(f".{number}" for number in range(len(self.repositories) + 1)))
        places = (self.root / owner.login / f"{name}{number}.git" for number in numbers)
        return next(place for place in places if not place.exists())

    def account(self, login: str) -> Account | None:
        """Find an account by its login, in any case."""
        return self.accounts.get(login.lower())

    def repository(self, full_name: str) -> Repository | None:
        """Find a repository by its present `owner/name`, in any case."""
        wanted = full_name.lower()
        found = (each for each in self.repositories.values() if each.full_name.lower() == wanted)
        return next(found, None)

    def installations_on(self, repository: Repository) -> list[Installation]:
        """Return the installations that see the repository."""
        every = self.installations.values()
        return [each for each in every if repository in each.repositories]
