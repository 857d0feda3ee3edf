"""Workflow runs and jobs as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from typing import Any

from app.simulator.github.gitdir import Commit
from app.simulator.github.schemas.checks import pulls_on, simple_commit_json, simple_pull_json
from app.simulator.github.schemas.common import (
    account_json,
    maybe_moment,
    minimal_repository_json,
    moment,
)
from app.simulator.github.schemas.git import root_of
from app.simulator.github.state.checks import ActionsRun, RunPart
from app.simulator.github.state.world import World

Json = Any
FILE = ".github/workflows/checks.yml"
FILE_ID = 1
NEVER_RUN = ("runner_id", "runner_name", "runner_group_id", "runner_group_name")


def run_json(world: World, run: ActionsRun, commit: Commit) -> Json:
    """Return `workflow-run`."""
    repository, suite = run.repository, run.suite
    root, actor = root_of(world, repository), account_json(world, run.actor)
    here = f"{root}/actions/runs/{run.id}"
    earlier = f"{here}/attempts/{run.attempt - 1}" if run.attempt > 1 else None
    ended = max((e.check.completed_at or run.created_at for e in run.latest), default=None)
    return {
        "id": run.id,
        "node_id": run.node_id,
        "name": run.name,
        "event": run.event,
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "head_commit": simple_commit_json(commit),
        "run_number": run.number,
        "run_attempt": run.attempt,
        "display_title": commit.title,
        "path": FILE,
        "workflow_id": FILE_ID,
        "workflow_url": f"{root}/actions/workflows/{FILE_ID}",
        "check_suite_id": suite.id,
        "check_suite_node_id": suite.node_id,
        "check_suite_url": f"{root}/check-suites/{suite.id}",
        "status": suite.status,
        "conclusion": suite.conclusion,
        "url": here,
        "html_url": f"{world.url}/{repository.full_name}/actions/runs/{run.id}",
        "created_at": moment(run.created_at),
        "run_started_at": moment(run.created_at),
        "updated_at": moment(ended or run.created_at),
        "previous_attempt_url": earlier,
        "referenced_workflows": [],
        "pull_requests": [simple_pull_json(world, e) for e in pulls_on(repository, suite.head_sha)],
        "actor": actor,
        "triggering_actor": actor,
        "repository": minimal_repository_json(world, repository),
        "head_repository": minimal_repository_json(world, run.head_repository),
        **{f"{each}_url": f"{here}/{each}" for each in ("jobs", "logs", "cancel", "rerun")},
        "artifacts_url": f"{here}/artifacts",
    }


def started_json(world: World, run: ActionsRun) -> Json:
    """Return what the run is a run of, as webhooks have it."""
    root, page = root_of(world, run.repository), f"{world.url}/{run.repository.full_name}"
    born = moment(run.repository.created_at)
    return {
        "id": FILE_ID,
        "node_id": f"W_{FILE_ID}",
        "name": run.name,
        "path": FILE,
        "state": "active",
        "created_at": born,
        "updated_at": born,
        "url": f"{root}/actions/workflows/{FILE_ID}",
        "html_url": f"{page}/blob/{run.repository.default_branch}/{FILE}",
        "badge_url": f"{page}/workflows/{run.name}/badge.svg",
    }


def part_json(world: World, run: ActionsRun, part: RunPart) -> Json:
    """Return `job`."""
    root, check = root_of(world, run.repository), part.check
    page = f"{world.url}/{run.repository.full_name}/actions/runs/{run.id}"
    begun, ended = moment(check.started_at), maybe_moment(check.completed_at)
    steps = [
        {
            "name": name,
            "number": number,
            "status": "completed",
            "conclusion": conclusion,
            "started_at": begun,
            "completed_at": ended,
        }
        for number, (name, conclusion) in enumerate(part.steps, start=1)
    ]
    return {
        "id": check.id,
        "node_id": check.node_id,
        "run_id": run.id,
        "run_url": f"{root}/actions/runs/{run.id}",
        "run_attempt": part.attempt,
        "workflow_name": run.name,
        "head_branch": run.suite.head_branch,
        "head_sha": check.head_sha,
        "name": check.name,
        "status": check.status,
        "conclusion": check.conclusion,
        "url": f"{root}/actions/jobs/{check.id}",
        "html_url": f"{page}/job/{check.id}",
        "check_run_url": f"{root}/check-runs/{check.id}",
        "created_at": moment(check.created_at),
        "started_at": begun,
        "completed_at": ended,
        "labels": ["ubuntu-latest"],
        "steps": steps,
        **dict.fromkeys(NEVER_RUN),
    }
