"""Reads of GitHub as a run's tool makes them, and a pull request with a failed job to read."""

from __future__ import annotations

import time

import pytest

from agents.tools.gh import Gh
from app.github.read_tool.adapter import GitHubReads
from app.simulator.github.accounts import Actor


def run_id(seconds):
    return f"{int(seconds * 1e6):016x}-5e3f"


@pytest.fixture
def read(scene):
    """Read as the tool does, in a run that is asked for in a minute's time."""
    forge = GitHubReads(scene.github, scene.request, run_id(time.time() + 60))

    async def ask(verb, **arguments):
        call = Gh(verb=verb, **arguments)
        return await forge.read(call.verb, call.model_dump(exclude={"verb"}))

    return ask


@pytest.fixture
async def pull(scene):
    """A pull request by bob, who may write."""
    server, people, repository = scene.server, scene.people, scene.repository
    files = {"src/a.py": "x = 1\n", "README.md": "# parse\nmore\n"}
    await server.commit(repository, files, author=people["bob"], message="m", branch="bot/fix")
    return await open_pull(scene, "bob")


async def open_pull(scene, author):
    return await scene.server.parts.pulls.open(
        scene.repository,
        Actor(scene.people[author]),
        title="Mend it",
        body="It <!-- hidden -->mends.",
        head="bot/fix",
        base="main",
        draft=False,
        maintainer_can_modify=False,
    )


@pytest.fixture
async def job(scene, pull):
    lines = [f"2026-01-02T03:04:05.1234567Z line {n}\n" for n in range(5_000)]
    log = "".join(lines) + "2026-01-02T03:04:06.0000000Z \x1b[31mFAILED test_a\x1b[0m\n"
    return await scene.server.complete_check(
        scene.repository, pull.head_sha, name="tests", conclusion="failure", log=log
    )
