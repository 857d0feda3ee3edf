"""Several packages of one lock file: one pull request, and a newer one in its place."""

from __future__ import annotations

from sqlalchemy import select

from app.demo.package_index.releases import package_lock
from app.store.tables import remediations
from tests.flows.keeping import ONE_LOOP
from tests.flows.remediate.remedied import (
    OLD,
    PAINTER,
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

BOTH = {
    **SHOP,
    **package_lock(
        "shop",
        {"settings": "^2.0.0", "painter": "^1.0.0"},
        [OLD, SETTINGS, painter("1.0.0", RENDERS)],
    ),
}
PLAIN = BOTH | {".github/fettle.yml": "quality: []\nsetup: {run: []}\n"}
"""Where only the fix itself counts."""
FIXED = package_lock(
    "shop",
    {"settings": "^2.0.0", "painter": "^1.0.0"},
    [merger("1.0.1"), SETTINGS, painter("1.1.0")],
)["package-lock.json"]


async def test_alerts_about_two_packages_become_one_pull_request_through_two_kills(remedied):
    async with remedied(PLAIN) as at:
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


async def test_what_comes_later_makes_the_open_pull_request_anew(remedied):
    async with remedied(PLAIN) as at:
        await at.raise_alert()
        await at.ends("pull_request")
        await at.raise_alert(PAINTER, relationship="direct")
        await at.ends("pull_request", "pull_request")

        [pull] = at.place.pulls()
        assert pull.issue.title.startswith("Update painter from 1.0.0 to 1.1.0 and deepmerger")
        assert await at.place.show(pull.head, "package-lock.json") == FIXED
        [comment] = pull.issue.comments
        assert "\nMade anew on `main` as of " in comment.body
        kept = await at.read(select(remediations).order_by(remediations.c.ended_at))
        assert [(row.state, row.open_alerts) for row in kept] == [
            ("over", "[]"),
            ("open", "[1, 2]"),
        ]


async def test_what_people_pushed_on_it_stays_and_once_merged_the_next_fix_is_made_anew(remedied):
    policy = "quality: [{name: tests, run: test -f package.json}]\nsetup: {run: []}\n"
    async with remedied(PLAIN | {".github/fettle.yml": policy}) as at:  # without a check: drafts
        await at.raise_alert()
        await at.ends("pull_request")
        [first] = at.place.pulls()
        mara = at.place.people["mara"]
        theirs = await at.github.commit(
            at.place.repository,
            {"NOTES.md": "By hand.\n"},
            author=mara,
            message="Add notes",
            branch=first.head,
        )

        await at.raise_alert(PAINTER, relationship="direct")
        await at.wait_for_ends(2)

        _, second = at.place.pulls()
        assert first.head_sha == theirs
        assert first.issue.state == "open"
        assert second.issue.title == "Update painter from 1.0.0 to 1.1.0"
        assert "deepmerger is left out: another pull request is about it" in second.issue.body
        before = second.head_sha

        await at.github.merge_pull(first, mara)
        await at.wait_for_ends(3)

        assert second.head_sha != before
        assert await at.place.show(second.head, "package-lock.json") == FIXED
        assert len(at.place.pulls()) == 2
        assert at.place.model.requests == []
