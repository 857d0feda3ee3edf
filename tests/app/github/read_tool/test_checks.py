"""Checks and logs are read without the token, and of forks only their states."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from aiohttp import web

from agents.errors import ToolError
from app.github.transport.tokens import Profile
from app.simulator.github.gitdir import GitDir
from tests.patience import PATIENCE


async def test_checks_and_statuses_of_a_branch(scene, read, job):
    text = await read("checks", ref="bot/fix")

    assert f"- tests: failure (id {job.id}, github-actions)" in text
    assert scene.repository.check_runs[job.id].head_sha in text


@pytest.fixture
async def foreign(scene, pull):
    """A job on a commit that no branch here holds, as those of forks are."""
    repository = scene.repository
    files = {"evil.py": "x = 1\n"}
    sha = await scene.server.commit(
        repository, files, author=scene.people["eve"], message="m", branch="theirs"
    )
    await GitDir(repository.gitdir).run("update-ref", "-d", "refs/heads/theirs")
    job = await scene.server.complete_check(
        repository, sha, name="EVIL name", conclusion="failure", log="EVIL log"
    )
    job.output.update(title="EVIL title", summary="EVIL summary")
    return job


async def test_of_a_forks_commit_only_the_states_are_shown(read, foreign):
    text = await read("checks", ref=foreign.head_sha)

    assert f"- a check: failure (id {foreign.id})" in text
    assert "is not shown" in text
    assert "EVIL" not in text


async def test_checks_of_an_older_commit_of_the_default_branch_are_shown(scene, read):
    repository = scene.repository
    sha = (await GitDir(repository.gitdir).refs())["refs/heads/main"]
    files = {"more.py": "x = 1\n"}
    await scene.server.commit(repository, files, author=scene.people["ada"], message="m")
    await scene.server.complete_check(repository, sha, name="tests", conclusion="success", log="")

    assert "- tests: success" in await read("checks", ref=sha)


async def test_the_log_of_a_forks_commit_is_not_shown(scene, read, pull):
    fork = await scene.server.create_repository(scene.people["eve"], "parse")
    job = await scene.server.complete_check(
        scene.repository, pull.head_sha, name="t", conclusion="failure", log="EVIL", fork=fork
    )

    with pytest.raises(ToolError, match="not shown"):
        await read("log", number=job.id)
    assert not [each for each in scene.server.requests if "_storage" in each.path]


@pytest.mark.parametrize(
    ("event", "by"),
    [
        ("issues", "eve"),
        ("issue_comment", "mallory"),
        ("issues", "bob"),
        ("pull_request", "bob"),
        ("push", "eve"),
    ],
)
async def test_a_log_is_shown_when_who_started_the_job_may_write(scene, read, pull, event, by):
    people = scene.people
    about = {"name": "t", "conclusion": "failure", "log": "SAID", "event": event, "by": people[by]}
    job = await scene.server.complete_check(scene.repository, pull.head_sha, **about)
    try:
        text = await read("log", number=job.id)
    except ToolError:
        text = ""

    assert ("SAID" in text) is (by == "bob" or event == "push")


async def test_a_commit_without_checks(read):
    assert "No checks and no statuses." in await read("checks", ref="main")


async def test_the_end_of_a_log_is_fetched_without_the_token(scene, read, job):
    text = await read("log", number=job.id)

    assert text.rstrip().endswith("FAILED test_a")
    assert "line 4999" in text
    assert "line 0\n" not in text
    assert "beginning is left out" in text
    assert "2026-01-02" not in text
    assert len(text) < 17_000
    [fetched] = [each for each in scene.server.requests if "_storage" in each.path]
    assert fetched.status == 200  # with credentials it would be 400, as it is on GitHub's storage


async def test_a_log_without_end_is_left(scene, aiohttp_server):
    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b"x" * 65_536)
        return response

    app = web.Application()
    app.router.add_get("/", endless)
    server = await aiohttp_server(app)
    client = await scene.github.installation(
        scene.installation.id, scene.repository.id, Profile.LOGS
    )

    async with asyncio.timeout(PATIENCE):
        kept = await client._api.tail(str(server.make_url("/")), keep=1_000, most=3_000_000)

    assert kept == b"x" * 1_000


async def test_an_unknown_job_is_an_error_for_the_model(read):
    with pytest.raises(ToolError, match="Nothing was found"):
        await read("log", number=4711)


@pytest.mark.parametrize(
    ("verb", "arguments", "permission"),
    [("log", {"number": 1}, "actions"), ("checks", {"ref": "main"}, "statuses")],
)
async def test_without_the_permission_it_says_so_and_the_rest_works(
    scene, read, verb, arguments, permission
):
    del scene.installation.permissions[permission]

    with pytest.raises(ToolError, match="The App may not read this") as refused:
        await read(verb, **arguments)

    assert permission in str(refused.value)
    assert "Six digits only" in await read("issue", number=1)
