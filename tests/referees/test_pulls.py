"""GitHub's own descriptions judge what the publisher asks, first and when it comes again."""

from __future__ import annotations

import json

import graphql
import pytest

from app.git.mirror.mirror import Mirror
from app.github.pulls.publisher import GitHubPublisher
from app.github.transport.tokens import Profile, Scope
from tests.referees.our_client import REDACTOR, open_client, request_for

BRANCH = "bot/1-mend-abc123"


@pytest.fixture
async def commits(scene, tmp_path):
    """A mirror of the repository and two commits in it, one on the other."""
    mirror, found = Mirror(tmp_path / "mirror.git"), []
    async with open_client(scene) as us:
        scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
        token = await us.broker.token(scope)
        await mirror.fetch(us.urls.clone("forge/anvil"), token.value)
    parent = await mirror.head_of("main")
    for subject in ("Mend it", "Mend it well"):
        tree = (await mirror.git.local("rev-parse", f"{parent}^{{tree}}")).decode().strip()
        who = ("-c", "user.name=x", "-c", "user.email=x@x")
        made = await mirror.git.local(*who, "commit-tree", "-p", parent, "-m", subject, tree)
        parent = made.decode().strip()
        found.append(parent)
    return mirror, found


async def test_what_the_publisher_asks_fits_githubs_description(
    scene, commits, rest_referee, packages
):
    github, (mirror, (one, two)) = scene.github, commits
    request, before = request_for(scene, scene.repository.issues[1]), len(github.requests)
    async with open_client(scene) as us:
        first = GitHubPublisher(us, mirror, request, "run-1", REDACTOR, settle=0)
        more = {"branch": BRANCH, "body": "Why.", "closes": (1,)}
        await first.push(BRANCH, one)
        await first.open_pull_request(commit=one, title="Mend it", draft=True, **more)
        await first.comment("answer", "Which one?")
        [pull] = scene.repository.pulls()
        await github.edit_issue(scene.repository, pull.issue.number, scene.ada, body="Mine")
        second = GitHubPublisher(us, mirror, request, "run-2", REDACTOR, settle=0)
        await second.push(BRANCH, two)
        made = await second.open_pull_request(commit=two, title="Mend it well", draft=False, **more)
    assert (made.number, made.draft, made.body) == (pull.issue.number, False, "Mine")
    asked = github.requests[before:]
    rest = [each for each in asked if each.path.startswith("/api/v3/")]
    assert len(rest) > 8
    assert {each.method for each in rest} == {"GET", "POST", "PATCH", "DELETE"}
    problems = rest_referee.problems(rest)
    assert not problems, "\n".join(problems)
    text = (packages / "graphql-schema" / "schema.graphql").read_text("utf-8")
    real = graphql.build_schema(text, assume_valid=True, no_location=True)
    sent = [json.loads(each.body) for each in asked if each.path.endswith("/graphql")]
    assert len(sent) == 2
    for each in sent:
        assert graphql.validate(real, graphql.parse(each["query"])) == []
