"""Change issues: each change updates the state and the timeline, and delivers webhooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from app.simulator.github.accounts import Account, Actor, Label, Reaction
from app.simulator.github.schemas.common import account_json
from app.simulator.github.schemas.issues import comment_json, issue_json, label_json
from app.simulator.github.schemas.pulls import pull_json
from app.simulator.github.state.reviews import Review
from app.simulator.github.state.world import (
    AuthoredText,
    Comment,
    Happening,
    Issue,
    Repository,
    TextEdit,
    World,
)

Json = Any
Announce = Callable[[Repository, str, Actor, dict[str, Json]], None]


class IssueChanges:
    """Changes of issues, and of the issue half of pull requests."""

    def __init__(self, world: World, announce: Announce) -> None:
        self._world = world
        self._announce = announce

    def new_issue(self, repository: Repository, author: Actor, title: str, body: str) -> Issue:
        """Put an issue into the state under the next number, telling nobody."""
        issue = Issue(
            **self._world.birth(),
            updated_at=self._world.get_time(),
            repository=repository,
            author=author,
            number=len(repository.issues) + 1,
            title=title,
            body=body,
        )
        repository.issues[issue.number] = issue
        return issue

    def open(
        self,
        repository: Repository,
        author: Actor,
        title: str,
        body: str,
        labels: Sequence[str] = (),
    ) -> Issue:
        """Open an issue."""
        issue = self.new_issue(repository, author, title, body)
        self.tell(issue, "opened", author)
        self.add_labels(issue, author, labels)
        return issue

    def edit(
        self, issue: Issue, actor: Actor, *, title: str | None = None, body: str | None = None
    ) -> None:
        """Change title or body."""
        changes: dict[str, Json] = {}
        if title is not None and title != issue.title:
            changes["title"] = {"from": issue.title}
            self.record_event(issue, "renamed", actor, rename=(issue.title, title))
            issue.title = title
        if body is not None and body != issue.body:
            changes["body"] = {"from": issue.body}
            self.write(issue, actor, body)
        if changes:
            self.touch(issue)
            self.tell(issue, "edited", actor, changes=changes)

    def set_state(
        self,
        issue: Issue,
        actor: Actor,
        state: Literal["open", "closed"],
        reason: str | None = None,
    ) -> None:
        """Close or reopen; nothing happens when it is so already."""
        if issue.state == state:
            return
        closing = state == "closed"
        issue.state = state
        issue.closed_at = self._world.get_time() if closing else None
        issue.closed_by = actor.account if closing else None
        if issue.pull is None:
            issue.state_reason = (reason or "completed") if closing else "reopened"
        self.record_event(issue, "closed" if closing else "reopened", actor)
        self.tell(issue, "closed" if closing else "reopened", actor)

    def label(
        self,
        repository: Repository,
        name: str,
        *,
        color: str = "ededed",
        description: str | None = None,
    ) -> Label:
        """Return the repository's label of that name, made when missing."""
        found = repository.labels.get(name.lower())
        if found is None:
            found = Label(**self._world.birth(), name=name, color=color, description=description)
            repository.labels[name.lower()] = found
        return found

    def add_labels(self, issue: Issue, actor: Actor, names: Iterable[str]) -> None:
        """Put labels on: one event for each that was not there."""
        for name in names:
            label = self.label(issue.repository, name)
            if label in issue.labels:
                continue
            issue.labels.append(label)
            self.record_event(issue, "labeled", actor, label=label)
            self.tell(issue, "labeled", actor, label=label)

    def assign(self, issue: Issue, actor: Actor, accounts: Iterable[Account]) -> None:
        """Assign people: one event for each that was not."""
        for account in accounts:
            if account not in issue.assignees:
                issue.assignees.append(account)
                self.touch(issue)
                self.tell(issue, "assigned", actor, assignee=account_json(self._world, account))

    def remove_label(self, issue: Issue, actor: Actor, label: Label) -> None:
        """Take a label off."""
        issue.labels.remove(label)
        self.record_event(issue, "unlabeled", actor, label=label)
        self.tell(issue, "unlabeled", actor, label=label)

    def comment(self, issue: Issue, author: Actor, body: str) -> Comment:
        """Add a comment."""
        comment = Comment(
            **self._world.birth(),
            updated_at=self._world.get_time(),
            repository=issue.repository,
            author=author,
            body=body,
            issue=issue,
        )
        issue.comments.append(comment)
        self.touch(issue)
        self._tell_comment(comment, "created", author)
        return comment

    def edit_comment(self, comment: Comment, actor: Actor, body: str) -> None:
        """Replace a comment's text."""
        before = {"body": {"from": comment.body}}
        self.write(comment, actor, body)
        self._tell_comment(comment, "edited", actor, changes=before)

    def delete_comment(self, comment: Comment, actor: Actor) -> None:
        """Remove a comment."""
        comment.issue.comments.remove(comment)
        self._tell_comment(comment, "deleted", actor)

    def react(self, written: AuthoredText, actor: Actor, content: str) -> tuple[Reaction, bool]:
        """Add a reaction, once for each account; say whether it is new."""
        for existing in written.reactions:
            if (existing.user, existing.content) == (actor.account, content):
                return existing, False
        reaction = Reaction(**self._world.birth(), user=actor.account, content=content)
        written.reactions.append(reaction)
        return reaction, True

    def record_event(
        self,
        issue: Issue,
        event: str,
        actor: Actor,
        *,
        label: Label | None = None,
        rename: tuple[str, str] | None = None,
        source: Issue | None = None,
        reviewer: Account | None = None,
        review: Review | None = None,
    ) -> None:
        """Write a line into the timeline."""
        line = Happening(
            **self._world.birth(),
            event=event,
            actor=actor,
            label=label,
            rename=rename,
            source=source,
            reviewer=reviewer,
            review=review,
        )
        issue.timeline.append(line)
        self.touch(issue)

    def touch(self, issue: Issue) -> None:
        """Note that something happened to it."""
        issue.updated_at = self._world.get_time()

    def write(self, written: AuthoredText, actor: Actor, body: str) -> None:
        """Replace a text, keeping what it was."""
        if not written.edits:
            first = TextEdit(
                id=next(self._world.ids),
                created_at=written.created_at,
                editor=written.author.account,
                body=written.body,
            )
            written.edits.append(first)
        written.edits.append(TextEdit(**self._world.birth(), editor=actor.account, body=body))
        written.body = body
        written.editor = actor.account
        written.updated_at = written.last_edited_at = self._world.get_time()

    def tell(self, issue: Issue, action: str, actor: Actor, **more: Json) -> None:
        """Announce a change as `issues` or `pull_request`, whichever it is."""
        payload: dict[str, Json] = {"action": action}
        if issue.pull:
            shape = pull_json(self._world, issue.pull)
            payload |= {"number": issue.number, "pull_request": shape}
        else:
            payload |= {"issue": issue_json(self._world, issue)}
        label = more.pop("label", None)
        if label:
            payload["label"] = label_json(self._world, issue.repository, label)
        event = "pull_request" if issue.pull else "issues"
        self._announce(issue.repository, event, actor, payload | more)

    def _tell_comment(self, comment: Comment, action: str, actor: Actor, **more: Json) -> None:
        payload = {
            "action": action,
            "issue": issue_json(self._world, comment.issue),
            "comment": comment_json(self._world, comment),
        }
        self._announce(comment.repository, "issue_comment", actor, payload | more)
