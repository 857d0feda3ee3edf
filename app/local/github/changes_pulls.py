"""What can happen to pull requests: opened, retargeted, moved along by a push."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.local.github.accounts import Actor
from app.local.github.answers import Refused, custom, invalid
from app.local.github.changes_issues import Announce, IssueChanges
from app.local.github.gitdir import ZERO, Commit, GitDir
from app.local.github.patches import parse_diff
from app.local.github.shapes_git import account_of_email
from app.local.github.state import Issue, Pull, PullFacts, Repository, World
from app.local.github.traces import Push

Json = Any
REFERENCE = re.compile(r"(?<![\w/])#(\d+)\b")


class PullChanges:
    """Changes of pull requests and branches."""

    def __init__(self, world: World, announce: Announce, issues: IssueChanges) -> None:
        self._world = world
        self._announce = announce
        self._issues = issues

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
    ) -> Pull:
        """Open a pull request; Refused 422 as GitHub words it."""
        head_sha, base_sha = await self._ends(repository, head, base)
        self._refuse_second(repository, head, base)
        facts = await _facts(repository, base_sha, head_sha)
        if not facts.commits:
            raise custom("PullRequest", f"No commits between {base} and {head}")
        issue = self._issues.new_issue(repository, author, title, body)
        pull = issue.pull = Pull(
            **self._world.birth(),
            issue=issue,
            head=head,
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
        self._issues.happened(pull.issue, event, actor)
        self._issues.tell(pull.issue, "converted_to_draft" if draft else event, actor)

    async def retarget(self, pull: Pull, actor: Actor, base: str) -> None:
        """Change the base branch."""
        repository = pull.issue.repository
        changes = {"base": {"ref": {"from": pull.base}, "sha": {"from": pull.base_sha}}}
        _, pull.base_sha = await self._ends(repository, pull.head, base)
        pull.base = base
        pull.facts = await _facts(repository, pull.base_sha, pull.head_sha)
        self._issues.tell(pull.issue, "edited", actor, changes=changes)

    async def pushed(self, repository: Repository, actor: Actor, before: Mapping[str, str]) -> None:
        """Follow the branches after a push; `before` is their state before it."""
        after = await GitDir(repository.gitdir).refs()
        repository.pushed_at = self._world.now()
        for ref in sorted({*before, *after}):
            old, new = before.get(ref, ZERO), after.get(ref, ZERO)
            if old != new:
                await self._announce_push(repository, actor, ref, old, new)
                await self._follow(repository, actor, ref.removeprefix("refs/heads/"), old, new)

    async def _ends(self, repository: Repository, head: str, base: str) -> tuple[str, str]:
        branches = await GitDir(repository.gitdir).refs()
        for field, branch in (("head", head), ("base", base)):
            if f"refs/heads/{branch}" not in branches:
                raise invalid("PullRequest", field)
        return branches[f"refs/heads/{head}"], branches[f"refs/heads/{base}"]

    def _refuse_second(self, repository: Repository, head: str, base: str) -> None:
        for pull in repository.pulls():
            if (pull.head, pull.base, pull.issue.state) == (head, base, "open"):
                owner = repository.owner.login
                raise custom("PullRequest", f"A pull request already exists for {owner}:{head}.")

    def _cross_reference(self, issue: Issue, author: Actor) -> None:
        for number in sorted({int(found) for found in REFERENCE.findall(issue.body)}):
            mentioned = issue.repository.issues.get(number)
            if mentioned and mentioned is not issue:
                self._issues.happened(mentioned, "cross-referenced", author, source=issue)

    async def _follow(
        self, repository: Repository, actor: Actor, branch: str, old: str, new: str
    ) -> None:
        for pull in [each for each in repository.pulls() if each.issue.state == "open"]:
            if pull.head == branch and new == ZERO:
                self._issues.set_state(pull.issue, actor, "closed")
            elif pull.head == branch:
                pull.head_sha = new
                pull.facts = await _facts(repository, pull.base_sha, new)
                await self._keep_ref(pull)
                self._issues.tell(pull.issue, "synchronize", actor, before=old, after=new)
            elif pull.base == branch and new != ZERO:
                pull.base_sha = new
                pull.facts = await _facts(repository, new, pull.head_sha)

    async def _keep_ref(self, pull: Pull) -> None:
        git = GitDir(pull.issue.repository.gitdir)
        await git.update_ref(f"refs/pull/{pull.issue.number}/head", pull.head_sha)

    async def _announce_push(
        self, repository: Repository, actor: Actor, ref: str, old: str, new: str
    ) -> None:
        git = GitDir(repository.gitdir)
        known = [sha for sha in (old,) if sha != ZERO] or [
            f"refs/heads/{repository.default_branch}"
        ]
        span = (
            [] if new == ZERO else await git.commits(new, *(f"^{sha}" for sha in known), limit=20)
        )
        commits = [await self._push_commit(repository, each) for each in reversed(span)]
        forced = ZERO not in (old, new) and await git.merge_base(old, new) != old
        birth = self._world.birth()
        repository.pushes.append(
            Push(**birth, actor=actor, ref=ref, before=old, after=new, forced=forced)
        )
        page = f"{self._world.url}/{repository.full_name}"
        payload = {
            "ref": ref,
            "before": old,
            "after": new,
            "created": old == ZERO,
            "deleted": new == ZERO,
            "forced": forced,
            "base_ref": None,
            "compare": f"{page}/compare/{old[:12]}...{new[:12]}",
            "commits": commits,
            "head_commit": commits[-1] if commits else None,
            "pusher": {"name": actor.account.login, "email": actor.account.email},
        }
        self._announce(repository, "push", actor, payload)

    async def _push_commit(self, repository: Repository, commit: Commit) -> Json:
        git = GitDir(repository.gitdir)
        parent = commit.parents[0] if commit.parents else await git.empty_tree()
        files = parse_diff(await git.diff(parent, commit.sha))
        people = {"author": commit.author, "committer": commit.committer}
        accounts = {role: account_of_email(self._world, p.email) for role, p in people.items()}
        named = {
            role: {"name": who.name, "email": who.email, "date": who.date}
            | ({"username": account.login} if (account := accounts[role]) else {})
            for role, who in people.items()
        }
        return {
            "id": commit.sha,
            "tree_id": commit.tree,
            "distinct": True,
            "message": commit.message,
            "timestamp": commit.committer.date,
            "url": f"{self._world.url}/{repository.full_name}/commit/{commit.sha}",
            **named,
            **{
                kind: [each.path for each in files if each.status == kind]
                for kind in ("added", "removed", "modified")
            },
        }


async def _facts(repository: Repository, base_sha: str, head_sha: str) -> PullFacts:
    git = GitDir(repository.gitdir)
    start = await git.merge_base(base_sha, head_sha)
    if start is None:
        raise Refused(422, "Validation Failed", errors=["The branches have no history in common"])
    files = parse_diff(await git.diff(start, head_sha))
    return PullFacts(
        commits=len(await git.commits(f"{start}..{head_sha}")),
        additions=sum(each.additions for each in files),
        deletions=sum(each.deletions for each in files),
        changed_files=len(files),
        mergeable=await git.merges_cleanly(base_sha, head_sha),
    )
