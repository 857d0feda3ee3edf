"""Change pull requests: open, retarget, close, follow a push."""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.simulator.github.accounts import Actor
from app.simulator.github.answers import ApiError, custom, invalid
from app.simulator.github.changes.alerts import AlertChanges
from app.simulator.github.changes.issues import Announce, IssueChanges
from app.simulator.github.gitdir import ZERO, GitDir
from app.simulator.github.patches import parse_diff
from app.simulator.github.push_events import push_payload
from app.simulator.github.state.world import Issue, Pull, PullFacts, Repository, World
from app.simulator.github.thread_lines import follow

REFERENCE = re.compile(r"(?<![\w/])#(\d+)\b")


class PullChanges:
    """Changes of pull requests and branches."""

    def __init__(
        self, world: World, announce: Announce, issues: IssueChanges, alerts: AlertChanges
    ) -> None:
        self._world = world
        self._announce = announce
        self._issues = issues
        self._alerts = alerts

    async def open(
        self,
        repository: Repository,
        author: Actor,
        *,
        title: str,
        body: str,
        head: str,
        base: str,
        draft: bool = False,
        maintainer_can_modify: bool = False,
        head_repository: Repository | None = None,
    ) -> Pull:
        """Open a pull request, from a fork perhaps; Refused 422 as GitHub words it."""
        source = head_repository or repository
        head_sha = await _tip(source, head, "head")
        base_sha = await _tip(repository, base, "base")
        _refuse_second(repository, source, head, base)
        if source is not repository:
            ref = f"refs/pull/{len(repository.issues) + 1}/head"
            await GitDir(repository.gitdir).fetch(source.gitdir, head_sha, ref)
        facts = await _facts(repository, base_sha, head_sha)
        if not facts.commits:
            raise custom("PullRequest", f"No commits between {base} and {head}")
        issue = self._issues.new_issue(repository, author, title, body)
        pull = issue.pull = Pull(
            **self._world.birth(),
            issue=issue,
            head=head,
            head_repository=source,
            head_owner=source.owner,
            base=base,
            head_sha=head_sha,
            base_sha=base_sha,
            facts=facts,
            draft=draft,
            maintainer_can_modify=maintainer_can_modify,
        )
        await self._keep_ref(pull)
        self._issues.tell(issue, "opened", author)
        self._cross_reference(issue, author)
        return pull

    def set_draft(self, pull: Pull, actor: Actor, *, draft: bool) -> None:
        """Begin or end a draft; nothing happens when it is so already."""
        if pull.draft is draft:
            return
        pull.draft = draft
        event = "convert_to_draft" if draft else "ready_for_review"
        self._issues.record_event(pull.issue, event, actor)
        self._issues.tell(pull.issue, "converted_to_draft" if draft else event, actor)

    async def retarget(self, pull: Pull, actor: Actor, base: str) -> None:
        """Change the base branch."""
        repository = pull.issue.repository
        changes = {"base": {"ref": {"from": pull.base}, "sha": {"from": pull.base_sha}}}
        pull.base_sha = await _tip(repository, base, "base")
        pull.base = base
        await _look_again(pull)
        self._issues.tell(pull.issue, "edited", actor, changes=changes)

    async def follow_push(
        self, repository: Repository, actor: Actor, before: Mapping[str, str]
    ) -> None:
        """Follow the branches after a push; `before` is their state before it."""
        after = await GitDir(repository.gitdir).refs()
        repository.pushed_at = self._world.get_time()
        for ref in sorted({*before, *after}):
            old, new = before.get(ref, ZERO), after.get(ref, ZERO)
            if old != new:
                told = await push_payload(self._world, repository, actor, ref=ref, old=old, new=new)
                self._announce(repository, "push", actor, told)
                await self._follow(repository, actor, ref.removeprefix("refs/heads/"), old, new)
        default = f"refs/heads/{repository.default_branch}"
        if before.get(default) != after.get(default):
            await self._alerts.rescan(repository)

    def _cross_reference(self, issue: Issue, author: Actor) -> None:
        for number in sorted({int(found) for found in REFERENCE.findall(issue.body)}):
            mentioned = issue.repository.issues.get(number)
            if mentioned and mentioned is not issue:
                self._issues.record_event(mentioned, "cross-referenced", author, source=issue)

    async def _follow(
        self, repository: Repository, actor: Actor, branch: str, old: str, new: str
    ) -> None:
        everywhere = [pull for each in self._world.repositories.values() for pull in each.pulls()]
        for pull in [each for each in everywhere if each.issue.state == "open"]:
            ours = pull.head_repository is repository and pull.head == branch
            if ours and new == ZERO:
                self._issues.set_state(pull.issue, actor, "closed")
            elif ours:
                pull.head_sha = new
                await self._keep_ref(pull)
                await _look_again(pull)
                self._issues.tell(pull.issue, "synchronize", actor, before=old, after=new)
            elif pull.repository is repository and pull.base == branch and new != ZERO:
                pull.base_sha = new
                await _look_again(pull)
            elif pull.repository is repository and pull.base == branch:
                await self._lose_base(pull, actor)

    async def _lose_base(self, pull: Pull, actor: Actor) -> None:
        """Move it to where what it stood on was merged to, or close it: its base was deleted.

        https://docs.github.com/pull-requests/collaborating-with-pull-requests/proposing-changes-to-your-work-with-pull-requests/about-branches#working-with-branches
        """
        merged = [
            below.base
            for below in pull.repository.pulls()
            if below.merged and below.head_repository is pull.repository and below.head == pull.base
        ]
        if merged:
            await self.retarget(pull, actor, merged[-1])
        else:
            self._issues.set_state(pull.issue, actor, "closed")

    async def _keep_ref(self, pull: Pull) -> None:
        git, ref = GitDir(pull.repository.gitdir), f"refs/pull/{pull.issue.number}/head"
        if pull.crosses and pull.head_repository:
            await git.fetch(pull.head_repository.gitdir, pull.head_sha, ref)
        await git.update_ref(ref, pull.head_sha)


async def _tip(repository: Repository, branch: str, field: str) -> str:
    """Return where a branch ends; Refused 422 about the field that named it."""
    tips = await GitDir(repository.gitdir).refs()
    if f"refs/heads/{branch}" not in tips:
        raise invalid("PullRequest", field)
    return tips[f"refs/heads/{branch}"]


def _refuse_second(repository: Repository, source: Repository, head: str, base: str) -> None:
    for pull in repository.pulls():
        same = pull.head_repository is source and (pull.head, pull.base) == (head, base)
        if same and pull.issue.state == "open":
            name = f"{source.owner.login}:{head}"
            raise custom("PullRequest", f"A pull request already exists for {name}.")


async def _look_again(pull: Pull) -> None:
    """Find out anew what depends on where head and base are."""
    pull.facts = await _facts(pull.repository, pull.base_sha, pull.head_sha)
    pull.asked = False
    await follow(pull)


async def _facts(repository: Repository, base_sha: str, head_sha: str) -> PullFacts:
    git = GitDir(repository.gitdir)
    start = await git.merge_base(base_sha, head_sha)
    if start is None:
        raise ApiError(422, "Validation Failed", errors=["The branches have no history in common"])
    files = parse_diff(await git.diff(start, head_sha))
    return PullFacts(
        commits=len(await git.commits(f"{start}..{head_sha}")),
        additions=sum(each.additions for each in files),
        deletions=sum(each.deletions for each in files),
        changed_files=len(files),
        mergeable=await git.merged_tree(base_sha, head_sha) is not None,
    )
