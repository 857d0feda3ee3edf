"""Tokens and names by the id of a repository, whatever it is called and whose it is by now."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from app.github.policy.file import read_policy
from app.github.read_tool.adapter import GitHubReads
from app.github.transport.errors import InstallationGone, NotPermitted
from app.github.transport.tokens import Profile, Scope
from app.installations.sync import ARCHIVED
from handlers.notifications import RepositoryChanged
from tests.fakes.requests import build_command


async def move_repository(kept, scene, change):
    """Have the books told as a delivery would."""
    repository = scene.request.repository.model_copy(
        update={"owner": scene.repository.owner.login, "name": scene.repository.name}
    )
    [installation] = kept.server.world.installations_on(scene.repository)
    notice = RepositoryChanged(
        installation_id=installation.id, change=change, repository=repository
    )
    return await kept.life.takers[RepositoryChanged].take(notice, "1")


async def look(kept, client):
    request = kept.scene.request
    await kept.life.books.look(client, request.installation_id, request.repository)


async def make_client(scene):
    """Return a client as a run has it when it looks."""
    args = (scene.installation.id, scene.repository.id, Profile.READ)
    return await scene.github.installation(*args)


async def transfer_repository(kept, scene):
    """Move the repository to an organisation that has the App as well; return what it has."""
    owner = kept.server.create_organization("octo-org")
    seed = await kept.server.create_repository(owner, "seed")
    theirs = await kept.server.install(scene.app.app_id, [seed], selection="all")
    await kept.server.transfer_repository(scene.repository, owner)
    await move_repository(kept, scene, "transferred")
    return theirs


async def test_requests_and_links_follow_a_rename(kept, scene):
    await kept.follow()
    await kept.server.rename_repository(scene.repository, "sums")
    await move_repository(kept, scene, "renamed")
    now = await kept.life.books.current(scene.request)
    assert now.repository.full_name == "ada/sums"
    assert now.url == scene.request.url.replace("/parse/", "/sums/")
    assert now.lane == scene.request.lane
    assert await kept.life.books.full_name(scene.request.repository) == "ada/sums"


async def test_what_is_newer_than_the_books_is_left_as_it_is(kept, scene):
    await kept.follow()
    newer = scene.request.repository.model_copy(update={"name": "sums"})
    request = scene.request.model_copy(update={"repository": newer})
    assert await kept.life.books.current(request) == request


async def test_of_what_the_books_know_nothing_nothing_is_changed(kept, scene):
    assert await kept.life.books.current(scene.request) == scene.request


async def test_calls_go_to_the_repository_and_not_to_who_took_its_name(kept, scene):
    await kept.follow()
    args = (scene.installation.id, scene.repository.id, Profile.REPORT)
    client = await scene.github.installation(*args)
    await kept.server.rename_repository(scene.repository, "sums")
    imposter = await kept.server.create_repository(scene.people["ada"], "parse")
    await kept.server.add_repositories(scene.installation, [imposter])
    await move_repository(kept, scene, "renamed")
    where = {"owner": "ada", "repo": "parse", "number": "1"}
    path = "/repos/{owner}/{repo}/issues/{number}/comments"
    await client.post(path, where, data={"body": "Hello"})
    assert [comment.body for comment in scene.issue.comments] == ["Hello"]
    assert (await client.getitem("/repos/{owner}/{repo}", where))["id"] == scene.repository.id
    about = {"owner": "ada", "name": "parse"}
    query = (
        "query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { id } }"
    )
    found = (await client.graphql(query, about))["repository"]
    assert found["id"] == scene.repository.node_id


async def test_a_rename_nobody_told_of_is_seen_when_a_run_looks(kept, scene):
    await kept.follow()
    await kept.server.rename_repository(scene.repository, "sums")
    args = (scene.installation.id, scene.repository.id, Profile.READ)
    client = await scene.github.installation(*args)
    await look(kept, client)
    assert await kept.life.books.full_name(scene.request.repository) == "ada/sums"


async def test_a_name_from_before_the_books_is_learned_as_well(kept, scene):
    await kept.server.rename_repository(scene.repository, "sums")
    await kept.follow()
    assert await kept.life.books.full_name(scene.request.repository) == "ada/parse"
    args = (scene.installation.id, scene.repository.id, Profile.READ)
    client = await scene.github.installation(*args)
    await look(kept, client)
    assert await kept.life.books.full_name(scene.request.repository) == "ada/sums"


async def test_tokens_follow_a_repository_to_another_owner(kept, scene):
    await kept.follow()
    theirs = await transfer_repository(kept, scene)
    scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
    assert (await scene.github.broker.token(scope)).value
    await kept.life.reconcile()  # the old owner's installation reaches nothing, which is no matter
    assert (await kept.stored.repository(scene.repository.id)).removed_at is None
    command = build_command(
        installation_id=scene.installation.id,
        repository=scene.request.repository,
        number=1,
        asked_by=scene.request.asked_by,
        url=scene.request.url,
    )
    now = await kept.life.books.current(command)
    assert now.repository.full_name == "octo-org/parse"
    assert now.installation_id == theirs.id


async def test_a_late_word_of_an_older_name_does_not_bring_it_back(kept, scene):
    await kept.follow()
    await kept.server.rename_repository(scene.repository, "sums")
    await move_repository(kept, scene, "renamed")
    late = RepositoryChanged(
        installation_id=scene.installation.id,
        change="renamed",
        repository=scene.request.repository,
    )
    await kept.life.takers[RepositoryChanged].take(late, "2")
    assert (await kept.stored.repository(scene.repository.id)).full_name == "ada/sums"


async def test_attack_a_late_word_of_a_former_owners_does_not_take_it_back(kept, scene):
    await kept.follow()
    theirs = await transfer_repository(kept, scene)
    await kept.run()
    late = RepositoryChanged(
        installation_id=scene.installation.id,
        change="renamed",
        repository=scene.request.repository,
    )
    await kept.life.takers[RepositoryChanged].take(late, "2")
    known = await kept.stored.repository(scene.repository.id)
    assert (known.installation_id, known.removed_at) == (theirs.id, None)
    assert known.full_name == "octo-org/parse"
    assert await kept.find_cancellation() is None


async def test_word_that_it_was_archived_ends_its_runs(kept, scene):
    await kept.follow()
    await kept.run()
    await kept.server.archive_repository(scene.repository)
    notice = RepositoryChanged(
        installation_id=scene.installation.id,
        change="archived",
        repository=scene.request.repository,
        archived=True,
    )
    await kept.life.takers[RepositoryChanged].take(notice, "1")
    assert await kept.find_cancellation() == ("installation", ARCHIVED)


async def test_what_was_given_back_is_worked_on_before_anybody_tells(kept, scene):
    await kept.follow()
    await kept.server.remove_repositories(scene.installation, [scene.repository])
    await kept.follow()
    await kept.server.add_repositories(scene.installation, [scene.repository])
    await look(kept, await make_client(scene))
    assert (await kept.stored.repository(scene.repository.id)).removed_at is None


async def test_installed_again_it_is_reached_by_the_new_one_before_anybody_tells(kept, scene):
    await kept.follow()
    await kept.server.uninstall(scene.installation)
    await kept.life.followed.record_removed(scene.installation.id)
    again = await kept.server.install(scene.app.app_id, [scene.repository])
    client = await scene.github.installation(again.id, scene.repository.id, Profile.READ)
    await kept.life.books.look(client, again.id, scene.request.repository)
    known = await kept.stored.repository(scene.repository.id)
    assert (known.installation_id, known.removed_at) == (again.id, None)


async def test_attack_who_took_the_name_of_one_nobody_knew_gets_nothing(kept, scene):
    assert await kept.stored.repository(scene.repository.id) is None
    await kept.server.rename_repository(scene.repository, "sums")
    await kept.server.create_repository(scene.people["ada"], "parse")
    client = await make_client(scene)
    await look(kept, client)
    where = {"owner": "ada", "repo": "parse"}
    assert (await client.getitem("/repos/{owner}/{repo}", where))["id"] == scene.repository.id


async def test_what_was_made_public_is_public_for_what_was_asked_before(kept, scene):
    scene.repository.private = True
    await kept.follow()
    place = scene.request.repository.model_copy(update={"private": True})
    request = scene.request.model_copy(update={"repository": place})
    assert (await kept.life.books.current(request)).repository.private
    scene.repository.private = False
    await move_repository(kept, scene, "publicized")
    assert not (await kept.life.books.current(request)).repository.private
    assert await kept.life.books.is_public(place.id)


async def test_a_run_that_looks_sees_what_was_made_public(kept, scene):
    scene.repository.private = True
    await kept.follow()
    scene.repository.private = False
    assert not await kept.life.books.is_public(scene.repository.id)
    await look(kept, await make_client(scene))
    assert await kept.life.books.is_public(scene.repository.id)


async def test_attack_a_search_does_not_look_at_who_took_the_name(kept, scene):
    await kept.follow()
    await kept.server.rename_repository(scene.repository, "sums")
    await move_repository(kept, scene, "renamed")
    forge = GitHubReads(scene.github, scene.request, "0" * 16 + "-1")
    await forge.read("search", {"of": "issues", "query": "six"})
    [asked] = [unquote(each.path) for each in kept.server.requests if "/search/" in each.path]
    assert "repo:ada/sums" in asked


async def test_attack_who_took_the_owners_login_sets_no_policy(kept, scene):
    """What is public GitHub shows to every token, also to one that was made for others."""
    await kept.follow()
    own = await kept.server.create_repository(scene.people["ada"], ".github")
    await kept.server.add_repositories(scene.installation, [own])
    await kept.server.rename_account(scene.people["ada"], "ada-two")
    await kept.server.rename_account(scene.people["mallory"], "ada")
    await kept.server.create_repository(scene.people["mallory"], ".github", private=False)
    await move_repository(kept, scene, "renamed")
    before = len(kept.server.requests)
    request = scene.request
    await read_policy(scene.github, request.installation_id, request.repository)
    asked = [each.path for each in kept.server.requests[before:]]
    assert any("/repos/ada-two/.github/" in path for path in asked)
    assert not any("/repos/ada/" in path for path in asked)


async def test_a_deleted_repository_ends_its_runs(kept, scene):
    await kept.follow()
    await kept.run()
    notice = RepositoryChanged(
        installation_id=scene.installation.id,
        change="deleted",
        repository=scene.request.repository,
    )
    await kept.life.takers[RepositoryChanged].take(notice, "1")
    assert (await kept.find_cancellation())[0] == "installation"
    scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
    await kept.server.remove_repositories(scene.installation, [scene.repository])
    with pytest.raises(InstallationGone, match="not given `ada/parse`"):
        await scene.github.broker.token(scope)


async def test_a_token_has_what_was_granted_of_what_it_is_for(kept, scene):
    scene.installation.permissions = {"metadata": "read", "issues": "write", "checks": "read"}
    await kept.follow()
    args = (scene.installation.id, scene.repository.id)
    client = await scene.github.installation(*args, Profile.REPORT)
    where = {"owner": "ada", "repo": "parse"}
    await client.post("/repos/{owner}/{repo}/issues/1/comments", where, data={"body": "Hello"})
    assert scene.issue.comments
    asked = kept.count_minted()
    with pytest.raises(NotPermitted, match=r"`contents: write` was not granted.*/installations/"):
        await scene.github.installation(*args, Profile.PUSH)
    assert kept.count_minted() == asked
