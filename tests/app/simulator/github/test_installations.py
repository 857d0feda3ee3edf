"""The life of an installation, as its App hears of it and as its tokens feel it."""

import hashlib
import hmac

from tests.app.simulator.github.alerting import MAY, install_listener


async def test_an_installation_comes_sleeps_and_goes(scene, aiohttp_server):
    github, ada = scene.github, scene.ada
    installation, told = await install_listener(scene, aiohttp_server)
    await github.suspend(installation, ada)
    await github.unsuspend(installation, ada)
    await github.uninstall(installation, ada)
    assert told.actions("installation") == ["created", "suspend", "unsuspend", "deleted"]
    created, *later = told.list_payloads("installation")
    assert created["sender"]["id"] == scene.owner.id
    assert [each["full_name"] for each in created["repositories"]] == ["forge/anvil"]
    assert {each["sender"]["id"] for each in later} == {ada.id}
    assert later[0]["installation"]["suspended_by"]["id"] == ada.id


async def test_repositories_are_chosen_and_taken_away(scene, aiohttp_server):
    github = scene.github
    installation, told = await install_listener(scene, aiohttp_server)
    call = scene.with_credential(github.tokens.mint(installation, None, None).text)
    other = await github.create_repository(scene.owner, "bellows")
    assert (await call("GET", "/repos/forge/bellows")).status == 404
    await github.add_repositories(installation, [other], scene.ada)
    seen = (await call("GET", "/installation/repositories")).json
    assert (seen["total_count"], seen["repository_selection"]) == (2, "selected")
    assert [each["name"] for each in seen["repositories"]] == ["anvil", "bellows"]
    await github.remove_repositories(installation, [scene.repository])
    assert (await call("GET", scene.base)).status == 404
    added, removed = told.list_payloads("installation_repositories")
    assert (added["action"], removed["action"]) == ("added", "removed")
    assert [each["name"] for each in added["repositories_added"]] == ["bellows"]
    assert [each["id"] for each in removed["repositories_removed"]] == [scene.repository.id]
    assert added["repositories_removed"] == removed["repositories_added"] == []


async def test_an_installation_of_everything_grows_by_itself(scene, aiohttp_server):
    github = scene.github
    _, told = await install_listener(scene, aiohttp_server)
    app = told.github.world.apps[max(told.github.world.apps)]
    app.events.append("repository")
    whole = await github.install(app.id, [scene.repository], selection="all")
    await github.create_repository(scene.owner, "bellows")
    assert [each.name for each in whole.repositories] == ["anvil", "bellows"]
    assert told.actions("repository") == ["created"]
    [added] = told.list_payloads("installation_repositories")
    assert (added["installation"]["id"], added["repository_selection"]) == (whole.id, "all")
    told_of = (await scene.as_app()("GET", "/app/installations")).json
    assert [each["repository_selection"] for each in told_of] == ["selected"]


async def test_other_rights_hold_once_somebody_consents(scene, aiohttp_server):
    github = scene.github
    few = {"metadata": "read", "contents": "read"}
    installation, told = await install_listener(scene, aiohttp_server, permissions=few)
    github.ask_permissions(installation.app.id, MAY, ["dependabot_alert"])
    assert installation.permissions == few
    await github.accept_permissions(installation, scene.ada)
    payload = told.list_payloads("installation")[-1]
    assert payload["action"] == "new_permissions_accepted"
    assert payload["installation"]["permissions"] == MAY
    assert payload["installation"]["events"] == ["dependabot_alert"]
    assert github.tokens.mint(installation, None, {"vulnerability_alerts": "write"})


async def test_a_new_secret_signs_what_is_sent_from_then_on(scene, aiohttp_server):
    _, told = await install_listener(
        scene, aiohttp_server, "issues", permissions={"issues": "read"}
    )
    app = told.github.world.apps[max(told.github.world.apps)]
    scene.github.world.apps[scene.credentials.app_id].webhook_url = app.webhook_url
    as_app = scene.as_app()
    hidden = (await as_app("GET", "/app/hook/config")).json
    assert hidden["secret"] == "********"
    signed = []
    for secret in (None, "another"):
        if secret:
            changed = await as_app("PATCH", "/app/hook/config", {"secret": secret})
            assert (changed.status, changed.json["url"]) == (200, app.webhook_url)
        await scene.github.label_issue(scene.repository, 1, f"l{secret}", scene.ada)
        mine = [each for each in told.github.webhooks.log if each.app.slug == "mender"]
        signed.append((mine[-1].request_headers["X-Hub-Signature-256"], mine[-1].payload))
    assert [
        signature(key, body) for key, (_, body) in zip(("s3cret", "another"), signed, strict=True)
    ] == [sent for sent, _ in signed]


def signature(key, body):
    return f"sha256={hmac.new(key.encode(), body, hashlib.sha256).hexdigest()}"
