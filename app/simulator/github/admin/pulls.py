"""Open pull requests, push to branches and merge, as people do, also from forks."""

from __future__ import annotations

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.calls import Parts
from app.simulator.github.gitdir import ZERO, GitDir
from app.simulator.github.state.world import Pull, Repository


class PullsAdmin:
    """Acts as the people who do so. Each call returns when its webhooks are answered."""

    parts: Parts

    async def open_pull(
        self,
        repository: Repository,
        author: Account,
        *,
        title: str,
        head: str,
        body: str = "",
        base: str | None = None,
        head_repository: Repository | None = None,
        draft: bool = False,
        maintainer_can_modify: bool = False,
    ) -> Pull:
        """Open a pull request, from a branch of a fork when `head_repository` is one."""
        pull = await self.parts.pulls.open(
            repository,
            Actor(author),
            title=title,
            body=body,
            head=head,
            base=base or repository.default_branch,
            draft=draft,
            maintainer_can_modify=maintainer_can_modify,
            head_repository=head_repository,
        )
        await self.parts.webhooks.wait_until_settled()
        return pull

    async def merge_pull(self, pull: Pull, by: Account) -> str:
        """Merge with a merge commit; return its id. Refused when there is a conflict."""
        sha = await self.parts.merges.merge(pull, Actor(by))
        await self.parts.webhooks.wait_until_settled()
        return sha

    async def request_review(self, pull: Pull, reviewer: Account, by: Account) -> None:
        """Ask somebody for a review."""
        self.parts.reviews.request(pull, reviewer, Actor(by))
        await self.parts.webhooks.wait_until_settled()

    async def withdraw_request(self, pull: Pull, reviewer: Account, by: Account) -> None:
        """No longer ask somebody for a review."""
        self.parts.reviews.withdraw(pull, reviewer, Actor(by))
        await self.parts.webhooks.wait_until_settled()

    async def push(self, repository: Repository, branch: str, sha: str, by: Account) -> None:
        """Point a branch at a commit that is there already: forced, or made, when it has to be."""
        git = GitDir(repository.gitdir)
        before = await git.refs()
        await git.update_ref(f"refs/heads/{branch}", sha)
        await self.parts.pulls.follow_push(repository, Actor(by), before)
        await self.parts.webhooks.wait_until_settled()

    async def delete_branch(self, repository: Repository, branch: str, by: Account) -> None:
        """Delete a branch; its open pull requests close."""
        await self.push(repository, branch, ZERO, by)

    async def fork_repository(
        self, repository: Repository, owner: Account, *, name: str | None = None
    ) -> Repository:
        """Fork: an own repository with the same branches, where no App is installed."""
        world = self.parts.world
        title = name or repository.name
        fork = Repository(
            **world.birth(),
            pushed_at=world.get_time(),
            owner=owner,
            name=title,
            gitdir=world.free_gitdir(owner, title),
            default_branch=repository.default_branch,
            private=repository.private,
            description=repository.description,
            parent=repository,
        )
        await GitDir(fork.gitdir).copy_from(repository.gitdir, fork.default_branch)
        world.repositories[fork.id] = fork
        return fork
