"""Other people's CI: runs of Actions with parts, steps and logs, outside checks, statuses."""

import pytest

from app.simulator.github.state.checks import PartResult
from tests.app.simulator.github.reviewing import listen, open_ten

LOG = "2026-01-02T03:04:05.0000000Z collected 3 items\n2026-01-02T03:04:06.0000000Z FAILED\n"
PARTS = (
    PartResult("lint"),
    PartResult("tests", "failure", LOG, (("Check out", "success"), ("Run", "failure"))),
)
EVENTS = ["check_run", "check_suite", "workflow_run", "status"]


@pytest.fixture
async def pull(scene):
    return await open_ten(scene)


@pytest.fixture
async def run(scene, pull):
    return await scene.github.complete_run(scene.repository, pull.head_sha, PARTS, by=scene.ada)


async def test_a_run_is_found_by_its_commit_with_parts_and_steps(scene, pull, run):
    call, runs = scene.call(), f"{scene.base}/actions/runs"
    found = (await call("GET", f"{runs}?head_sha={pull.head_sha}")).json
    assert found["total_count"] == 1
    [told] = found["workflow_runs"]
    assert (told["id"], told["conclusion"], told["head_branch"]) == (run.id, "failure", "bot/ten")
    assert [each["number"] for each in told["pull_requests"]] == [pull.issue.number]
    for query in ("head_sha=" + "0" * 40, "branch=main", "event=schedule", "status=success"):
        assert (await call("GET", f"{runs}?{query}")).json["total_count"] == 0
    parts = (await call("GET", f"{runs}/{run.id}/jobs")).json["jobs"]
    assert [(each["name"], each["conclusion"]) for each in parts] == [
        ("lint", "success"),
        ("tests", "failure"),
    ]
    steps = [(each["number"], each["name"], each["conclusion"]) for each in parts[1]["steps"]]
    assert steps == [(1, "Check out", "success"), (2, "Run", "failure")]
    check = (await call("GET", f"{scene.base}/check-runs/{parts[1]['id']}")).json
    assert (check["name"], check["app"]["slug"]) == ("tests", "github-actions")
    assert check["check_suite"]["id"] == told["check_suite_id"]


async def test_a_log_is_elsewhere_and_takes_no_token(scene, run):
    failed = run.latest[1].check.id
    sent = await scene.call()("GET", f"{scene.base}/actions/jobs/{failed}/logs")
    assert sent.status == 302
    where = sent.headers["Location"]
    assert (await scene.call()("GET", where)).status == 400
    anonymous = scene.with_credential(None)
    assert (await anonymous("GET", where)).json.decode() == LOG
    assert (await anonymous("GET", where)).status == 403


async def test_what_failed_runs_again(scene, pull, run, aiohttp_server):
    call, path = scene.call(), f"{scene.base}/actions/runs/{run.id}"
    refused = await call("POST", f"{path}/rerun-failed-jobs")
    assert refused.status == 403  # reading is not enough
    scene.installation.permissions["actions"] = "write"
    call = scene.call()
    assert (await call("POST", f"{path}/rerun-failed-jobs")).status == 201
    again = (await call("GET", path)).json
    assert (again["status"], again["conclusion"], again["run_attempt"]) == ("in_progress", None, 2)
    assert (await call("POST", f"{path}/rerun-failed-jobs")).status == 403
    got = await listen(scene, aiohttp_server, EVENTS)
    await scene.github.finish_rerun(run)
    assert (await call("GET", path)).json["conclusion"] == "success"
    every = (await call("GET", f"{path}/jobs?filter=all")).json["jobs"]
    assert [(each["name"], each["run_attempt"]) for each in every] == [
        ("lint", 1),
        ("tests", 1),
        ("tests", 2),
    ]
    told = {(each["_event"], each["action"]) for each in got}
    assert ("workflow_run", "completed") in told
    assert (await call("POST", f"{path}/rerun-failed-jobs")).status == 403


async def test_what_webhooks_tell_of_a_check(scene, pull, aiohttp_server):
    got = await listen(scene, aiohttp_server, EVENTS)
    await scene.github.complete_check(
        scene.repository, pull.head_sha, name="tests", conclusion="failure", log=LOG
    )
    told = sorted((each["_event"], each["action"]) for each in got)
    assert told == [
        ("check_run", "completed"),
        ("check_run", "created"),
        ("check_suite", "completed"),
        ("workflow_run", "completed"),
    ]
    by_event = {each["_event"]: each for each in got if each["action"] == "completed"}
    assert by_event["check_run"]["check_run"]["conclusion"] == "failure"
    assert by_event["check_suite"]["check_suite"]["head_sha"] == pull.head_sha
    assert by_event["workflow_run"]["workflow_run"]["conclusion"] == "failure"


