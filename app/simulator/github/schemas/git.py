"""Commits, refs, files and statuses as GitHub's REST API shows them."""

from __future__ import annotations

import base64
import re
import textwrap
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from app.simulator.github.accounts import GITHUB_EMAIL, WEB_FLOW, Account
from app.simulator.github.gitdir import SIGNATURE, Commit, TreeEntry
from app.simulator.github.patches import FileChange
from app.simulator.github.schemas.common import account_json, moment
from app.simulator.github.state.checks import CommitStatus
from app.simulator.github.state.world import Repository, World

Json = Any
NOREPLY = re.compile(r"(?P<id>\d+)\+(?P<login>[^@]+)@users\.noreply\.")
UNVERIFIED = {
    "verified": False,
    "reason": "unsigned",
    "signature": None,
    "payload": None,
    "verified_at": None,
}


def root_of(world: World, repository: Repository) -> str:
    """Return the API address of a repository."""
    return f"{world.api}/repos/{repository.full_name}"


def account_of_email(world: World, email: str) -> Account | None:
    """Return whose commit address this is."""
    if email == GITHUB_EMAIL:
        return world.account(WEB_FLOW)
    found = NOREPLY.match(email)
    wanted = int(found["id"]) if found else 0
    return next((each for each in world.accounts.values() if each.id == wanted), None)


def commit_json(world: World, repository: Repository, commit: Commit) -> Json:
    """Return `commit`."""
    root, page = root_of(world, repository), f"{world.url}/{repository.full_name}"
    people = {"author": commit.author, "committer": commit.committer}
    accounts = {role: account_of_email(world, who.email) for role, who in people.items()}
    inner = {
        role: {"name": who.name, "email": who.email, "date": _utc(who.date)}
        for role, who in people.items()
    }
    return {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "url": f"{root}/commits/{commit.sha}",
        "html_url": f"{page}/commit/{commit.sha}",
        "comments_url": f"{root}/commits/{commit.sha}/comments",
        "commit": {
            **inner,
            "message": commit.message,
            "tree": {"sha": commit.tree, "url": f"{root}/git/trees/{commit.tree}"},
            "url": f"{root}/git/commits/{commit.sha}",
            "comment_count": 0,
            "verification": verification_json(repository, commit.sha),
        },
        **{role: account_json(world, who) if who else None for role, who in accounts.items()},
        "parents": [
            {"sha": sha, "url": f"{root}/commits/{sha}", "html_url": f"{page}/commit/{sha}"}
            for sha in commit.parents
        ],
    }


def verification_json(repository: Repository, sha: str) -> Json:
    """Return `verification`: what this GitHub made for somebody, it has signed."""
    if sha not in repository.signed:
        return UNVERIFIED
    return {
        "verified": True,
        "reason": "valid",
        "signature": SIGNATURE,
        "payload": f"commit {sha}",
        "verified_at": moment(repository.pushed_at),
    }


def git_commit_json(world: World, repository: Repository, commit: Commit) -> Json:
    """Return `git-commit`, which has no accounts."""
    root, whole = root_of(world, repository), commit_json(world, repository, commit)
    inner = whole["commit"]
    return {
        "sha": commit.sha,
        "node_id": whole["node_id"],
        "url": f"{root}/git/commits/{commit.sha}",
        "html_url": whole["html_url"],
        "author": inner["author"],
        "committer": inner["committer"],
        "tree": inner["tree"],
        "message": commit.message,
        "parents": whole["parents"],
        "verification": inner["verification"],
    }


def _utc(date: str) -> str:
    return moment(datetime.fromisoformat(date).astimezone(UTC))


def file_json(world: World, repository: Repository, change: FileChange, sha: str) -> Json:
    """Return `diff-entry`."""
    page, path = f"{world.url}/{repository.full_name}", quote(change.path)
    shape = {
        "sha": change.blob or None,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{page}/blob/{sha}/{path}",
        "raw_url": f"{page}/raw/{sha}/{path}",
        "contents_url": f"{root_of(world, repository)}/contents/{path}?ref={sha}",
    }
    if change.patch is not None:
        shape["patch"] = change.patch
    if change.previous:
        shape["previous_filename"] = change.previous
    return shape


def ref_json(
    world: World, repository: Repository, ref: str, sha: str, *, kind: str = "commit"
) -> Json:
    """Return `git-ref`; `kind`: what it leads to, a commit or a tag of its own."""
    root = root_of(world, repository)
    return {
        "ref": ref,
        "node_id": f"REF_{repository.id}_{ref}",
        "url": f"{root}/git/{ref}",
        "object": {"type": kind, "sha": sha, "url": f"{root}/git/{kind}s/{sha}"},
    }


