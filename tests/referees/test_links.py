"""GitHub's own descriptions judge the webhooks about sub-issues and dependencies."""

from __future__ import annotations

import json

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
