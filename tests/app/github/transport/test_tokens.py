"""Tokens: narrow, made once for many callers, replaced in time, revoked, kept out of texts."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agents.errors import ConfigError, RunError, TransientError
from app.github.transport.app_jwt import AppJwt
from app.github.transport.client import GitHub
from app.github.transport.errors import InstallationGone, NotPermitted, Suspended
from app.github.transport.tokens import MARGIN, OPTIONAL, Profile, Scope

MINT = "access_tokens"


@pytest.fixture
def broker(scene):
    return scene.github.broker


@pytest.fixture
def scope(scene):
    return Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)


@pytest.mark.parametrize("profile", Profile)
async def test_a_token_opens_one_repository_for_one_use(scene, broker, profile):
    other = await scene.server.create_repository(scene.people["ada"], "other")
    scene.installation.repositories.append(other)
    scene.installation.permissions.update(OPTIONAL)
    token = await broker.token(Scope.for_one(scene.installation.id, scene.repository.id, profile))
    held = scene.server.tokens.find(token.value)

    assert held.permissions == {**dict(profile.value), "metadata": "read"}
    assert held.repositories == [scene.repository]
    assert not held.sees(other)


async def test_twenty_callers_at_once_cause_one_mint(scene, broker, scope):
    tokens = await asyncio.gather(*(broker.token(scope) for _ in range(20)))

    assert len({token.value for token in tokens}) == 1
    assert len(scene.calls("POST", MINT)) == 1


async def test_a_cancelled_caller_does_not_take_the_token_from_the_others(scene, broker, scope):
    scene.server.faults.delay("POST", MINT, 0.1)
    callers = [asyncio.create_task(broker.token(scope)) for _ in range(3)]
    await asyncio.sleep(0.02)
    callers[0].cancel()
    done = await asyncio.gather(*callers, return_exceptions=True)

    assert isinstance(done[0], asyncio.CancelledError)
    assert done[1] == done[2]
    assert len(scene.calls("POST", MINT)) == 1


async def test_other_uses_get_other_tokens(scene, broker):
    scene.installation.permissions.update(OPTIONAL)
    tokens = {
        (
            await broker.token(Scope.for_one(scene.installation.id, scene.repository.id, profile))
        ).value
        for profile in Profile
    }

    assert len(tokens) == len(Profile)


def pass_time(scene, seconds):
    """Let time pass for GitHub and for us."""
    scene.server.advance_clock(timedelta(seconds=seconds))
    scene.github.app.jwt._offset += seconds


@pytest.mark.parametrize(("lifetime", "margin"), [(3600, MARGIN), (180, 45)])
async def test_a_token_is_replaced_some_time_before_its_end(scene, broker, scope, lifetime, margin):
    scene.server.tokens.lifetime = timedelta(seconds=lifetime)
    first = await broker.token(scope)
    pass_time(scene, lifetime - margin - 10)
    second = await broker.token(scope)
    pass_time(scene, 12)
    third = await broker.token(scope)

    assert second is first
    assert third != first


async def test_a_failed_mint_is_not_kept(scene, broker, scope):
    scene.server.faults.status("POST", MINT, 422)
    with pytest.raises(NotPermitted):
        await broker.token(scope)

    assert await broker.token(scope)


async def test_a_mint_is_repeated_when_github_is_ill(scene, broker, scope):
    scene.server.faults.status("POST", MINT, 502, times=2)

    assert await broker.token(scope)
    assert scene.slept == [1, 2]


async def test_a_rate_limit_of_the_app_is_the_engines_to_wait_for(scene, broker, scope):
    scene.server.faults.rate_limit("POST", MINT, retry_after=90)
    with pytest.raises(TransientError) as error:
        await broker.token(scope)

    assert error.value.retry_after == 90


async def test_a_lease_ends_with_its_use(scene, broker, scope):
    async with broker.lease(scope) as token:
        assert scene.server.tokens.find(token.value)
        assert (await broker.token(scope)).value != token.value

    with pytest.raises(Exception, match="Bad credentials"):
        scene.server.tokens.find(token.value)


async def test_a_lease_ends_though_its_use_failed_and_revoking_fails(scene, broker, scope):
    scene.server.faults.status("DELETE", "/installation/token", 500)
    with pytest.raises(KeyError):
        async with broker.lease(scope):
            raise KeyError


async def test_every_token_is_known_to_the_redactor_and_shows_nowhere(scene, broker, scope):
    token = await broker.token(scope)

    assert scene.redactor.clean(f"{token.value[:60]} in a log") == "[redacted] in a log"
    assert token.value not in repr(token)


async def test_a_clock_that_runs_wrong_is_learnt_from_the_refusal(scene, broker, scope):
    scene.server.advance_clock(timedelta(hours=-3))

    token = await broker.token(scope)

    assert scene.server.tokens.find(token.value)
    assert len(scene.calls("POST", MINT)) == 2
    assert await broker.token(scope) is token


async def test_a_suspended_installation(scene, broker, scope):
    await scene.server.suspend(scene.installation, scene.people["ada"])
    with pytest.raises(Suspended, match="suspended") as error:
        await broker.token(scope)

    assert isinstance(error.value, RunError)


async def test_a_removed_installation(scene, broker, scope):
    await scene.server.uninstall(scene.installation)
    with pytest.raises(InstallationGone, match="not installed"):
        await broker.token(scope)


async def test_a_permission_that_was_not_accepted_is_named(scene, broker):
    scene.installation.permissions["contents"] = "read"
    with pytest.raises(NotPermitted, match=r"`contents: write`.*owner"):
        await broker.token(Scope.for_one(scene.installation.id, scene.repository.id, Profile.PUSH))


async def test_a_key_of_another_app_is_the_operators_to_change(scene, scope):
    other = scene.server.create_app("other")
    github = GitHub(
        scene.github.urls,
        AppJwt(scene.app.app_id, other.private_key),
        scene.redactor,
        session=scene.github._session,
    )
    with pytest.raises(ConfigError, match="FETTLE_APP_ID"):
        await github.broker.token(scope)


async def test_an_app_that_does_not_exist_is_the_operators_to_change(scene, scope):
    github = GitHub(
        scene.github.urls,
        AppJwt(424242, scene.app.private_key),
        scene.redactor,
        session=scene.github._session,
    )
    with pytest.raises(ConfigError, match="FETTLE_APP_ID"):
        await github.broker.token(scope)


async def test_no_token_is_on_disk(broker, scope, tmp_path):
    token = await broker.token(scope)
    files = files_of(tmp_path)

    assert files
    assert not any(token.value.encode() in path.read_bytes() for path in files)


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]
