"""Check runs and their suites as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from typing import Any

from app.simulator.github.gitdir import Commit
from app.simulator.github.schemas.common import (
    app_json,
    maybe_moment,
    minimal_repository_json,
    moment,
    via_json,
)
from app.simulator.github.schemas.git import root_of
from app.simulator.github.state.checks import CheckRun, CheckSuite
from app.simulator.github.state.world import Pull, Repository, World

Json = Any


def check_run_json(world: World, repository: Repository, run: CheckRun) -> Json:
    """Return `check-run`."""
    root = root_of(world, repository)
    url = f"{root}/check-runs/{run.id}"
    page = f"{world.url}/{repository.full_name}/runs/{run.id}"
    output = {"title": run.output.get("title"), "summary": run.output.get("summary")}
    return {
        "id": run.id,
        "node_id": run.node_id,
        "name": run.name,
        "head_sha": run.head_sha,
        "external_id": run.external_id,
        "url": url,
        "html_url": page,
        "details_url": run.details_url or page,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": moment(run.started_at),
        "completed_at": maybe_moment(run.completed_at),
        "output": {
            **output,
            "text": run.output.get("text"),
            "annotations_count": run.annotations,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": run.suite.id},
        "app": app_json(world, run.app),
        "pull_requests": _pulls_json(world, repository, run.head_sha),
    }


def suite_check_run_json(world: World, repository: Repository, run: CheckRun) -> Json:
    """Return `check-run-with-simple-check-suite`, as webhooks have it."""
    shape = check_run_json(world, repository, run)
    whole = minimal_repository_json(world, repository)
    return shape | {
        "check_suite": _suite_json(world, repository, run.suite) | {"repository": whole}
    }


def check_suite_json(
    world: World, repository: Repository, suite: CheckSuite, commit: Commit
) -> Json:
    """Return `check-suite`."""
    shape = _suite_json(world, repository, suite)
    return shape | {
        "head_commit": simple_commit_json(commit),
        "latest_check_runs_count": len(suite.latest),
        "check_runs_url": f"{shape['url']}/check-runs",
        "repository": minimal_repository_json(world, repository),
        "rerequestable": True,
        "runs_rerequestable": True,
    }


def _suite_json(world: World, repository: Repository, suite: CheckSuite) -> dict[str, Json]:
    ended = [each.completed_at for each in suite.latest if each.completed_at]
    return {
        "id": suite.id,
        "node_id": suite.node_id,
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": suite.status,
        "conclusion": suite.conclusion,
        "url": f"{root_of(world, repository)}/check-suites/{suite.id}",
        "before": None,
        "after": suite.head_sha,
        "pull_requests": _pulls_json(world, repository, suite.head_sha),
        "app": via_json(world, suite.app),
        "created_at": moment(suite.created_at),
        "updated_at": moment(max(ended, default=suite.created_at)),
    }


def simple_commit_json(commit: Commit) -> Json:
    """Return `simple-commit`."""
    people = {"author": commit.author, "committer": commit.committer}
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": commit.committer.date,
        **{role: {"name": who.name, "email": who.email} for role, who in people.items()},
    }


def pulls_on(repository: Repository, sha: str) -> list[Pull]:
    """Return the open pull requests of branches here that stand on a commit: never of forks."""
    return [
        pull
        for pull in repository.pulls()
        if pull.issue.state == "open" and pull.head_sha == sha and not pull.crosses
    ]


def _pulls_json(world: World, repository: Repository, sha: str) -> list[Json]:
    return [simple_pull_json(world, pull) for pull in pulls_on(repository, sha)]


def simple_pull_json(world: World, pull: Pull) -> Json:
    """Return `pull-request-minimal`."""
    repository = pull.issue.repository
    root = root_of(world, repository)
    place = {"id": repository.id, "url": root, "name": repository.name}
    return {
        "id": pull.id,
        "number": pull.issue.number,
        "url": f"{root}/pulls/{pull.issue.number}",
        "head": {"ref": pull.head, "sha": pull.head_sha, "repo": place},
        "base": {"ref": pull.base, "sha": pull.base_sha, "repo": place},
    }
