"""From GitHub's signed alert about an action to a pull request, or to what people can write."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest

from app.github.transport import OPTIONAL
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.alerts import Affected
from tests.flows.conftest import ForkedServer
from tests.flows.remediate.remedied import ASKED, Remedied

CI, RELEASE = ".github/workflows/ci.yml", ".github/workflows/release.yml"
CHECKOUT = Affected("actions", "actions/checkout", "< 4.1.3", "4.1.3")
POLICY = "quality: [{name: tests, run: 'true'}]\nsetup: {run: []}\n"
WHO = {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com"}
TEXT = """\
# uses: actions/checkout@v4.1.2
on: [push]
jobs:
  test:
    steps:
      - uses: actions/checkout@v4.1.2\r
      - uses: "actions/checkout@{old}" # v4.1.2
      - uses: actions/cache@v4.1.2
      - run: |
          - uses: actions/checkout@v4.1.2
"""


class Actions(Remedied):
    """A repository whose workflows use an action of another, public one."""

    async def set_up(self):
        owner = self.github.create_organization("actions")
        action = await self.github.create_repository(owner, "checkout", private=False)
        self.commits = {}
        for tag in ("v4.1.2", "v4.1.3", "v4.2.0"):
            self.commits[tag] = await self.github.commit(
                action, {"action.yml": f"name: {tag}\n"}, author=owner, message=tag
            )
            await GitDir(action.gitdir).run("tag", "-a", "-m", tag, tag, "HEAD", extra=WHO)
        self.text = TEXT.format(old=self.commits["v4.1.2"])
        files = {CI: self.text, ".github/fettle.yml": POLICY}
        await self.github.commit(
            self.repository, files, author=self.place.people["mara"], message="CI"
        )
        return self

    async def permit(self):
        """Have the owners grant what the manifest does not ask for."""
        rights = ASKED["default_permissions"] | OPTIONAL
        self.github.ask_permissions(self.place.app.app_id, rights, ASKED["default_events"])
        [installation] = self.github.world.installations.values()
        await self.github.accept_permissions(installation)


@pytest.fixture
def actions(make_place):
    @asynccontextmanager
    async def make():
        async with make_place(kind=ForkedServer) as place:
            yield await Actions(place, None).set_up()

    return make


async def test_an_alert_about_an_action_becomes_a_pull_request_that_moves_its_refs(actions):
    """Where the owners have not granted that yet, they are told what to write."""
    async with actions() as at:
        await at.raise_alert(CHECKOUT, manifest=CI)
        [outcome] = await at.ends("failed")

        said = f"`{CI}:6` has to use `actions/checkout` at `v4.1.3`"
        pinned = f"`{CI}:7` has to use `actions/checkout` at `{at.commits['v4.1.3']}`"
        assert f"- {said}; {pinned}. Fettle did not write that" in outcome.report
        assert "adds the permission `Workflows: Read and write`" in outcome.report
        assert at.results([outcome]) == ["infra_error"]
        assert (at.place.pulls(), at.pushes()) == ([], 0)
        assert at.place.model.requests == [], "no model is asked to change workflows"

        await at.permit()
        await _move_refs(at)


async def _move_refs(at):
    alert = await at.raise_alert(CHECKOUT, manifest=CI)
    _, outcome = await at.ends("failed", "pull_request")

    [pull] = at.place.pulls()
    after = await GitDir(at.repository.gitdir).run("show", f"{pull.head_sha}:{CI}")
    expected = at.text.replace("checkout@v4.1.2\r", "checkout@v4.1.3\r")
    expected = expected.replace(
        f'{at.commits["v4.1.2"]}" # v4.1.2', f'{at.commits["v4.1.3"]}" # v4.1.3'
    )
    assert after.decode() == expected
    assert pull.issue.title == "Update actions/checkout from 4.1.2 to 4.1.3"
    for line in (
        "| `actions/checkout` | `4.1.2` | `4.1.3` | patch |",
        "- GitHub has each new ref at the commit of its release",
        "Workflows or actions of the repository run it.",
        "It cost nothing.",
        f"/security/dependabot/{alert.number})",
    ):
        assert line in pull.issue.body, pull.issue.body
    assert not pull.draft
    assert at.results([outcome]) == ["fixed"]
    assert at.place.model.requests == []
    assert ("workflows", "write") in at.github.tokens.used
    sent = [each for each in at.github.requests if each.path.endswith("/access_tokens")]
    asking = [json.loads(each.body)["permissions"] for each in sent if each.body]
    assert {"contents": "write", "workflows": "write"} in asking
    assert not [each for each in asking if "workflows" in each and len(each) > 2]
