"""The policy as GitHub has it: the repository's own, its owner's, none; and what is refused."""

from __future__ import annotations

import json

import pytest

from agents.errors import TransientError
from agents.policy import InvalidPolicy, MissingPolicy, ValidPolicy
from app.github.policy.file import read_policy
from app.simulator.github.gitdir import GitDir

FILE = ".github/fettle.yml"


class ScenePolicyReader:
    """Reads the policy of a scene's repository."""

    def __init__(self, scene):
        self.scene = scene

    async def commit(self, text, *, repository=None, path=FILE, branch=None):
        repository = repository or self.scene.repository
        ada = self.scene.people["ada"]
        await self.scene.server.commit(
            repository, {path: text}, author=ada, message="x", branch=branch
        )

    async def link(self, mode, path=FILE):
        """Put something else than a file there."""
        git = GitDir(self.scene.repository.gitdir)
        head = (await git.refs())["refs/heads/main"]
        await git.run("read-tree", head)
        blob = (await git.run("hash-object", "-w", "--stdin", stdin=b"../policy.yml")).decode()
        oid = head if mode == "160000" else blob.strip()
        await git.run("update-index", "--add", "--cacheinfo", f"{mode},{oid},{path}")
        tree = (await git.run("write-tree")).decode().strip()
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        made = await git.run(*who, "commit-tree", tree, "-p", head, "-m", "x")
        await git.update_ref("refs/heads/main", made.decode().strip())

    async def owners(self, *, private=False, installed=True):
        """Make the owner's repository `.github`."""
        server, ada = self.scene.server, self.scene.people["ada"]
        made = await server.create_repository(ada, ".github", private=private)
        if installed:
            await server.add_repositories(self.scene.installation, [made])
        return made

    async def read(self):
        request = self.scene.request
        return await read_policy(self.scene.github, request.installation_id, request.repository)


@pytest.fixture
def found(scene):
    return ScenePolicyReader(scene)


async def test_one_passing_404_takes_no_policy_away(found):
    """All that it forbids would be allowed to the run that begins then."""
    await found.commit("budget: {turns: 2}\n")
    found.scene.server.faults.status("GET", r"/contents/\.github$", 404)
    with pytest.raises(TransientError):
        await found.read()
    assert (await found.read()).policy.budget.turns == 2


async def test_the_default_branch_counts_and_no_other(found):
    await found.commit("budget: {usd: 1}\n", branch="wish")
    assert isinstance(await found.read(), MissingPolicy)

    await found.commit("budget: {usd: 2}\n")
    read = await found.read()
    assert isinstance(read, ValidPolicy)
    assert (read.policy.budget.usd, read.origin.owners) == (2, False)
    assert read.given.policy() == read.policy


async def test_what_is_wrong_is_kept_apart_from_what_is_missing(found):
    await found.commit("budget:\n  usd: 0\n")
    read = await found.read()
    assert isinstance(read, InvalidPolicy)
    assert [(each.line, each.column) for each in read.faults] == [(2, 8)]
    assert read.origin.url == f"{found.scene.server.url}/ada/parse/blob/main/{FILE}"


async def test_the_owners_repository_counts_where_this_one_says_nothing(found):
    owners = await found.owners()
    assert isinstance(await found.read(), MissingPolicy)

    await found.commit("budget: {usd: 3}\n", repository=owners)
    read = await found.read()
    assert (read.policy.budget.usd, read.origin.owners) == (3, True)
    assert read.origin.repository == "ada/.github"

    await found.commit("web: {hosts: [a.example]}\n")
    assert (await found.read()).policy.budget.usd == 5


async def test_an_owners_policy_that_is_wrong_is_not_passed_over(found):
    await found.commit("nonsense\n", repository=await found.owners())
    read = await found.read()
    assert isinstance(read, InvalidPolicy)
    assert (read.origin.owners, read.origin.secret) == (True, False)


async def test_what_stands_in_a_private_repository_is_marked_as_secret(found):
    await found.commit("nonsense\n", repository=await found.owners(private=True))
    assert (await found.read()).origin.secret


async def test_without_the_app_on_it_the_owners_repository_is_not_read(found):
    await found.commit("nonsense\n", repository=await found.owners(installed=False))
    assert isinstance(await found.read(), MissingPolicy)


async def test_an_owners_repository_that_is_not_there_is_asked_for_once_in_a_while(found, scene):
    def count_asked():
        bodies = [json.loads(each.body) for each in scene.calls("POST", "/access_tokens")]
        return sum(".github" in each.get("repositories", ()) for each in bodies)

    assert [await found.read() for _ in range(3)] == [MissingPolicy()] * 3
    assert count_asked() == 1

    await found.commit("budget: {usd: 3}\n", repository=await found.owners())
    assert isinstance(await found.read(), MissingPolicy)
    scene.github.broker.look_again(scene.installation.id)  # a delivery tells of it
    assert (await found.read()).policy.budget.usd == 3
    assert count_asked() == 2


async def test_the_token_for_the_owners_repository_reads_that_one_and_no_more(found):
    await found.commit("budget: {usd: 3}\n", repository=await found.owners())
    await found.read()
    minted = json.loads(found.scene.calls("POST", "/access_tokens")[-1].body)
    assert minted["repositories"] == [".github"]
    assert set(minted["permissions"].items()) == {("contents", "read"), ("metadata", "read")}


@pytest.mark.parametrize("name", ["fettle.yaml", "Fettle.yml", "FETTLE.YAML"])
@pytest.mark.parametrize("besides", [True, False])
async def test_a_name_that_is_nearly_right_is_refused(found, name, besides):
    if besides:
        await found.commit("budget: {usd: 3}\n")
    await found.commit("deny: [{tool: bash}]\n", path=f".github/{name}")
    read = await found.read()
    assert isinstance(read, InvalidPolicy)
    assert f"not `.github/{name}`" in read.faults[0].text


@pytest.mark.parametrize(("mode", "what"), [("120000", "symbolic link"), ("160000", "submodule")])
async def test_what_is_no_file_is_refused(found, mode, what):
    await found.commit("budget: {usd: 1000}\n", path="policy.yml")
    await found.link(mode)
    read = await found.read()
    assert isinstance(read, InvalidPolicy)
    assert what in read.faults[0].text


async def test_a_folder_and_a_file_of_a_megabyte_are_refused_unread(found):
    await found.commit("x", path=f"{FILE}/a")
    assert "is a folder" in (await found.read()).faults[0].text

    await found.commit(None, path=f"{FILE}/a")
    await found.commit("#" * 1_100_000)
    assert "it has 1100000 bytes" in (await found.read()).faults[0].text
