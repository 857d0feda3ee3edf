"""Pull requests as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from typing import Any

from app.simulator.github.accounts import Account
from app.simulator.github.schemas.common import account_json, maybe_moment, moment, repository_json
from app.simulator.github.schemas.issues import (
    assignees_json,
    association,
    issue_url,
    label_json,
    page_url,
)
from app.simulator.github.state.world import Pull, Repository, World

Json = Any
PASSED = ("success", "neutral", "skipped")


def pull_simple_json(world: World, pull: Pull) -> Json:
    """Return `pull-request-simple`."""
    issue, repository = pull.issue, pull.issue.repository
    return {
        "id": pull.id,
        "node_id": pull.node_id,
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": issue.state,
        "locked": False,
        "active_lock_reason": None,
        "draft": pull.draft,
        "user": account_json(world, issue.author.account),
        "author_association": association(repository, issue.author.account),
        "labels": [
            label | {"description": label["description"] or ""}  # never null in this shape
            for label in (label_json(world, repository, each) for each in issue.labels)
        ],
        **assignees_json(world, issue),
        "requested_reviewers": [account_json(world, each) for each in pull.requested],
        "requested_teams": [],
        "milestone": None,
        "auto_merge": None,
        "created_at": moment(issue.created_at),
        "updated_at": moment(issue.updated_at),
        "closed_at": maybe_moment(issue.closed_at),
        "merged_at": maybe_moment(pull.merged.at if pull.merged else None),
        "merge_commit_sha": pull.merged.commit if pull.merged else None,
        "head": _end(world, pull.head_repository, pull.head_owner, pull.head, pull.head_sha),
        "base": _end(world, repository, repository.owner, pull.base, pull.base_sha),
        **_links(world, pull),
    }


def pull_json(world: World, pull: Pull) -> Json:
    """Return `pull-request`."""
    facts, merged = pull.facts, pull.merged
    return pull_simple_json(world, pull) | {
        "merged": merged is not None,
        "merged_by": account_json(world, merged.by) if merged else None,
        "mergeable": pull.mergeable,
        "rebaseable": pull.mergeable,
        "mergeable_state": _mergeable_state(pull),
        "comments": len(pull.issue.comments),
        "review_comments": sum(len(each.remarks) for each in pull.reviews),
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": facts.commits,
        "additions": facts.additions,
        "deletions": facts.deletions,
        "changed_files": facts.changed_files,
    }


def _mergeable_state(pull: Pull) -> str:
    if pull.mergeable is None:
        return "unknown"
    if pull.draft or not pull.mergeable:
        return "draft" if pull.draft else "dirty"
    checks = pull.repository.check_runs.values()
    here = {each.name: each for each in checks if each.head_sha == pull.head_sha}
    passed = all(each.conclusion in PASSED for each in here.values())
    return "clean" if passed else "unstable"


def _end(
    world: World, repository: Repository | None, owner: Account, branch: str, sha: str
) -> Json:
    merging = {
        "allow_squash_merge": True,
        "allow_merge_commit": True,
        "allow_rebase_merge": True,
        "allow_auto_merge": False,
        "allow_update_branch": False,
        "delete_branch_on_merge": False,
    }
    return {
        "label": f"{owner.login}:{branch}",
        "ref": branch,
        "sha": sha,
        "user": account_json(world, owner),
        "repo": repository_json(world, repository) | merging if repository else None,
    }


def _links(world: World, pull: Pull) -> dict[str, Json]:
    issue, page = pull.issue, page_url(world, pull.issue)
    root = f"{world.api}/repos/{issue.repository.full_name}"
    url = f"{root}/pulls/{issue.number}"
    urls = {
        "url": url,
        "html_url": page,
        "issue_url": issue_url(world, issue),
        "commits_url": f"{url}/commits",
        "comments_url": f"{issue_url(world, issue)}/comments",
        "review_comments_url": f"{url}/comments",
        "review_comment_url": f"{root}/pulls/comments{{/number}}",
        "statuses_url": f"{root}/statuses/{pull.head_sha}",
    }
    names = {"self": "url", "html": "html_url", "issue": "issue_url", "comments": "comments_url"}
    names |= {each: f"{each}_url" for each in ("review_comments", "review_comment", "commits")}
    names |= {"statuses": "statuses_url"}
    links = {name: {"href": urls[source]} for name, source in names.items()}
    return urls | {"diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "_links": links}
