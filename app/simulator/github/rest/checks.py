"""REST endpoints of check runs and commit statuses, and of GitHub's metadata."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from app.simulator.github.answers import Answer, ApiError, Json, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.rest.repositories import commit_of
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.checks import check_run_json, check_suite_json
from app.simulator.github.schemas.common import minimal_repository_json
from app.simulator.github.schemas.git import root_of, status_json
from app.simulator.github.state.checks import CheckRun, CheckSuite, CommitStatus

routes = Routes()
LONGEST_TEXT = 65_535
MOST_ANNOTATIONS = 50
HEADS = "refs/heads/"
Conclusion = Literal[
    "action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"
]


class Output(Input):
    """What a check run has to say."""

    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = Field(default_factory=list)


class Button(Input):
    """A button that people see under a check run."""

    label: str = Field(max_length=20)
    description: str = Field(max_length=40)
    identifier: str = Field(max_length=20)


class CheckEdit(Input):
    """Body of a change of a check run."""

    name: str | None = None
    status: Literal["queued", "in_progress", "completed"] | None = None
    conclusion: Conclusion | None = None
    external_id: str | None = None
    details_url: str | None = None
    completed_at: str | None = None
    output: Output | None = None
    actions: list[Button] | None = Field(default=None, max_length=3)


class NewCheck(CheckEdit):
    """Body of a new check run."""

    name: str
    head_sha: str


class NewStatus(Input):
    """Body of a commit status."""

    state: Literal["error", "failure", "pending", "success"]
    target_url: str | None = None
    description: str | None = None
    context: str = "default"


@routes.add("POST", "/check-runs", needs="checks=write")
async def create_check_run(call: Call) -> Answer:
    """Say something about a commit."""
    sent = call.parse_body(NewCheck)
    commit = await commit_of(call, sent.head_sha)
    assert call.actor.app
    checks, tips = call.parts.checks, await call.git.refs(HEADS)
    branch = next((ref.removeprefix(HEADS) for ref in tips if tips[ref] == commit.sha), None)
    suite = checks.suite(call.repository, call.actor.app, commit.sha, branch)
    run = checks.begin(call.repository, suite, sent.name)
    _apply(call, run, sent)
    checks.tell(call.repository, run, "created", call.actor)
    await _tell_end(call, run, "queued")
    return Answer(201, check_run_json(call.world, call.repository, run))


async def _tell_end(call: Call, run: CheckRun, before: str) -> None:
    if run.status == "completed" != before:
        call.parts.checks.tell(call.repository, run, "completed", call.actor)
        await call.parts.checks.tell_suite(call.repository, run.suite, call.actor)


def _apply(call: Call, run: CheckRun, sent: CheckEdit) -> None:
    for name in ("name", "status", "external_id", "details_url"):
        value = getattr(sent, name)
        if value is not None:
            setattr(run, name, value)
    if sent.conclusion:
        run.status, run.conclusion = "completed", sent.conclusion
    if run.status == "completed" and run.conclusion is None:
        raise ApiError(422, 'Invalid request.\n\n"conclusion" wasn\'t supplied.')
    if run.status == "completed" and run.completed_at is None:
        told = sent.completed_at
        run.completed_at = datetime.fromisoformat(told) if told else call.world.get_time()
    if sent.actions is not None:
        run.buttons = [button.model_dump() for button in sent.actions]
    if sent.output:
        _apply_output(run, sent.output)


def _apply_output(run: CheckRun, output: Output) -> None:
    texts = {"title": output.title, "summary": output.summary, "text": output.text}
    if any(len(text or "") > LONGEST_TEXT for text in texts.values()):
        raise ApiError(422, "Invalid request.\n\nOnly 65535 characters are allowed")
    if len(output.annotations) > MOST_ANNOTATIONS:
        raise ApiError(422, "Invalid request.\n\nNo more than 50 items are allowed; annotations")
    run.output = run.output | {name: text for name, text in texts.items() if text is not None}
    run.annotations += len(output.annotations)


def _check_run(call: Call) -> CheckRun:
    return require_found(call.repository.check_runs.get(call.number("check_run_id")))


@routes.add("GET", "/check-runs/{check_run_id}", needs="checks=read")
async def get_check_run(call: Call) -> Json:
    """Return a check run."""
    return check_run_json(call.world, call.repository, _check_run(call))


@routes.add("PATCH", "/check-runs/{check_run_id}", needs="checks=write")
async def update_check_run(call: Call) -> Json:
    """Change a check run of the same App."""
    run = _check_run(call)
    if run.app is not call.actor.app:
        message = f"Invalid app_id `{run.app.id}` - check run can only be modified by its App."
        raise ApiError(403, message)
    before = run.status
    _apply(call, run, call.parse_body(CheckEdit))
    await _tell_end(call, run, before)
    return check_run_json(call.world, call.repository, run)


@routes.add("GET", "/commits/{ref}/check-runs", needs="checks=read")
async def list_check_runs(call: Call) -> Answer:
    """Return the check runs of a commit, by name."""
    commit = await commit_of(call, call.request.match_info["ref"])
    name = call.request.query.get("check_name")
    found = [
        check_run_json(call.world, call.repository, run)
        for run in call.repository.check_runs.values()
        if run.head_sha == commit.sha and name in (None, run.name)
    ]
    return call.page(found, lambda page: {"total_count": len(found), "check_runs": page})


@routes.add("GET", "/commits/{ref}/check-suites", needs="checks=read")
async def list_suites(call: Call) -> Answer:
    """Return the suites of a commit, one for each App and for each run of Actions."""
    commit = await commit_of(call, call.request.match_info["ref"])
    found = [
        check_suite_json(call.world, call.repository, each, commit)
        for each in call.repository.suites.values()
        if each.head_sha == commit.sha
    ]
    return call.page(found, lambda page: {"total_count": len(found), "check_suites": page})


def _suite(call: Call) -> CheckSuite:
    return require_found(call.repository.suites.get(call.number("check_suite_id")))


@routes.add("GET", "/check-suites/{check_suite_id}", needs="checks=read")
async def get_suite(call: Call) -> Json:
    """Return a suite."""
    suite = _suite(call)
    commit = await commit_of(call, suite.head_sha)
    return check_suite_json(call.world, call.repository, suite, commit)


@routes.add("GET", "/check-suites/{check_suite_id}/check-runs", needs="checks=read")
async def list_suite_runs(call: Call) -> Answer:
    """Return the check runs of a suite: the newest of each name."""
    found = [check_run_json(call.world, call.repository, each) for each in _suite(call).latest]
    return call.page(found, lambda page: {"total_count": len(found), "check_runs": page})


@routes.add("POST", "/statuses/{sha}", needs="statuses=write")
async def create_status(call: Call) -> Answer:
    """Put a status on a commit."""
    sent = call.parse_body(NewStatus)
    commit = await commit_of(call, call.request.match_info["sha"])
    status = CommitStatus(
        **call.world.birth(),
        sha=commit.sha,
        state=sent.state,
        label=sent.context,
        description=sent.description,
        target_url=sent.target_url,
        creator=call.actor.account,
    )
    await call.parts.checks.set_status(call.repository, status, call.actor)
    return Answer(201, status_json(call.world, call.repository, status))


@routes.add("GET", "/commits/{ref}/status", needs="statuses=read")
async def get_combined_status(call: Call) -> Json:
    """Return the last status of each kind on a commit, and what they come to."""
    commit = await commit_of(call, call.request.match_info["ref"])
    newest = {each.label: each for each in call.repository.statuses if each.sha == commit.sha}
    states = {each.state for each in newest.values()}
    bad = "failure" if states & {"error", "failure"} else "pending"
    root = root_of(call.world, call.repository)
    return {
        "state": "success" if states == {"success"} else bad,
        "sha": commit.sha,
        "total_count": len(newest),
        "statuses": [status_json(call.world, call.repository, each) for each in newest.values()],
        "repository": minimal_repository_json(call.world, call.repository),
        "commit_url": f"{root}/commits/{commit.sha}",
        "url": f"{root}/commits/{commit.sha}/status",
    }


@routes.add("GET", "/meta", scope="open")
async def get_meta(_call: Call) -> Json:
    """Return what this GitHub says about itself."""
    return {"verifiable_password_authentication": True, "hooks": ["127.0.0.1/32"]}


@routes.add("GET", "/versions", scope="open")
async def get_versions(_call: Call) -> Json:
    """Return the API versions spoken."""
    return ["2026-03-10", "2022-11-28"]
