"""Which repositories take signed commits only, as an installation's token is told it."""

from __future__ import annotations

import pytest

from app.config.allowed_owners import AllowedOwners
from app.doctor.rulesets import ruleset_findings


@pytest.fixture
def look(scene):
    async def look_as(*owners, has_key=False):
        async with scene.open() as github:
            return await ruleset_findings(github, AllowedOwners(owners), has_key=has_key)

    return look_as


async def test_a_repository_that_demands_signed_commits_is_named(scene, look):
    await scene.github.create_repository(scene.ada, "plain")
    [found] = await look()
    assert (found.level, "None of 1 repositories" in found.said) == ("ok", True)

    scene.repository.requires_signatures = True
    [found] = await look()  # this GitHub is none that is known to sign
    assert (found.level, "ada/anvil" in found.said) == ("warning", True)
    assert "FETTLE_COMMIT_KEY_FILE" in found.remedy
    [found] = await look(has_key=True)
    assert (found.level, "ada/anvil" in found.said) == ("ok", True)


async def test_only_names_and_rules_are_asked_for_and_the_token_is_given_back(scene, look):
    await look()
    made, *_, ended = [each for each in scene.github.requests if each.method != "GET"]
    assert b'"metadata"' in made.body
    assert (ended.method, ended.path) == ("DELETE", "/api/v3/installation/token")
    assert len([each for each in scene.github.requests if each.method != "GET"]) == 2


async def test_accounts_that_are_not_served_are_not_looked_at(scene, look):
    assert await look("somebody-else") == []
    assert not [each for each in scene.github.requests if "/rules/" in each.path]


async def test_where_it_cannot_be_told_the_rest_of_the_doctor_goes_on(scene, look):
    scene.github.faults.status("GET", r"/rules/branches/", 500, times=9)
    [found] = await look()
    assert (found.level, "cannot be told" in found.said) == ("skipped", True)
