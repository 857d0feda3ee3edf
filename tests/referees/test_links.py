"""GitHub's own descriptions judge webhooks about links, and what the tracker asks."""

from __future__ import annotations

import json
import time

from agents.ports import NewSubIssue, Tracker
from agents.requests import Person, Repository, ResolveIssue
from app.github.client import GitHub
from app.github.tracker import GitHubTracker
from app.redaction import Redactor
from tests.referees.link_calls import make_link_calls


async def test_every_webhook_about_links_fits_githubs_description(scene, webhook_referee):
    app = scene.github.world.apps[scene.credentials.app_id]
    app.events += ["sub_issues", "issue_dependencies"]

    await make_link_calls(scene)
    await scene.github.webhooks.settled()

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


async def test_what_the_tracker_asks_fits_githubs_description(scene, rest_referee):
    github, repository, ada = scene.github, scene.repository, Person(id=scene.ada.id, login="ada")
    await make_link_calls(scene)
    picture = github.attach_file(repository, b"-")
    request = ResolveIssue(
        installation_id=scene.installation.id,
        repository=Repository(id=repository.id, owner="forge", name="anvil", default_branch="main"),
        number=2,
        title="The whole",
        body="",
        author=ada,
        asked_by=ada,
        label="bug",
        url=f"{github.url}/forge/anvil/issues/2",
    )
    before, redactor = len(github.requests), Redactor()
    app = {"app_id": scene.credentials.app_id, "private_key": scene.credentials.private_key}
    async with GitHub.open(github_url=github.url, redactor=redactor, write_spacing=0, **app) as us:
        run_id = f"{int(time.time() * 1e6):016x}-5e3f"
        tracker: Tracker = GitHubTracker(us, request, run_id, redactor, settle=0)
        assert len(await tracker.sub_issues()) == 2
        await tracker.create_sub_issues("divide", [NewSubIssue(title="Part three", body="b")])
        for on in (True, False):
            await tracker.label("bot:waiting", on=on, description="Waits for an answer")
        assert len(await tracker.linked("#1, #3", limit=5)) == 2
        raw = f"{github.url}/forge/anvil/raw/main/README.md"
        assert len((await tracker.pictures(f"![x]({picture}) ![y]({raw})")).left_out) == 2
        await tracker.earlier_pull_request()
        await tracker.remarks()
    asked = [each for each in github.requests[before:] if each.path.startswith("/api/")]
    assert len(asked) > 15
    problems = rest_referee.problems(asked)
    assert not problems, "\n".join(problems)
