"""Commits that GitHub signs, from the label to the pull request and its review."""

from __future__ import annotations

import json

import pytest

from agents.errors import ConfigError
from app.simulator.github.gitdir import GitDir
from tests.fakes.commit_key import EMAIL, make_commit_key
from tests.flows.conftest import SCRIPT, write_policy
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

SIGNING = write_policy("commits: {signing: github}")
NONE = write_policy("commits: {signing: none}")
PUSH = "git-receive-pack"


async def commits_of(place, pull):
    git = GitDir(place.repository.gitdir)
    return await git.commits(f"{pull.base_sha}..{pull.head_sha}")


async def see_that_all_is_signed(place, pull, rest_referee):
    """See what a repository got that demands signed commits: test_judging.py has a run in one."""
    made = await commits_of(place, pull)
    assert len(made) == 2
    assert place.repository.signed.issuperset(each.sha for each in made)
    assert all("Co-authored-by: mara" in each.message for each in made)
    assert pull.head_sha[:10] in pull.issue.body, "what it names is what stands there"
    refs = await GitDir(place.repository.gitdir).refs("refs/")
    assert not [ref for ref in refs if ref.startswith("refs/fettle/")]
    called = [each for each in place.github.requests if each.path.startswith("/api/v3/")]
    assert rest_referee.problems(called) == []


async def test_where_github_signs_nothing_the_operators_key_does(share_place, tmp_path):
    key, allowed = make_commit_key(tmp_path)
    given = {"FETTLE_COMMIT_KEY_FILE": str(key), "FETTLE_COMMITTER": f"Fettle Keys <{EMAIL}>"}
    async with share_place(**given) as place:
        place.repository.requires_signatures, place.repository.signs = True, False
        place.repository.signing_keys.append(allowed)
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        made = await commits_of(place, pull)
        assert len(made) == 1
        assert place.repository.signed.issuperset(each.sha for each in made)
        assert {each.committer.email for each in made} == {EMAIL}
        assert not {each.author.email for each in made} & {EMAIL}, "who made them stays Fettle"
        secret = key.read_text().splitlines()[1]
        told = [pull.issue.body, *place.comments(), place.server.log.read_text()]
        assert not [text for text in told if secret in text or str(key) in text]


async def test_a_key_that_cannot_sign_stops_the_server_before_any_run(share_place, tmp_path):
    key, _ = make_commit_key(tmp_path, passphrase="a passphrase")
    given = {"FETTLE_COMMIT_KEY_FILE": str(key), "FETTLE_COMMITTER": f"Fettle Keys <{EMAIL}>"}
    with pytest.raises(ConfigError, match="has to be an OpenSSH private key without"):
        async with share_place(**given):
            pass


async def test_who_wants_no_signatures_is_told_why_nothing_was_pushed(share_place):
    async with share_place(NONE) as place:
        place.repository.requires_signatures = True
        await place.label()
        outcome = await place.ends("failed")

        assert "it takes signed commits only" in outcome.text
        assert "`commits: {signing: github}`" in outcome.text
        assert not place.pulls()


CUTS = {
    "set aside": PUSH,
    "one is signed": r"/git/commits$",
    "all are": PUSH,
    "pushed": PUSH,
}
"""The moments of a run, in the order in which it comes to them."""


async def test_power_cuts_leave_nothing_double_and_nothing_half(share_place):
    async with share_place(SIGNING, script=SCRIPT) as place:
        cuts = []

        async def cut_power(_request):
            cuts.append(await place.server.kill())

        for number, path in enumerate(CUTS.values(), 1):
            place.github.faults.call_after("POST", path, cut_power, times=1)
            await (place.server.start(place.app) if cuts else place.label())
            await place.wait_until(lambda number=number: len(cuts) == number)
        await place.server.start(place.app)
        await place.ends("pull_request")

        [pull] = place.pulls()
        made = await commits_of(place, pull)
        assert [each.title for each in reversed(made)] == [
            "Step 1/2: Add without one too many",
            "Step 2/2: Test the sum",
        ]
        assert place.repository.signed.issuperset(each.sha for each in made)
        refs = await GitDir(place.repository.gitdir).refs("refs/")
        assert not [ref for ref in refs if ref.startswith("refs/fettle/")]
        [statement] = [ref for ref in refs if ref == "refs/notes/fettle"]
        noted = await GitDir(place.repository.gitdir).text(
            "ls-tree", "-r", "--name-only", statement
        )
        assert pull.head_sha in noted.replace("/", "")
        asked = [each for each in place.github.requests if each.path.endswith("/git/commits")]
        assert all("author" not in json.loads(each.body) for each in asked)
