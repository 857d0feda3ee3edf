"""The App held against app.yml on a real HTTP server: key, clock, permissions, installations."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from app.config.allowed_owners import AllowedOwners
from app.config.settings import AppCredentials
from app.doctor.app_identity import app_findings
from app.doctor.github_client import open_client
from handlers.access.permissions import list_lacking
from tests.app.config.test_settings import pem
from tests.app.doctor.conftest import by_subject, levels


async def examine_app(scene, credentials=None, owners=None):
    async with scene.open(credentials) as github:
        return await app_findings(github, owners or AllowedOwners())


async def test_all_is_well(scene):
    found = await examine_app(scene)
    assert set(levels(found).values()) == {"ok"}
    assert set(levels(found)) == {"App's key", "clock", "permissions", "events", "installations"}
    assert "mender" in by_subject(found)["App's key"].said


async def test_nothing_is_written(scene):
    await examine_app(scene)
    assert {each.method for each in scene.github.requests} == {"GET"}


async def test_another_apps_key(scene):
    other = pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    wrong = AppCredentials(str(scene.made.app_id), SecretStr(other), ())
    found = by_subject(await examine_app(scene, wrong))
    assert found["App's key"].level == "failed"
    assert "FETTLE_APP_ID is the id of the App that FETTLE_PRIVATE_KEY" in found["App's key"].said
    assert "permissions" not in found
    assert "PRIVATE KEY-----" not in str(found)


async def test_an_id_that_nobody_has(scene):
    wrong = AppCredentials("999999", SecretStr(scene.made.private_key), ())
    assert by_subject(await examine_app(scene, wrong))["App's key"].level == "failed"


async def test_github_is_out_of_reach(scene):
    async def at_once(_):
        return None

    async with open_client("http://127.0.0.1:9", scene.credentials, sleep=at_once) as github:
        [found] = await app_findings(github, AllowedOwners())
    assert (found.about, found.level) == ("GitHub", "failed")
    assert "FETTLE_GITHUB_URL" in found.remedy


@pytest.mark.parametrize(
    ("seconds", "level", "words"),
    [
        (0, "ok", ""),
        (-30, "warning", "ahead"),
        (30, "warning", "behind"),
        (600, "failed", "behind"),
    ],
)
async def test_the_clock(scene, seconds, level, words):
    scene.github.world.clock_skew = timedelta(seconds=seconds)
    found = by_subject(await examine_app(scene))["clock"]
    assert found.level == level
    assert words in found.said
    assert level == "ok" or "timedatectl" in found.remedy


async def test_a_permission_that_is_optional_is_no_fault_either_way(scene):
    found = by_subject(await examine_app(scene))["permissions"]
    assert (found.level, "without `workflows: write`" in found.said) == ("ok", True)
    scene.app.permissions = {**scene.app.permissions, "workflows": "write"}
    found = by_subject(await examine_app(scene))
    assert found["permissions"].level == "ok"
    assert "vulnerable actions are moved" in found["permissions"].said
    assert found["installation ada"].said == "It has still to accept `workflows: write`."


async def test_missing_and_superfluous_permissions_and_events(scene):
    scene.app.permissions = {**scene.app.permissions, "issues": "read", "secrets": "write"}
    scene.app.events = [*[each for each in scene.app.events if each != "issues"], "push"]
    found = await examine_app(scene)
    said = [(each.level, each.said) for each in found if each.about in {"permissions", "events"}]
    assert ("failed", "The App lacks `issues: write`.") in said
    assert ("warning", "The App has `secrets: write` beyond app.yml.") in said
    assert ("failed", "The App does not hear of `issues`.") in said
    assert ("warning", "The App hears of `push` beyond app.yml.") in said
    assert all(each.remedy for each in found if each.level != "ok")


async def test_each_installation_is_told_that_has_something_to_accept_or_is_suspended(scene):
    for name in ("bea", "cleo"):
        owner = scene.github.create_user(name)
        repository = await scene.github.create_repository(owner, "thing")
        installation = await scene.github.install(scene.made.app_id, [repository])
        if name == "bea":
            installation.permissions = {**installation.permissions, "contents": "read"}
        else:
            await scene.github.suspend(installation, owner)
    found = by_subject(await examine_app(scene))
    assert "`contents: write`" in found["installation bea"].said
    assert "/settings/installations/" in found["installation bea"].remedy
    assert "Suspended since" in found["installation cleo"].said
    assert "1 of 3" in found["installations"].said


async def test_more_installations_than_one_page_has(scene):
    for number in range(104):
        owner = scene.github.create_user(f"user-{number}")
        repository = await scene.github.create_repository(owner, "thing") if number == 0 else None
        if repository:
            template = await scene.github.install(scene.made.app_id, [repository])
        else:
            copy = type(template)(**{**vars(template), "id": 900_000 + number, "account": owner})
            scene.github.world.installations[copy.id] = copy
    assert "105 of 105" in by_subject(await examine_app(scene))["installations"].said


async def test_installed_nowhere(scene):
    await scene.github.uninstall(scene.installation)
    found = by_subject(await examine_app(scene))["installations"]
    assert (found.level, found.said) == ("warning", "The App is installed nowhere.")
    assert found.remedy.endswith("/installations/new")


def test_levels_of_permissions_have_an_order():
    held, wanted = {"a": "write", "b": "read"}, {"a": "read", "b": "write", "c": "read"}
    assert list_lacking(held, wanted) == ["b: write", "c: read"]


async def test_accounts_that_are_not_listed(scene):
    owners = AllowedOwners(["octo-org"])
    found = await examine_app(scene, owners=owners)
    said = by_subject(found)["owners"]
    assert (said.level, "`ada`" in said.said, "FETTLE_OWNERS" in said.said) == (
        "warning",
        True,
        True,
    )
    assert "installations" not in by_subject(found)
    owners.load_accounts({"octo-org": scene.ada.id})  # that is what the account was called once
    assert "owners" not in by_subject(await examine_app(scene, owners=owners))
