"""Merge a pull request into its base, or update its branch from the base."""

from __future__ import annotations

from app.simulator.github.accounts import Actor
from app.simulator.github.answers import ApiError
from app.simulator.github.changes.issues import IssueChanges
from app.simulator.github.changes.pulls import PullChanges
from app.simulator.github.gitdir import GitDir, signature
from app.simulator.github.state.world import Merged, Pull, Repository, World


class MergeChanges:
    """Merges."""

    def __init__(self, world: World, issues: IssueChanges, pulls: PullChanges) -> None:
        self._world = world
        self._issues = issues
        self._pulls = pulls

    async def merge(self, pull: Pull, actor: Actor) -> str:
        """Merge with a merge commit; Refused 405 when that cannot be."""
        if pull.issue.state != "open" or pull.draft:
            raise ApiError(405, "Pull Request is not mergeable")
        message = f"Merge pull request #{pull.issue.number} from {pull.head_owner.login}/"
        message += f"{pull.head}\n\n{pull.issue.title}"
        parents = (pull.base_sha, pull.head_sha)
        sha = await self._commit(pull.repository, parents, message, actor)
        if sha is None:
            raise ApiError(405, "Pull Request is not mergeable")
        pull.merged = Merged(self._world.get_time(), actor.account, sha)
        self._issues.record_event(pull.issue, "merged", actor)
        self._issues.set_state(pull.issue, actor, "closed")
        await self._point(pull.repository, pull.base, sha, actor)
        return sha

    async def update(self, pull: Pull, actor: Actor) -> str:
        """Merge the base into the branch; Refused 422 for a conflict, or when nothing is new."""
        source, git = pull.head_repository, GitDir(pull.repository.gitdir)
        assert source
        if await git.merge_base(pull.base_sha, pull.head_sha) == pull.base_sha:
            raise ApiError(422, "There are no new commits on the base branch.")
        message = f"Merge branch '{pull.base}' into {pull.head}"
        parents = (pull.head_sha, pull.base_sha)
        sha = await self._commit(pull.repository, parents, message, actor)
        if sha is None:
            raise ApiError(422, "merge conflict between base and head")
        if source is not pull.repository:
            await GitDir(source.gitdir).fetch(pull.repository.gitdir, sha, f"refs/merges/{sha}")
        await self._point(source, pull.head, sha, actor)
        return sha

    async def _commit(
        self, repository: Repository, parents: tuple[str, str], message: str, actor: Actor
    ) -> str | None:
        git, who = GitDir(repository.gitdir), actor.account
        tree = await git.merged_tree(*parents)
        if tree is None:
            return None
        signed = signature(who.name or who.login, who.email, self._world.get_time())
        return await git.commit_tree(tree, parents, message, signed)

    async def _point(self, repository: Repository, branch: str, sha: str, actor: Actor) -> None:
        git = GitDir(repository.gitdir)
        before = await git.refs()
        await git.update_ref(f"refs/heads/{branch}", sha)
        await self._pulls.follow_push(repository, actor, before)
