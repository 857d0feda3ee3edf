"""Whole repositories: renamed, handed over, archived, deleted; former names lead on."""

import pytest

from tests.app.simulator.github.alerting import install_listener


@pytest.fixture
async def heard(scene, aiohttp_server):
    """Return what an App hears that subscribed to repositories."""
    rights = {"metadata": "read", "contents": "write"}
    return await install_listener(scene, aiohttp_server, "repository", permissions=rights)


async def test_a_rename_is_told_and_redirects(scene, heard):
    call = scene.call()
    await scene.github.rename_repository(scene.repository, "hammer", scene.ada)
    [payload] = heard[1].list_payloads("repository")
    assert payload["action"] == "renamed"
    assert payload["changes"]["repository"]["name"]["from"] == "anvil"
    assert (payload["repository"]["name"], payload["sender"]["login"]) == ("hammer", "ada")
    moved = await call("GET", f"{scene.base}/issues?state=all&per_page=1")
    assert moved.status == 301
    url = f"/repositories/{scene.repository.id}/issues?state=all&per_page=1"
    assert moved.headers["Location"].endswith(url)
    assert moved.json["url"] == moved.headers["Location"]
    assert (await call("GET", moved.headers["Location"])).status == 200
    assert (await scene.as_app()("GET", f"{scene.base}/installation")).status == 301


async def test_a_former_name_says_nothing_to_strangers(scene, heard):
    other = await scene.github.create_repository(scene.owner, "other")
    installation, told = heard
    await scene.github.add_repositories(installation, [other])
    await scene.github.remove_repositories(installation, [scene.repository])
    await scene.github.rename_repository(scene.repository, "hammer")
    stranger = scene.with_credential(scene.github.tokens.mint(installation, None, None).text)
    assert (await stranger("GET", scene.base)).status == 404
    assert told.list_payloads("repository") == []


async def test_a_new_repository_takes_a_former_name(scene):
    await scene.github.rename_repository(scene.repository, "hammer")
    await scene.github.create_repository(scene.owner, "anvil")
    call = scene.call()
    assert (await call("GET", scene.base)).status == 404
    assert (await call("GET", "/repos/forge/hammer")).json["id"] == scene.repository.id


@pytest.mark.parametrize("tell_old", [True, False])
async def test_a_transfer_is_told_to_who_is_installed_at_the_new_owner(scene, heard, tell_old):
    github, (installation, told) = scene.github, heard
    guild = github.create_organization("guild")
    hall = await github.create_repository(guild, "hall")
    await github.install(installation.app.id, [hall], selection="all")
    await github.transfer_repository(scene.repository, guild, tell_old=tell_old)
    assert scene.repository not in installation.repositories
    [payload] = told.list_payloads("repository")
    assert payload["action"] == "transferred"
    assert payload["changes"]["owner"]["from"]["user"]["login"] == "forge"
    assert payload["repository"]["full_name"] == "guild/anvil"
    assert payload["organization"]["login"] == "guild"
    assert payload["installation"]["id"] != installation.id
    moves = sorted(told.actions("installation_repositories"))
    assert moves == (["added", "removed"] if tell_old else ["added"])


async def test_a_transfer_to_where_the_app_is_not_installed_is_not_told(scene, heard):
    guild, call = scene.github.create_organization("guild"), scene.call()
    await scene.github.transfer_repository(scene.repository, guild)
    assert heard[1].list_payloads("repository") == []
    assert heard[1].actions("installation_repositories") == ["removed"]
    assert (await call("GET", f"/repositories/{scene.repository.id}")).status == 404


async def test_an_archived_repository_is_read_only(scene, heard):
    call, github = scene.call(), scene.github
    await github.archive_repository(scene.repository)
    assert (await call("GET", scene.base)).json["archived"] is True
    refused = await call("POST", f"{scene.base}/issues/1/comments", {"body": "x"})
    assert refused.status == 403
    assert refused.json["message"] == "Repository was archived so is read-only."
    push = f"{github.url}/forge/anvil.git/info/refs?service=git-receive-pack"
    assert (await call("GET", push)).status == 403
    assert (await call("GET", push.replace("receive", "upload"))).status == 200
    await github.unarchive_repository(scene.repository)
    assert (await call("POST", f"{scene.base}/issues/1/comments", {"body": "x"})).status == 201
    assert heard[1].actions("repository") == ["archived", "unarchived"]


async def test_a_deleted_repository_is_told_twice(scene, heard):
    (installation, told), call = heard, scene.call()
    await scene.github.delete_repository(scene.repository)
    assert told.actions("repository") == ["deleted"]
    assert told.actions("installation_repositories") == ["removed"]
    assert installation.repositories == []
    assert (await call("GET", scene.base)).status == 404


@pytest.mark.parametrize("kind", ["User", "Organization"])
async def test_an_account_gets_another_login(scene, heard, kind):
    github, installation = scene.github, heard[0]
    scene.owner.kind = kind
    await github.rename_account(scene.owner, "smithy", scene.ada)
    [payload] = heard[1].list_payloads("installation_target")
    assert (payload["action"], payload["target_type"]) == ("renamed", kind)
    assert payload["changes"] == {"login": {"from": "forge"}}
    assert payload["account"]["login"] == "smithy"
    assert payload["installation"]["id"] == installation.id
    call = scene.call()
    assert (await call("GET", scene.base)).status == 301
    assert (await call("GET", "/repos/smithy/anvil")).status == 200
    assert (await call("GET", "/users/forge")).status == 404
