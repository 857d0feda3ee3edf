"""REST endpoints of repositories: metadata, collaborators, branches, commits."""

from __future__ import annotations

from app.simulator.github.answers import Answer, ApiError, Json, require_found
from app.simulator.github.calls import Call
from app.simulator.github.gitdir import ZERO, Commit
from app.simulator.github.patches import parse_diff
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.common import (
    account_json,
    full_repository_json,
    public_account_json,
)
from app.simulator.github.schemas.git import (
    branch_json,
    commit_json,
    file_json,
    ref_json,
    root_of,
    short_branch_json,
)

routes = Routes()
HEADS = "refs/heads/"


@routes.add("GET", "/users/{login}", scope="token")
async def get_user(call: Call) -> Json:
    """Return an account."""
    account = require_found(call.world.account(call.request.match_info["login"]))
    return public_account_json(call.world, account)


@routes.add("GET", "")
async def get_repository(call: Call) -> Json:
    """Return a repository."""
    return full_repository_json(call.world, call.repository)


@routes.add("GET", "/collaborators/{login}/permission")
async def get_permission(call: Call) -> Json:
    """Return what somebody may do."""
    account = require_found(call.world.account(call.request.match_info["login"]))
    role = call.repository.role_of(account)
    levels = ("pull", "triage", "push", "maintain", "admin")
    ranks = {"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}
    held = {level: rank < ranks[role.base] for rank, level in enumerate(levels)}
    user = account_json(call.world, account) | {"permissions": held, "role_name": role.name}
    return {"permission": role.permission, "role_name": role.name, "user": user}


@routes.add("GET", "/rules/branches/{branch:.+}", needs="metadata=read")
async def list_rules(call: Call) -> Answer:
    """Return the rules for branches of this name, which need not be there.

    https://docs.github.com/rest/repos/rules#get-rules-for-a-branch
    """
    repository = call.repository
    source = {
        "ruleset_source_type": "Repository",
        "ruleset_source": repository.full_name,
        "ruleset_id": repository.id,
    }
    held = [{"type": "required_signatures", **source}] if repository.requires_signatures else []
    return call.page(held)


@routes.add("GET", "/branches", needs="contents=read")
async def list_branches(call: Call) -> Answer:
    """Return the branches."""
    refs = await call.git.refs(HEADS)
    return call.page(
        [
            short_branch_json(call.world, call.repository, ref.removeprefix(HEADS), sha)
            for ref, sha in refs.items()
        ]
    )


@routes.add("GET", "/branches/{branch:.+}", needs="contents=read")
async def get_branch(call: Call) -> Json:
    """Return a branch with its last commit."""
    name = call.request.match_info["branch"]
    sha = (await call.git.refs(HEADS)).get(HEADS + name)
    if sha is None:
        raise ApiError(404, "Branch not found")
    [commit] = await call.git.commits(sha, limit=1)
    return branch_json(call.world, call.repository, name, commit)


@routes.add("GET", "/git/ref/{ref:.+}", scope="public", needs="contents=read")
async def get_ref(call: Call) -> Json:
    """Return one ref, named without `refs/`."""
    ref = f"refs/{call.request.match_info['ref']}"
    sha = require_found((await call.git.refs("refs/")).get(ref))
    kind = "commit" if (await call.git.commits_of(ref)).get(ref) == sha else "tag"
    return ref_json(call.world, call.repository, ref, sha, kind=kind)


@routes.add("DELETE", "/git/refs/{ref:.+}", needs="contents=write")
async def delete_ref(call: Call) -> Answer:
    """Delete a ref; open pull requests of a branch close."""
    ref, before = f"refs/{call.request.match_info['ref']}", await call.git.refs()
    if ref not in await call.git.refs("refs/"):
        raise ApiError(422, "Reference does not exist")
    if ref.startswith(HEADS) and not ref.startswith(call.repository.app_branches):
        raise ApiError(422, "Repository rule violations found")
    await call.git.update_ref(ref, ZERO)
    await call.parts.pulls.follow_push(call.repository, call.actor, before)
    return Answer(204, None)


@routes.add("GET", "/git/matching-refs/{ref:.+}", needs="contents=read")
async def list_matching_refs(call: Call) -> Answer:
    """Return every ref whose name begins like this."""
    start = f"refs/{call.request.match_info['ref']}"
    refs = await call.git.refs("refs/")
    return call.page(
        [
            ref_json(call.world, call.repository, ref, sha)
            for ref, sha in refs.items()
            if ref.startswith(start)
        ]
    )


async def commit_of(call: Call, revision: str) -> Commit:
    """Return the commit that a sha, branch or tag names; 422 as GitHub words it."""
    sha = await call.git.resolve(revision)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {revision}")
    return (await call.git.commits(sha, limit=1))[0]


@routes.add("GET", "/commits/{ref}", needs="contents=read")
async def get_commit(call: Call) -> Json:
    """Return a commit with what it changed."""
    commit = await commit_of(call, call.request.match_info["ref"])
    parent = commit.parents[0] if commit.parents else await call.git.empty_tree()
    files = parse_diff(await call.git.diff(parent, commit.sha))
    added, removed = sum(each.additions for each in files), sum(each.deletions for each in files)
    return commit_json(call.world, call.repository, commit) | {
        "stats": {"total": added + removed, "additions": added, "deletions": removed},
        "files": [file_json(call.world, call.repository, each, commit.sha) for each in files],
    }


@routes.add("GET", "/commits/{sha}/branches-where-head", needs="contents=read")
async def list_branches_of_head(call: Call) -> Json:
    """Return the branches that end at this commit."""
    commit = await commit_of(call, call.request.match_info["sha"])
    refs = await call.git.refs(HEADS)
    found = {"sha": commit.sha, "url": f"{_api(call)}/commits/{commit.sha}"}
    return [
        {"name": ref.removeprefix(HEADS), "commit": found, "protected": False}
        for ref, sha in refs.items()
        if sha == commit.sha
    ]


@routes.add("GET", "/compare/{base}...{head}", scope="public", needs="contents=read")
async def compare(call: Call) -> Json:
    """Return how far two commits are apart, without what differs."""
    base = await commit_of(call, call.request.match_info["base"])
    head = await commit_of(call, call.request.match_info["head"])
    shared = await call.git.merge_base(base.sha, head.sha)
    if shared is None:
        raise ApiError(404, "No common ancestor between these commits.")
    new = await call.git.commits(f"{base.sha}..{head.sha}")
    behind = len(await call.git.commits(f"{head.sha}..{base.sha}"))
    page = f"{call.world.url}/{call.repository.full_name}/compare/{base.sha}...{head.sha}"
    return {
        "url": f"{_api(call)}/compare/{base.sha}...{head.sha}",
        "html_url": page,
        "permalink_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": commit_json(call.world, call.repository, base),
        "merge_base_commit": commit_json(
            call.world, call.repository, await commit_of(call, shared)
        ),
        "status": _status(len(new), behind),
        "ahead_by": len(new),
        "behind_by": behind,
        "total_commits": len(new),
        "commits": [commit_json(call.world, call.repository, each) for each in reversed(new)],
    }


def _status(ahead: int, behind: int) -> str:
    if ahead and behind:
        return "diverged"
    return "ahead" if ahead else "behind" if behind else "identical"


def _api(call: Call) -> str:
    return root_of(call.world, call.repository)