def tag_json(world: World, repository: Repository, name: str, sha: str) -> Json:
    """Return `tag`."""
    root = root_of(world, repository)
    return {
        "name": name,
        "node_id": f"REF_{repository.id}_{name}",
        "commit": {"sha": sha, "url": f"{root}/commits/{sha}"},
        "zipball_url": f"{root}/zipball/refs/tags/{name}",
        "tarball_url": f"{root}/tarball/refs/tags/{name}",
    }


def annotated_tag_json(
    world: World, repository: Repository, tag: tuple[str, str], commit: Commit
) -> Json:
    """Return `git-tag`; `tag`: its name and the id of its own object."""
    root, who = root_of(world, repository), commit.committer
    return {
        "node_id": f"TA_{tag[1]}",
        "tag": tag[0],
        "sha": tag[1],
        "url": f"{root}/git/tags/{tag[1]}",
        "message": tag[0],
        "tagger": {"name": who.name, "email": who.email, "date": _utc(who.date)},
        "object": {
            "type": "commit",
            "sha": commit.sha,
            "url": f"{root}/git/commits/{commit.sha}",
        },
        "verification": UNVERIFIED,
    }


def release_json(world: World, repository: Repository, tag: str, published: datetime) -> Json:
    """Return `release`, by the repository's owner, without files."""
    root, page = root_of(world, repository), f"{world.url}/{repository.full_name}"
    ident = sorted(repository.releases).index(tag) + 1
    return {
        "id": ident,
        "node_id": f"RE_{repository.id}_{ident}",
        "url": f"{root}/releases/{ident}",
        "html_url": f"{page}/releases/tag/{tag}",
        "assets_url": f"{root}/releases/{ident}/assets",
        "upload_url": f"{root}/releases/{ident}/assets{{?name,label}}",
        "tarball_url": f"{root}/tarball/{tag}",
        "zipball_url": f"{root}/zipball/{tag}",
        "tag_name": tag,
        "target_commitish": repository.default_branch,
        "name": tag,
        "body": repository.release_notes.get(tag, ""),
        "draft": False,
        "prerelease": False,
        "created_at": moment(published),
        "published_at": moment(published),
        "author": account_json(world, repository.owner),
        "assets": [],
    }


def short_branch_json(world: World, repository: Repository, name: str, sha: str) -> Json:
    """Return `short-branch`."""
    return {
        "name": name,
        "commit": {"sha": sha, "url": f"{root_of(world, repository)}/commits/{sha}"},
        "protected": name == repository.default_branch,
    }


def branch_json(world: World, repository: Repository, name: str, commit: Commit) -> Json:
    """Return `branch-with-protection`."""
    url = f"{root_of(world, repository)}/branches/{name}"
    checks = {"enforcement_level": "off", "contexts": [], "checks": []}
    return {
        "name": name,
        "commit": commit_json(world, repository, commit),
        "_links": {"self": url, "html": f"{world.url}/{repository.full_name}/tree/{name}"},
        "protected": name == repository.default_branch,
        "protection": {
            "enabled": name == repository.default_branch,
            "required_status_checks": checks,
        },
        "protection_url": f"{url}/protection",
    }


def entry_json(
    world: World, repository: Repository, entry: TreeEntry, revision: str, data: bytes | None
) -> Json:
    """Return `content-file` when data is given, else an item of `content-directory`."""
    path = quote(entry.path)
    url = f"{root_of(world, repository)}/contents/{path}?ref={revision}"
    page = f"{world.url}/{repository.full_name}"
    kinds = {"tree": "dir", "blob": "symlink" if entry.mode == "120000" else "file"}
    raw = f"{page}/raw/{revision}/{path}" if entry.kind == "blob" else None
    git_url = f"{root_of(world, repository)}/git/{entry.kind}s/{entry.sha}"
    shape = {
        "type": kinds.get(entry.kind, "file"),  # a submodule, says GitHub until 2026-03-10
        "name": entry.path.rpartition("/")[2],
        "path": entry.path,
        "sha": entry.sha,
        "size": entry.size or 0,
        "url": url,
        "html_url": f"{page}/blob/{revision}/{path}",
        "git_url": git_url,
        "download_url": raw,
        "_links": {"self": url, "git": git_url, "html": f"{page}/blob/{revision}/{path}"},
    }
    if data is None:
        return shape
    lines = textwrap.wrap(base64.b64encode(data).decode(), 60)
    return shape | {"encoding": "base64", "content": "".join(f"{line}\n" for line in lines)}


def status_json(world: World, repository: Repository, status: CommitStatus) -> Json:
    """Return `status`."""
    return {
        "id": status.id,
        "node_id": status.node_id,
        "url": f"{root_of(world, repository)}/statuses/{status.sha}",
        "avatar_url": f"{world.url}/avatars/{status.creator.id}",
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.label,
        "created_at": moment(status.created_at),
        "updated_at": moment(status.created_at),
        "creator": account_json(world, status.creator),
    }
