"""Releases of actions as GitHub has them: tags of other repositories, peeled, renamed or hidden."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from agents.errors import RunError, TransientError
from app.github.alerts import action_releases
from app.github.alerts.action_releases import GitHubActionReleases
from app.github.transport import NotFound, NotPermitted
from app.github.transport.installation_cache import Permit
from app.simulator.github.gitdir import GitDir
from tests.fakes.requests import build_remediate_alert

SIGNED = {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com"}


class Action:
    """A public repository of somebody else's, where the App is not installed."""

    def __init__(self, scene, repository):
        self.scene, self.repository = scene, repository
        self.git = GitDir(repository.gitdir)

    async def release(self, tag, *, annotated=False):
        """Tag a new commit of the default branch; return the commit."""
        files = {"action.yml": f"name: {tag}\n"}
        author = self.repository.owner
        commit = await self.scene.server.commit(self.repository, files, author=author, message=tag)
        await self.tag(tag, commit, annotated=annotated)
        return commit

    async def tag(self, tag, target, *, annotated=False):
        flags = ("-a", "-m", tag) if annotated else ()
        await self.git.run("tag", "-f", *flags, tag, target, extra=SIGNED)


@pytest.fixture
async def action(scene):
    owner = scene.server.create_organization("actions")
    return Action(scene, await scene.server.create_repository(owner, "checkout", private=False))


@pytest.fixture
def releases(scene):
    request = build_remediate_alert(
        installation_id=scene.installation.id, repository=scene.request.repository
    )
    return GitHubActionReleases(scene.github, request)


async def test_tags_lead_to_commits_also_where_they_are_annotated(scene, action, releases):
    plain = await action.release("v4.1.2")
    annotated = await action.release("v4.1.3", annotated=True)
    await action.tag("v4", "v4.1.3", annotated=True)  # a tag of a tag

    found = await releases.find("actions/checkout")

    tags = {"v4.1.2": plain, "v4.1.3": annotated, "v4": annotated}
    assert (found.name, found.tags) == ("actions/checkout", tags)
    for tag, commit in tags.items():
        assert await releases.find_commit("actions/checkout", tag) == commit
    assert await releases.find_commit("actions/checkout", "v9") == ""
    kinds = {await action.git.text("cat-file", "-t", tag) for tag in tags}
    assert kinds == {"commit", "tag"}, "so the last step is one that has to be taken"


async def test_a_branch_of_the_same_name_makes_a_tag_nobodys(action, releases):
    commit = await action.release("v4.1.3")
    await action.git.update_ref("refs/heads/v4.1.3", commit)

    assert await releases.find_commit("actions/checkout", "v4.1.3") == ""


async def test_a_former_name_leads_to_the_present_one(scene, action, releases):
    await action.release("v4.1.3")
    await scene.server.rename_repository(action.repository, "check-out")

    assert (await releases.find("actions/checkout")).name == "actions/check-out"


async def test_what_the_app_cannot_see_is_not_there(scene, action, releases):
    await action.release("v4.1.3")
    action.repository.private = True

    assert await releases.find("actions/checkout") is None
    assert await releases.find("actions/nothing") is None
    assert await releases.find_commit("actions/checkout", "v4.1.3") == ""


async def test_whether_a_ref_goes_on_from_a_commit(action, releases):
    old, fix = await action.release("v4.1.2"), await action.release("v4.1.3")
    await action.git.update_ref("refs/heads/release/v4", fix)
    head = await action.release("v5.0.0")

    async def holds(ref):
        return await releases.holds("actions/checkout", fix, ref)

    assert [await holds(each) for each in (fix, head, "main", "release/v4")] == [True] * 4
    assert [await holds(each) for each in (old, "v4.1.2", "nothing")] == [False] * 3


async def test_the_day_of_a_release(action, releases):
    action.repository.releases["v4.1.3"] = datetime(2026, 11, 1, 23, tzinfo=UTC)

    assert await releases.find_day("actions/checkout", "v4.1.3") == date(2026, 11, 1)
    assert await releases.find_day("actions/checkout", "v4.1.2") is None


async def test_endless_tags_are_refused_in_words(action, releases, monkeypatch):
    monkeypatch.setattr(action_releases, "PAGES", 1)
    commit = await action.release("v1.0.0")
    for number in range(100):
        await action.git.update_ref(f"refs/tags/v2.0.{number}", commit)

    with pytest.raises(RunError, match="has more tags than Fettle reads"):
        await releases.find("actions/checkout")


class Granted:
    """A GitHub of which nothing is known but what owners have granted."""

    def __init__(self, permissions):
        self.installed, self._permissions = self, permissions

    async def permit(self, installation_id, repository_ids):
        return Permit(installation_id, permissions=self._permissions)


@pytest.mark.parametrize(
    ("held", "may"),
    [
        (None, True),  # nobody knows yet: GitHub says it with the push
        ({"contents": "write"}, False),
        ({"workflows": "read"}, False),
        ({"workflows": "write"}, True),
    ],
)
async def test_whether_the_owners_let_the_app_change_workflows(held, may):
    releases = GitHubActionReleases(Granted(held), build_remediate_alert())
    assert await releases.may_change_workflows() is may


async def test_what_releases_say_is_read_as_far_as_github_lets_it_be(scene, action, releases):
    days, notes = action.repository.releases, action.repository.release_notes
    told = {"v4.1.2": "Older.", "v4.1.3": "Mend.", "v4.2.0": " ", "v4.3.0": "x" * 9}
    for tag, said in told.items():
        await action.release(tag)
        days[tag], notes[tag] = datetime(2026, 11, 1, tzinfo=UTC), said
    await action.release("v4.1.4")  # a tag without a release
    notes["v4.3.0"] *= action_releases.NOTES_LIMIT

    tags = ("v4.3.0", "v4.2.0", "v4.1.4", "v4.1.3")
    found = await releases.read_notes("actions/checkout", tags)

    assert found == {"v4.3.0": "x" * action_releases.NOTES_LIMIT, "v4.1.3": "Mend."}


@pytest.mark.parametrize("refused", [NotPermitted("no"), TransientError("later"), NotFound("gone")])
async def test_where_github_refuses_notes_nothing_is_said(releases, refused):
    asked = []

    class Refusing:
        async def getitem(self, url, variables):
            asked.append(variables["tag"])
            raise refused

    async def client():
        return Refusing()

    releases._client = client
    assert await releases.read_notes("actions/checkout", ("v3.0.0", "v2.0.0")) == {}
    assert len(asked) == (2 if isinstance(refused, NotFound) else 1)
