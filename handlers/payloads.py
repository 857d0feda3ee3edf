"""Step 2: views of webhook payloads: only the fields that Fettle reads, strictly typed.

Deliveries are signed, so a payload that does not fit is a change at GitHub or a fault of ours; it
fails its own inbox row with the reason. Names end up in URLs and paths, hence the patterns.
https://docs.github.com/webhooks/webhook-events-and-payloads#issues
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Id = Annotated[int, Field(ge=1, lt=2**63)]
Login = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+(\[bot\])?$", max_length=100)]
_NAME = r"^\.*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"  # not made of dots alone
Name = Annotated[str, StringConstraints(pattern=_NAME, max_length=100)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>\"]+$", max_length=2000)]

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
        """Tell whether the account behind it was deleted."""
        return self.login == GHOST


class Label(View):
    """The label that was put on or taken off."""

    name: str


class Owner(View):
    """Who owns a repository."""

    login: Name


class RepositoryView(View):
    """The repository of a delivery."""

    id: Id
    name: Name
    owner: Owner
    default_branch: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    private: bool = False


class Issue(View):
    """An issue as it was when the delivery was signed; pull requests come in this shape too."""

    number: Id
    title: str
    body: str | None = None
    user: Account | None = None
    html_url: Url
    pull_request: dict[str, Any] | None = None


class Installation(View):
    """Where the App is installed."""

    id: Id


class IssueLabeled(View):
    """`issues` with action `labeled`. GitHub's schema promises neither label nor installation."""

    issue: Issue
    repository: RepositoryView
    label: Label | None = None
    sender: Account | None = None
    installation: Installation | None = None
