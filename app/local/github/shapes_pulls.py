"""Pull requests as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from typing import Any

from app.local.github.shapes import account_json, maybe_moment, moment, repository_json
from app.local.github.shapes_issues import association, issue_url, label_json, page_url
from app.local.github.state import Pull, World

Json = Any


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
        "labels": [label_json(world, repository, each) for each in issue.labels],
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "milestone": None,
        "auto_merge": None,
        "created_at": moment(issue.created_at),
        "updated_at": moment(issue.updated_at),
        "closed_at": maybe_moment(issue.closed_at),
        "merged_at": None,
        "merge_commit_sha": None,
        "head": _end(world, pull, pull.head, pull.head_sha),
        "base": _end(world, pull, pull.base, pull.base_sha),
        **_links(world, pull),
    }


def pull_json(world: World, pull: Pull) -> Json:
    """Return `pull-request`."""
    facts = pull.facts
    state = "draft" if pull.draft else "clean" if facts.mergeable else "dirty"
    return pull_simple_json(world, pull) | {
        "merged": False,
        "merged_by": None,
        "mergeable": facts.mergeable,
        "rebaseable": facts.mergeable,
        "mergeable_state": state,
        "comments": len(pull.issue.comments),
        "review_comments": 0,
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": facts.commits,
        "additions": facts.additions,
        "deletions": facts.deletions,
        "changed_files": facts.changed_files,
    }


def _end(world: World, pull: Pull, branch: str, sha: str) -> Json:
    repository = pull.issue.repository
    merging = {
        "allow_squash_merge": True,
        "allow_merge_commit": True,
        "allow_rebase_merge": True,
        "allow_auto_merge": False,
        "allow_update_branch": False,
        "delete_branch_on_merge": False,
    }
    return {
        "label": f"{repository.owner.login}:{branch}",
        "ref": branch,
        "sha": sha,
        "user": account_json(world, repository.owner),
        "repo": repository_json(world, repository) | merging,
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
