"""What can be asked of Fettle: typed requests, built by `handlers/`, fulfilled by a pipeline."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A plain value: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Person(Frozen):
    """A GitHub account. Decisions use the id; the login is for display, it can be renamed."""

    id: int
    login: str


class Repository(Frozen):
    """A repository. The id outlives renames and transfers; owner and name are for URLs."""

    id: int
    owner: str
    name: str
    default_branch: str
    private: bool = False

    @property
    def full_name(self) -> str:
        """Return `owner/name`."""
        return f"{self.owner}/{self.name}"


class ResolveIssue(Frozen):
    """Turn this issue into a pull request.

    Title and body are those of the signed delivery: what a person saw when they asked, not
    what somebody edits in afterwards.
    """

    kind: Literal["resolve_issue"] = "resolve_issue"
    installation_id: int
    repository: Repository
    number: int
    """The issue's number; 0 for a wish that is not on GitHub."""
    title: str
    body: str
    author: Person
    asked_by: Person
    label: str
    url: str

    @property
    def repository_url(self) -> str:
        """Return the page of the repository; empty for a wish that is not on GitHub."""
        return self.url.rpartition("/issues/")[0]

    @property
    def text(self) -> str:
        """Return the issue in its author's words: untrusted, to be cleaned and fenced."""
        return f"{self.title}\n\n{self.body}"

    @property
    def reference(self) -> str:
        """Return what people call the issue: `owner/repo#n`, or just `repo` where it has none."""
        return self.lane if self.number else self.repository.name

    @property
    def lane(self) -> str:
        """Return the queue key: one live run for each `owner/repo#n`."""
        return f"{self.repository.full_name}#{self.number}"


class Command(Frozen):
    """Do what a person wrote to Fettle: `/bot approve k3f9`."""

    kind: Literal["command"] = "command"
    installation_id: int
    repository: Repository
    number: int
    """The issue or pull request where it was said."""
    verb: Literal["approve", "deny"]
    approval: str
    """Id of the approval that is answered, as it was typed."""
    reason: str = ""
    asked_by: Person
    via: Literal["comment", "button"]
    comment_id: int | None = None
    """The comment that says it; None for a button."""
    digest: str = ""
    """SHA-256 of that comment as it was delivered: it must still read so."""
    check_run_id: int | None = None
    """The check run whose button it was; None for a comment."""
    url: str

    @property
    def lane(self) -> str:
        """Return the queue key: commands never wait for the run they are about."""
        return f"{self.repository.full_name}#{self.number}/commands"


Request = ResolveIssue
"""What starts a run."""
