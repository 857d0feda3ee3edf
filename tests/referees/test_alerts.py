"""GitHub's own descriptions judge what is answered and sent about alerts and whole repositories."""

import json

import orjson

from agents.requests import RemediateAlert
from handlers import route
from handlers.notifications import AlertClosed
from tests.referees.alert_calls import BASE, make_alert_calls, make_bot_calls, raise_alerts

ALERTED = {
    ("dependabot_alert", action)
    for action in (
        "auto_dismissed",
        "auto_reopened",
        "created",
        "dismissed",
        "fixed",
        "reintroduced",
        "reopened",
    )
}
LIVED = {
    ("installation", "created"),
    ("installation", "deleted"),
    ("installation", "new_permissions_accepted"),
    ("installation", "suspend"),
    ("installation", "unsuspend"),
    ("installation_repositories", "added"),
    ("installation_repositories", "removed"),
    ("installation_target", "renamed"),
    ("repository", "archived"),
    ("repository", "created"),
    ("repository", "deleted"),
    ("repository", "renamed"),
    ("repository", "transferred"),
    ("repository", "unarchived"),
}
EXAMPLES = "webhooks-examples/api.github.com/index.json"


def subscribe(scene, *events):
    scene.github.world.apps[scene.credentials.app_id].events[:] = events


def list_sent(github):
    return {(each.event, json.loads(each.payload).get("action")) for each in github.webhooks.log}


async def live_through_everything(scene):
    """Let an alert have each of its states."""
    github, alert = scene.github, await raise_alerts(scene)
    await github.auto_dismiss_alert(alert)
    await github.auto_reopen_alert(alert)
    await github.dismiss_alert(alert, scene.ada, comment="So")
    await github.reopen_alert(alert, scene.ada)
    await github.fix_alert(alert)
    await github.reintroduce_alert(alert)


async def test_alerts_fit_githubs_descriptions(scene, rest_referee, webhook_referee):
    subscribe(scene, "dependabot_alert", "pull_request", "push")
    await live_through_everything(scene)
    await make_alert_calls(scene)
    await make_bot_calls(scene)
    await scene.github.webhooks.wait_until_settled()
    assert rest_referee.problems(scene.github.requests) == []
    assert list_sent(scene.github) >= ALERTED
    assert webhook_referee.problems(scene.github.webhooks.log) == []


async def test_an_alert_is_told_with_the_keys_of_githubs_examples(scene, packages):
    """What GitHub really sent must be in what is sent here, down to the last key."""
    subscribe(scene, "dependabot_alert")
    await live_through_everything(scene)
    heard = [json.loads(each.payload) for each in scene.github.webhooks.log]
    told = {each["action"]: each for each in heard if each.get("alert", {}).get("number") == 1}
    examples = [
        example
        for each in orjson.loads((packages / EXAMPLES).read_bytes())
        if each["name"] == "dependabot_alert"
        for example in each["examples"]
    ]
    assert {each["action"] for each in examples} == {"created", "fixed"}
    for example in examples:
        mine = told[example["action"]]
        assert paths(example["alert"]) <= paths(mine["alert"])
        assert example["sender"]["id"] == mine["sender"]["id"]
        assert example["sender"]["type"] == mine["sender"]["type"]


async def test_whatever_github_tells_of_alerts_is_understood(scene, webhook_referee, packages):
    """Both what its description holds for right, and what it has really sent."""
    subscribe(scene, "dependabot_alert")
    await live_through_everything(scene)
    await scene.github.webhooks.wait_until_settled()
    log = [each for each in scene.github.webhooks.log if each.event == "dependabot_alert"]
    assert webhook_referee.problems(log) == []
    examples = [
        example | {"installation": {"id": 1}}
        for each in orjson.loads((packages / EXAMPLES).read_bytes())
        if each["name"] == "dependabot_alert"
        for example in each["examples"]
    ]
    assert len(examples) >= 2
    read = {
        (payload["action"], type(route("dependabot_alert", payload)))
        for payload in [json.loads(each.payload) for each in log] + examples
    }
    over = {(action, AlertClosed) for action in ("fixed", "dismissed", "auto_dismissed")}
    begun = ("created", "reopened", "reintroduced", "auto_reopened")
    assert read == over | {(action, RemediateAlert) for action in begun}


def paths(value, at=""):
    """Return where something is, whatever it is; what lists hold counts once."""
    if isinstance(value, dict):
        return {f"{at}/{key}" for key in value}.union(
            *(paths(inner, f"{at}/{key}") for key, inner in value.items())
        )
    if isinstance(value, list):
        return set().union(*(paths(inner, f"{at}[]") for inner in value))
    return set()


async def test_the_life_of_installations_fits_githubs_descriptions(
    scene, rest_referee, webhook_referee
):
    github, call, ada = scene.github, scene.call, scene.ada
    app_id, repository = scene.credentials.app_id, scene.repository
    subscribe(scene, "repository")
    other = await github.create_repository(repository.owner, "bellows")
    await github.add_repositories(scene.installation, [other], ada)
    await github.remove_repositories(scene.installation, [other], ada)
    await github.archive_repository(repository, ada)
    await call("POST", f"{BASE}/issues/1/comments", {"body": "x"})
    await github.unarchive_repository(repository, ada)
    await github.rename_repository(repository, "hammer", ada)
    await call("GET", f"{BASE}/issues/1", follow=False)
    await call("GET", "/installation/repositories")
    await github.rename_account(repository.owner, "smithy", ada)
    await github.accept_permissions(scene.installation, ada)
    for name in ("guild", None):
        owner = github.create_organization(name) if name else github.create_user("eve")
        hall = await github.create_repository(owner, "hall")
        await github.install(app_id, [hall], selection="all", by=ada)
        await github.create_repository(owner, "cellar")
        await github.transfer_repository(repository, owner, ada)
        await scene.as_app("GET", "/app/installations")
        await scene.as_app("GET", "/repos/smithy/hammer/installation", follow=False)
    await github.delete_repository(repository, ada)
    await github.rename_account(github.world.account("eve"), "eva")
    await github.suspend(scene.installation, ada)
    await scene.as_app("GET", f"/app/installations/{scene.installation.id}")
    await github.unsuspend(scene.installation)
    await github.uninstall(scene.installation, ada)

    assert rest_referee.problems(github.requests) == []
    assert list_sent(github) >= LIVED
    assert webhook_referee.problems(github.webhooks.log) == []


async def test_folders_as_objects_fit_githubs_description(scene, rest_referee):
    for path in ("", "/README.md"):
        await scene.call("GET", f"{BASE}/contents{path}", accept="object")
    exchanges = scene.github.requests[-2:]
    assert rest_referee.problems(exchanges) == []
    for exchange in exchanges:
        shape = json.loads(exchange.answer)
        del shape["git_url"]
        exchange.answer = json.dumps(shape).encode()
        [problem] = rest_referee.problems([exchange])
        assert "git_url" in problem


async def test_the_referee_sees_a_wrong_alert(scene, rest_referee):
    subscribe(scene, "dependabot_alert")
    await raise_alerts(scene)
    await scene.call("GET", f"{BASE}/dependabot/alerts")
    exchange = scene.github.requests[-1]
    [*_, shape] = json.loads(exchange.answer)
    shape["security_vulnerability"]["first_patched_version"] = "3.1.4"
    exchange.answer = json.dumps([shape]).encode()
    assert "first_patched_version" in "".join(rest_referee.problems([exchange]))
