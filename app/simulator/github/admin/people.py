"""The interface of the demo and the tests: add people and repositories, and act as them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from app.simulator.github.accounts import Account, Actor, App, Label, Role
from app.simulator.github.admin.apps import AppsAdmin
from app.simulator.github.gitdir import GitDir, signature
from app.simulator.github.schemas.checks import suite_check_run_json
from app.simulator.github.state.checks import CheckRun
from app.simulator.github.state.world import Comment, Issue, Pull, Repository
from app.simulator.github.webhooks import Delivery

LABELS = {"bug": "d73a4a", "documentation": "0075ca", "enhancement": "a2eeef"}


class Admin(AppsAdmin):
    """Acts as the people of this GitHub. Each call returns when its webhooks are answered."""

    async def create_repository(
        self,
        owner: Account,
        name: str,
        *,
        source: Path | None = None,
        message: str = "Initial commit",
        default_branch: str = "main",
        private: bool = True,
        description: str | None = None,
    ) -> Repository:
        """Make a repository whose first commit holds the files of a folder, or a README."""
        now = self.world.get_time()
        repository = Repository(
            **self.world.birth(),
            pushed_at=now,
            owner=owner,
            name=name,
            gitdir=self.world.free_gitdir(owner, name),
            default_branch=default_branch,
            private=private,
            description=description,
        )
        git = GitDir(repository.gitdir)
        await git.create(default_branch)
        who = signature(owner.name or owner.login, owner.email, now)
        if source:
            commit = await git.commit_tree(await git.tree_of_folder(source), [], message, who)
            await git.update_ref(f"refs/heads/{default_branch}", commit)
        else:
            readme = {"README.md": f"# {name}\n".encode()}
            await git.commit_files(default_branch, None, readme, message, (who, who))
        for label, color in LABELS.items():
            self.parts.issues.label(repository, label, color=color)
        self.world.repositories[repository.id] = repository
        self.parts.repositories.announce_new(repository, Actor(owner))
        await self.webhooks.wait_until_settled()
        return repository

    async def commit(
        self,
        repository: Repository,
        files: Mapping[str, str | None],
        *,
        author: Account,
        message: str,
        branch: str | None = None,
    ) -> str:
        """Push a commit as a person; None removes a file. Returns the commit's id."""
        git, branch = GitDir(repository.gitdir), branch or repository.default_branch
        before = await git.refs()
        parent = before.get(f"refs/heads/{branch}") or before.get(
            f"refs/heads/{repository.default_branch}"
        )
        data = {path: None if text is None else text.encode() for path, text in files.items()}
        who = signature(author.name or author.login, author.email, self.world.get_time())
        sha = await git.commit_files(branch, parent, data, message, (who, who))
        await self.parts.pulls.follow_push(repository, Actor(author), before)
        await self.webhooks.wait_until_settled()
        return sha

    def set_role(
        self, repository: Repository, user: Account, role: str, *, base: str | None = None
    ) -> None:
        """Let somebody do what the role says; a custom role stands on a `base` role."""
        repository.roles[user.id] = Role(role, base or role)

    def create_label(self, repository: Repository, name: str, color: str = "ededed") -> Label:
        """Make a label."""
        return self.parts.issues.label(repository, name, color=color)

    async def create_issue(
        self,
        repository: Repository,
        author: Account,
        title: str,
        body: str = "",
        *,
        labels: Sequence[str] = (),
    ) -> Issue:
        """File an issue."""
        issue = self.parts.issues.open(repository, Actor(author), title, body, labels)
        await self.webhooks.wait_until_settled()
        return issue

    async def label_issue(
        self, repository: Repository, number: int, label: str, sender: Account
    ) -> list[Delivery]:
        """Put a label on; returns the deliveries that this caused."""
        issue = repository.issues[number]
        return await self.webhooks.send_caused(
            lambda: self.parts.issues.add_labels(issue, Actor(sender), [label])
        )

    async def unlabel_issue(
        self, repository: Repository, number: int, label: str, sender: Account
    ) -> None:
        """Take a label off."""
        issue = repository.issues[number]
        self.parts.issues.remove_label(issue, Actor(sender), repository.labels[label.lower()])
        await self.webhooks.wait_until_settled()

    async def edit_issue(
        self,
        repository: Repository,
        number: int,
        editor: Account,
        *,
        title: str | None = None,
        body: str | None = None,
    ) -> None:
        """Change an issue's or pull request's title or body."""
        issue = repository.issues[number]
        self.parts.issues.edit(issue, Actor(editor), title=title, body=body)
        await self.webhooks.wait_until_settled()

    async def close_issue(self, repository: Repository, number: int, actor: Account) -> None:
        """Close an issue or a pull request."""
        self.parts.issues.set_state(repository.issues[number], Actor(actor), "closed")
        await self.webhooks.wait_until_settled()

    async def reopen_issue(self, repository: Repository, number: int, actor: Account) -> None:
        """Open it again."""
        self.parts.issues.set_state(repository.issues[number], Actor(actor), "open")
        await self.webhooks.wait_until_settled()

    async def set_draft(self, pull: Pull, actor: Account, *, draft: bool) -> None:
        """Begin or end a pull request's draft."""
        self.parts.pulls.set_draft(pull, Actor(actor), draft=draft)
        await self.webhooks.wait_until_settled()

    async def comment(
        self,
        repository: Repository,
        number: int,
        author: Account,
        body: str,
        *,
        through: App | None = None,
    ) -> Comment:
        """Comment on an issue or a pull request; `through` an App that acts for its user."""
        comment = self.parts.issues.comment(repository.issues[number], Actor(author, through), body)
        await self.webhooks.wait_until_settled()
        return comment

    async def edit_comment(self, comment: Comment, editor: Account, body: str) -> None:
        """Change a comment's text, as its author or as somebody with write access."""
        self.parts.issues.edit_comment(comment, Actor(editor), body)
        await self.webhooks.wait_until_settled()

    async def delete_comment(self, comment: Comment, by: Account) -> None:
        """Remove a comment."""
        self.parts.issues.delete_comment(comment, Actor(by))
        await self.webhooks.wait_until_settled()

    async def press_button(
        self, repository: Repository, check_run: CheckRun, label: str, by: Account
    ) -> list[Delivery]:
        """Press a check run's button; only the App whose check run it is hears of it."""
        button = next(each for each in check_run.buttons if each["label"] == label)
        payload = {
            "action": "requested_action",
            "check_run": suite_check_run_json(self.world, repository, check_run),
            "requested_action": {"identifier": button["identifier"]},
        }
        app = check_run.app
        return await self.webhooks.send_caused(
            lambda: self.webhooks.announce(repository, "check_run", Actor(by), payload, only=app)
        )

    def advance_clock(self, by: timedelta) -> None:
        """Let time pass here, and only here."""
        self.world.clock_skew += by
