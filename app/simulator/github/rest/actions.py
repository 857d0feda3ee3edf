"""REST endpoints of GitHub Actions: workflow runs, jobs, and their logs."""

from __future__ import annotations

import secrets

from aiohttp import web

from app.simulator.github.answers import Answer, ApiError, Json, not_found, require_found
from app.simulator.github.calls import Call
from app.simulator.github.rest.repositories import commit_of
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.actions import part_json, run_json
from app.simulator.github.state.checks import ActionsRun, RunPart
from app.simulator.github.state.world import World

routes = Routes()
READ = "actions=read"
STORAGE = "/_storage/logs"


def _run(call: Call) -> ActionsRun:
    return require_found(call.repository.runs.get(call.number("run_id")))


def _part(call: Call) -> tuple[ActionsRun, RunPart]:
    number = call.number("job_id")
    for run in call.repository.runs.values():
        if number in run.parts:
            return run, run.parts[number]
    raise not_found()


async def _shape(call: Call, run: ActionsRun) -> Json:
    return run_json(call.world, run, await commit_of(call, run.suite.head_sha))


@routes.add("GET", "/actions/runs", needs=READ)
async def list_runs(call: Call) -> Answer:
    """Return runs, newest first, by commit, branch, event and state."""
    query = call.request.query
    found = [
        await _shape(call, run)
        for run in reversed(call.repository.runs.values())
        if query.get("head_sha") in (None, run.suite.head_sha)
        and query.get("branch") in (None, run.suite.head_branch)
        and query.get("event") in (None, run.event)
        and query.get("status") in (None, run.suite.status, run.suite.conclusion)
    ]
    return call.page(found, lambda page: {"total_count": len(found), "workflow_runs": page})


@routes.add("GET", "/actions/runs/{run_id}", needs=READ)
async def get_run(call: Call) -> Json:
    """Return what started a run of Actions, and on what."""
    return await _shape(call, _run(call))


@routes.add("GET", "/actions/runs/{run_id}/jobs", needs=READ)
async def list_parts(call: Call) -> Answer:
    """Return the parts of a run: of its last attempt, or of every one."""
    run = _run(call)
    every = call.request.query.get("filter") == "all"
    parts = list(run.parts.values()) if every else run.latest
    found = [part_json(call.world, run, each) for each in parts]
    return call.page(found, lambda page: {"total_count": len(found), "jobs": page})


@routes.add("POST", "/actions/runs/{run_id}/rerun-failed-jobs", needs="actions=write")
async def rerun_failed(call: Call) -> Answer:
    """Have what failed run again."""
    run = _run(call)
    if run.suite.status != "completed":
        raise ApiError(403, "This workflow is already running")
    if run.suite.conclusion in ("success", "skipped", "neutral"):
        raise ApiError(403, "This workflow run has no failed jobs")
    call.parts.checks.rerun_failed(run)
    return Answer(201, {})


@routes.add("GET", "/actions/jobs/{job_id}", needs=READ)
async def get_part(call: Call) -> Json:
    """Return a part of a run, with its steps."""
    return part_json(call.world, *_part(call))


@routes.add("GET", "/actions/jobs/{job_id}/logs", needs=READ)
async def get_log(call: Call) -> Answer:
    """Send the caller to where the log is kept, with a seal that opens it once."""
    _, part = _part(call)
    part.seal = secrets.token_hex(8)
    where = f"{call.world.url}{STORAGE}/{call.repository.id}/{part.check.id}?sig={part.seal}"
    return Answer(302, None, {"Location": where})


def register_storage(app: web.Application, world: World) -> None:
    """Put the storage host's part on the server: it takes the seal, and no credentials."""

    async def answer(request: web.Request) -> web.Response:
        if "Authorization" in request.headers:
            return web.Response(status=400, text="InvalidAuthenticationInfo")
        where = request.match_info
        runs = world.repositories[int(where["repository"])].runs.values()
        part = next(
            run.parts[int(where["part"])] for run in runs if int(where["part"]) in run.parts
        )
        seal, part.seal = part.seal, None
        if seal is None or request.query.get("sig") != seal:
            return web.Response(status=403, text="AuthenticationFailed")
        return web.Response(text=part.log)

    app.router.add_get(f"{STORAGE}/{{repository}}/{{part}}", answer)
