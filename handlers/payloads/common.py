"""Views of webhook payloads: only the fields that Fettle reads, strictly typed.

Deliveries are signed, so a payload that does not fit is a change at GitHub or a fault of ours; its
row in the inbox fails with the reason. Names end up in URLs and paths, hence the patterns.
https://docs.github.com/webhooks/webhook-events-and-payloads
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agents.requests import Person, Repository

Id = Annotated[int, Field(ge=1, lt=2**63)]
Login = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+(\[bot\])?$", max_length=100)]
_NAME = r"^\.*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"  # not made of dots alone
Name = Annotated[str, StringConstraints(pattern=_NAME, max_length=100)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>\"]+$", max_length=2000)]

Branch = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Sha = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]

GHOST = "ghost"
"""Login that GitHub shows in place of a deleted account."""


class View(BaseModel):
    """A part of a payload; unknown fields are GitHub's business, wrong types are refused."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, hide_input_in_errors=True)


class Account(View):
    """A person, a bot or an organisation."""

    id: Id
    login: Login
    type: str = "User"

    @property
    def ghost(self) -> bool:
        """Tell whether the account was deleted."""
        return self.login == GHOST

    @property
    def person(self) -> Person:
        """Return the account as requests name people."""
        return Person(id=self.id, login=self.login)


class Label(View):
    """A label: of an event, the one that was put on or taken off."""

    name: str


class Owner(View):
    """Who owns a repository."""

    login: Name


class RepositoryView(View):
    """The repository of a delivery."""

    id: Id
    name: Name
    owner: Owner
    default_branch: Branch
    private: bool = False
    archived: bool = False
    html_url: Url | None = None

    @property
    def repository(self) -> Repository:
        """Return the repository as requests name it."""
        return Repository(
            id=self.id,
            owner=self.owner.login,
            name=self.name,
            default_branch=self.default_branch,
            private=self.private,
        )


class Issue(View):
    """An issue as it was when the delivery was signed; pull requests come in this shape too."""

    number: Id
    title: str
    body: str | None = None
    user: Account | None = None
    html_url: Url
    author_association: str = ""
    pull_request: dict[str, Any] | None = None


class Installation(View):
    """Where the App is installed."""

    id: Id


class Before(View):
    """A text before it was edited."""

    text: str = Field("", alias="from")


class Edits(View):
    """What was edited."""

    body: Before | None = None


class IssueChanged(View):
    """`issues` with any action. GitHub's schema promises neither label nor installation."""

    issue: Issue
    changes: Edits | None = None
    repository: RepositoryView
    label: Label | None = None
    sender: Account | None = None
    installation: Installation | None = None


class Comment(View):
    """A comment under an issue or a pull request, as it was when the delivery was signed."""

    id: Id
    body: str | None = None
    user: Account | None = None
    html_url: Url


class CommentCreated(View):
    """`issue_comment` with action `created`."""

    issue: Issue
    comment: Comment
    repository: RepositoryView
    sender: Account | None = None
    installation: Installation | None = None


class RepositoryId(View):
    """A repository that a payload only points at."""

    id: Id


class Base(View):
    """Where a pull request wants to go."""

    repo: RepositoryId


class Head(View):
    """The newest commit of a pull request, or of the branch that it goes into."""

    sha: Sha
    ref: Branch | None = None


class PullReference(View):
    """A pull request that a payload only points at; it may be one of another repository."""

    number: Id
    base: Base
    head: Head | None = None


class Pull(View):
    """A pull request as it was when the delivery was signed."""

    number: Id
    title: str
    body: str | None = None
    user: Account | None = None
    html_url: Url
    labels: list[Label] | None = None
    merged: bool = False
    merge_commit_sha: Sha | None = None
    head: Head | None = None
    base: Head | None = None


class PullChanged(View):
    """`pull_request` with any action."""

    pull_request: Pull
    repository: RepositoryView
    label: Label | None = None
    sender: Account | None = None
    installation: Installation | None = None


class Review(View):
    """A review as it was when the delivery was signed; without a word, its body is null."""

    id: Id
    state: str
    body: str | None = None
    user: Account | None = None
    submitted_at: datetime | None = Field(default=None, strict=False)


class ReviewSubmitted(View):
    """`pull_request_review` with action `submitted`."""

    review: Review
    pull_request: Pull
    repository: RepositoryView
    sender: Account | None = None
    installation: Installation | None = None


class CheckSuite(View):
    """What the checks of one App, or of one run of Actions, come to on a commit."""

    head_sha: Sha
    head_branch: Branch | None = None
    conclusion: str | None = None
    pull_requests: list[PullReference] = []


class SuiteCompleted(View):
    """`check_suite` with action `completed`."""

    check_suite: CheckSuite
    repository: RepositoryView
    installation: Installation | None = None


class CheckRun(View):
    """A check run, as it was when the delivery was signed."""

    id: Id
    external_id: str | None = None
    head_sha: Sha | None = None
    html_url: Url | None = None
    pull_requests: list[PullReference] = []


class RequestedAction(View):
    """The button of a check run that was pressed."""

    identifier: str


class CheckRunTouched(View):
    """`check_run` with an action of a person: `requested_action`, `rerequested`."""

    check_run: CheckRun
    repository: RepositoryView
    requested_action: RequestedAction | None = None
    sender: Account | None = None
    installation: Installation | None = None
