"""Several packages of one lock file: one pull request, and a newer one in its place."""

from __future__ import annotations

from sqlalchemy import select

from app.demo.package_index.releases import Release, package_lock
from app.simulator.github.state.alerts import Affected
from app.store.tables import remediations
from tests.flows.keeping import ONE_LOOP
from tests.flows.remediate.remedied import (
    OLD,
    PAINTER,
    RELEASES,
    RENDERS,
    SETTINGS,
    SHOP,
    has_npm,
    index,
    merger,
    painter,
    remedied,
)

__all__ = ["index", "remedied"]  # fixtures

pytestmark = [has_npm, ONE_LOOP]

FRAMES = [Release("npm", "frame", version, files=RENDERS) for version in ("1.0.0", "1.1.0")]
ASKS = {"settings": "^2.0.0", "painter": "^1.0.0", "frame": "^1.0.0"}
BOTH = {
    **SHOP,
    **package_lock("shop", ASKS, [OLD, SETTINGS, painter("1.0.0", RENDERS), FRAMES[0]]),
}
PLAIN = BOTH | {".github/fettle.yml": "quality: []\nsetup: {run: []}\n"}
"""Where only the fix itself counts."""
FIXED, ALL = (
    package_lock("shop", ASKS, [merger("1.0.1"), SETTINGS, painter("1.1.0"), frame])[
        "package-lock.json"
    ]
    for frame in FRAMES
)
FRAME = Affected("npm", "frame", "< 1.1.0", "1.1.0")
INDEX = [*RELEASES, *FRAMES]


async def test_alerts_about_two_packages_become_one_pull_request_through_two_kills(remedied):
    async with remedied(PLAIN, releases=INDEX) as at:
        await at.raise_alert()
        await at.raise_alert(PAINTER, relationship="direct")
        await at.reaches("stage/fix/1")
        at.index.asked.clear()
        await at.wait_for_request("npm/deepmerger")
        await at.place.kill_and_restart()
        at.index.asked.clear()
        await at.wait_for_request("npm/painter")  # the first one is committed by then
        await at.place.kill_and_restart()
        await at.wait_for_ends(2)

        assert {run.state for run in await at.runs()} == {"done", "covered"}
        [pull] = at.place.pulls()
        assert await at.place.show(pull.head, "package-lock.json") == FIXED
        assert [message for _, message in await at.place.commits(pull)] != []
        assert len(await at.place.commits(pull)) == 2
        [made] = [row for row in await at.read(select(remediations)) if row.number]
        assert made.number == pull.issue.number
        assert made.open_alerts == "[1, 2]"
        assert at.pushes() == 1
        assert len(await at.place.branches()) == 1
        assert at.place.model.requests == []


async def test_what_comes_later_makes_it_anew_and_what_people_pushed_stays_until_it_is_merged(
    remedied,
):
    policy = "quality: [{name: tests, run: test -f package.json}]\nsetup: {run: []}\n"
    files = PLAIN | {".github/fettle.yml": policy}  # without a check: drafts
    async with remedied(files, releases=INDEX) as at:
        await at.raise_alert()
        await at.ends("pull_request")
        await at.raise_alert(PAINTER, relationship="direct")
        await at.ends("pull_request", "pull_request")

        [first] = at.place.pulls()
        assert first.issue.title.startswith("Update painter from 1.0.0 to 1.1.0 and deepmerger")
        assert await at.place.show(first.head, "package-lock.json") == FIXED
        [comment] = first.issue.comments
        assert "\nMade anew on `main` as of " in comment.body
        kept = await at.read(select(remediations).order_by(remediations.c.ended_at))
        assert [(row.state, row.open_alerts) for row in kept] == [
            ("over", "[]"),
            ("open", "[1, 2]"),
        ]
        await _push_and_merge(at, first)


async def _push_and_merge(at, first):
    """Have people push on the pull request, and merge it once there is another beside it."""
    mara = at.place.people["mara"]
    theirs = await at.github.commit(
        at.place.repository,
        {"NOTES.md": "By hand.\n"},
        author=mara,
        message="Add notes",
        branch=first.head,
    )

    await at.raise_alert(FRAME, relationship="direct")
    await at.wait_for_ends(3)

    _, second = at.place.pulls()
    assert first.head_sha == theirs
    assert first.issue.state == "open"
    assert second.issue.title == "Update frame from 1.0.0 to 1.1.0"
    for name in ("deepmerger", "painter"):
        left = f"{name} is left out: another pull request is about it"
        assert left in second.issue.body, second.issue.body
    before = second.head_sha

    await at.github.merge_pull(first, mara)
    await at.wait_for_ends(4)

    assert second.head_sha != before
    assert await at.place.show(second.head, "package-lock.json") == ALL
    assert len(at.place.pulls()) == 2
    assert at.place.model.requests == []
