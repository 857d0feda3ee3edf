"""The `push` webhook: the new commits of a push, and its line in the activity log."""

from __future__ import annotations

from typing import Any

from app.simulator.github.accounts import Actor
from app.simulator.github.gitdir import ZERO, Commit, GitDir
from app.simulator.github.patches import parse_diff
from app.simulator.github.schemas.git import account_of_email
from app.simulator.github.state.world import Repository, World
from app.simulator.github.traces import Push

Json = Any


async def push_payload(
    world: World, repository: Repository, actor: Actor, *, ref: str, old: str, new: str
) -> dict[str, Json]:
    """Note a move of a ref, and return what the webhook `push` says about it."""
    git = GitDir(repository.gitdir)
    known = [sha for sha in (old,) if sha != ZERO] or [f"refs/heads/{repository.default_branch}"]
    span = [] if new == ZERO else await git.commits(new, *(f"^{sha}" for sha in known), limit=20)
    commits = [await _commit(world, repository, each) for each in reversed(span)]
    forced = ZERO not in (old, new) and await git.merge_base(old, new) != old
    repository.pushes.append(
        Push(**world.birth(), actor=actor, ref=ref, before=old, after=new, forced=forced)
    )
    page = f"{world.url}/{repository.full_name}"
    return {
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


async def _commit(world: World, repository: Repository, commit: Commit) -> Json:
    git = GitDir(repository.gitdir)
    parent = commit.parents[0] if commit.parents else await git.empty_tree()
    files = parse_diff(await git.diff(parent, commit.sha))
    people = {"author": commit.author, "committer": commit.committer}
    accounts = {role: account_of_email(world, who.email) for role, who in people.items()}
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
        "url": f"{world.url}/{repository.full_name}/commit/{commit.sha}",
        **named,
        **{
            kind: [each.path for each in files if each.status == kind]
            for kind in ("added", "removed", "modified")
        },
    }
