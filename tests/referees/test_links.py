"""GitHub's own descriptions judge webhooks about links, and what the tracker asks."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager

import pytest
from anthropic.types import ImageBlockParam
from pydantic import TypeAdapter, ValidationError

from agents.ports import Issues, NewSubIssue
from app.github.issues.adapter import GitHubIssues
from tests.app.github.attachments.image_samples import gif, jpeg, png, webp
from tests.referees.link_calls import make_link_calls
from tests.referees.our_client import REDACTOR, open_client, request_for


async def test_every_webhook_about_links_fits_githubs_description(scene, webhook_referee):
    app = scene.github.world.apps[scene.credentials.app_id]
    app.events += ["sub_issues", "issue_dependencies"]

    await make_link_calls(scene)
    await scene.github.webhooks.wait_until_settled()

    sent = {(each.event, json.loads(each.payload)["action"]) for each in log(scene)}
    assert sent == {
        ("sub_issues", "sub_issue_added"),
        ("sub_issues", "parent_issue_added"),
        ("issue_dependencies", "blocked_by_added"),
        ("issue_dependencies", "blocking_added"),
    }
    problems = webhook_referee.problems(log(scene))
    assert not problems, "\n".join(sorted(set(problems)))


def log(scene):
    about = {"sub_issues", "issue_dependencies"}
    return [each for each in scene.github.webhooks.log if each.event in about]


@pytest.mark.parametrize("sample", [png, jpeg, gif, webp])
async def test_pictures_are_blocks_of_the_sdks_own_types(scene, sample):
    text = f"![It breaks]({scene.github.attach_file(scene.repository, sample())})"
    issue = await scene.github.create_issue(scene.repository, scene.ada, "Look", text)
    async with open_tracker(scene, issue) as tracker:
        [picture] = (await tracker.pictures(text)).shown

    judge = TypeAdapter(ImageBlockParam)
    judged = judge.validate_python(picture.block, strict=True)
    assert judged == picture.block, "a key that the SDK does not know is dropped"
    with pytest.raises(ValidationError):
        judge.validate_python({**picture.block, "source": {"type": "base64"}}, strict=True)


async def test_what_the_tracker_asks_fits_githubs_description(scene, rest_referee):
    github, repository = scene.github, scene.repository
    await make_link_calls(scene)
    picture = github.attach_file(repository, b"-")
    before = len(github.requests)
    async with open_tracker(scene, repository.issues[2]) as tracker:
        assert len(await tracker.sub_issues()) == 2
        await tracker.create_sub_issues("divide", [NewSubIssue(title="Part three", body="b")])
        for on in (True, False):
            await tracker.label("bot:waiting", on=on, description="Waits for an answer")
        assert len(await tracker.find_linked("#1, #3", limit=5)) == 2
        raw = f"{github.url}/forge/anvil/raw/main/README.md"
        assert len((await tracker.pictures(f"![x]({picture}) ![y]({raw})")).left_out) == 2
        await tracker.earlier_pull_request()
        await tracker.remarks()
    asked = [each for each in github.requests[before:] if each.path.startswith("/api/")]
    assert len(asked) > 15
    problems = rest_referee.problems(asked)
    assert not problems, "\n".join(problems)


@asynccontextmanager
async def open_tracker(scene, issue):
    """Hold the tracker of a run on this issue."""
    async with open_client(scene) as us:
        run_id = f"{int(time.time() * 1e6):016x}-5e3f"
        tracker: Issues = GitHubIssues(us, request_for(scene, issue), run_id, REDACTOR, settle=0)
        yield tracker