async def test_an_outside_check_has_no_run(scene, pull):
    outside = scene.github.create_app("outside-ci")
    app = scene.github.world.apps[outside.app_id]
    check = await scene.github.complete_check(
        scene.repository, pull.head_sha, name="ext", conclusion="failure", log=None, app=app
    )
    call = scene.call()
    assert (await call("GET", f"{scene.base}/actions/jobs/{check.id}")).status == 404
    assert (await call("GET", f"{scene.base}/actions/runs")).json["total_count"] == 0
    suites = (await call("GET", f"{scene.base}/commits/{pull.head_sha}/check-suites")).json
    assert [each["app"]["slug"] for each in suites["check_suites"]] == ["outside-ci"]
    path = f"{scene.base}/check-suites/{suites['check_suites'][0]['id']}"
    assert (await call("GET", path)).json["conclusion"] == "failure"
    assert (await call("GET", f"{path}/check-runs")).json["total_count"] == 1
    await call("GET", f"{scene.base}/pulls/{pull.issue.number}")
    shape = (await call("GET", f"{scene.base}/pulls/{pull.issue.number}")).json
    assert (shape["mergeable"], shape["mergeable_state"]) == (True, "unstable")


async def test_the_base_branch_can_be_red_too(scene, pull):
    sha = pull.base_sha
    await scene.github.complete_check(scene.repository, sha, name="tests", conclusion="failure")
    await scene.github.set_status(scene.repository, sha, "failure", by=scene.ada)
    call = scene.call()
    found = (await call("GET", f"{scene.base}/commits/main/check-runs")).json["check_runs"]
    assert [each["conclusion"] for each in found] == ["failure"]
    combined = (await call("GET", f"{scene.base}/commits/main/status")).json
    assert (combined["state"], combined["total_count"]) == ("failure", 1)


async def test_reading_runs_and_checks_takes_permission(scene, pull, run):
    blind = scene.call(pull_requests="write")
    failed = run.latest[1].check.id
    for path in (
        "/actions/runs",
        f"/actions/runs/{run.id}",
        f"/actions/runs/{run.id}/jobs",
        f"/actions/jobs/{failed}",
        f"/actions/jobs/{failed}/logs",
        f"/commits/{pull.head_sha}/check-runs",
        f"/commits/{pull.head_sha}/check-suites",
        f"/check-suites/{run.suite.id}",
    ):
        assert (await blind("GET", f"{scene.base}{path}")).status == 403, path
    reader = scene.call(actions="read")
    assert (await reader("GET", f"{scene.base}/actions/runs/{run.id}")).status == 200
    for missing in ("/actions/runs/1", "/actions/jobs/1", "/actions/jobs/1/logs"):
        assert (await reader("GET", f"{scene.base}{missing}")).status == 404


@pytest.mark.parametrize(("level", "heard"), [("write", 3), ("read", 0)])
async def test_who_may_write_checks_hears_of_them_unasked(
    scene, pull, aiohttp_server, *, level, heard
):
    """Of its own ones, too: an App must know itself again."""
    got = await listen(scene, aiohttp_server, [])
    call = scene.call()
    scene.installation.permissions["checks"] = level
    new = {"name": "mender", "head_sha": pull.head_sha, "status": "in_progress"}
    made = await call("POST", f"{scene.base}/check-runs", new)
    if level == "write":
        path = f"{scene.base}/check-runs/{made.json['id']}"
        await call("PATCH", path, {"conclusion": "success"})
        await call("PATCH", path, {"output": {"title": "t", "summary": "s"}})
    else:
        await scene.github.complete_check(
            scene.repository, pull.head_sha, name="t", conclusion="success"
        )
    await scene.github.webhooks.wait_until_settled()
    assert len(got) == heard
    if got:
        ends = [each for each in got if each["action"] == "completed"]
        assert {each["_event"] for each in ends} == {"check_run", "check_suite"}
        slugs = {each[each["_event"]]["app"]["slug"] for each in got}
        assert slugs == {"mender"}
