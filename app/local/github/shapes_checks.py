"""Check runs as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from typing import Any

from app.local.github.shapes import app_json, maybe_moment, minimal_repository_json, moment
from app.local.github.shapes_git import root_of
from app.local.github.state import CheckRun, Pull, Repository, World

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
        "check_suite": {"id": run.suite_id},
        "app": app_json(world, run.app),
        "pull_requests": [_pull_json(world, pull) for pull in _pulls_on(repository, run)],
    }


def suite_check_run_json(world: World, repository: Repository, run: CheckRun) -> Json:
    """Return `check-run-with-simple-check-suite`, as webhooks have it."""
    shape = check_run_json(world, repository, run)
    pulls = _pulls_on(repository, run)
    suite = {
        "id": run.suite_id,
        "node_id": f"CS_{run.suite_id}",
        "head_branch": pulls[0].head if pulls else None,
        "head_sha": run.head_sha,
        "status": run.status,
        "conclusion": run.conclusion,
        "url": f"{root_of(world, repository)}/check-suites/{run.suite_id}",
        "before": None,
        "after": run.head_sha,
        "pull_requests": shape["pull_requests"],
        "app": shape["app"],
        "created_at": moment(run.created_at),
        "updated_at": moment(run.created_at),
        "repository": minimal_repository_json(world, repository),
    }
    return shape | {"check_suite": suite}


def _pulls_on(repository: Repository, run: CheckRun) -> list[Pull]:
    """Return the open pull requests that stand on the check run's commit."""
    return [
        pull
        for pull in repository.pulls()
        if pull.issue.state == "open" and pull.head_sha == run.head_sha
    ]


def _pull_json(world: World, pull: Pull) -> Json:
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
