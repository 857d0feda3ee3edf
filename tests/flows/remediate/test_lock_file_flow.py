"""Several packages of one lock file: one pull request, and a newer one in its place."""

from __future__ import annotations

from sqlalchemy import select

from app.demo.package_index.releases import package_lock
from app.store.tables import remediations
from tests.flows.remediate.remedied import (
    OLD,
    PAINTER,
    RENDERS,
    SETTINGS,
    SHOP,
    has_npm,
    merger,
    painter,
    remedied,
)

__all__ = ["remedied"]  # a fixture

pytestmark = has_npm

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


async def test_alerts_about_two_packages_become_one_pull_request_through_a_kill(remedied):
    async with remedied(PLAIN) as at:
        await at.raise_alert()
        await at.raise_alert(PAINTER, relationship="direct")
        await at.reaches("stage/fix/1")
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
        assert at.place.model.requests == []


async def test_what_comes_later_takes_the_place_of_an_open_pull_request(remedied):
    async with remedied(BOTH) as at:
        await at.raise_alert()
        await at.ends("pull_request")
        await at.raise_alert(PAINTER, relationship="direct")
        await at.ends("pull_request", "pull_request")

        earlier, later = at.place.pulls()
        assert (earlier.issue.state, later.issue.state) == ("closed", "open")
        assert await at.place.show(later.head, "package-lock.json") == FIXED
        [comment] = earlier.issue.comments
        assert f"\n#{later.issue.number} takes the place of this one: it moves" in comment.body
        assert f"Made instead of #{earlier.issue.number}." in later.issue.body
        kept = {row.number: row for row in await at.read(select(remediations))}
        assert (kept[earlier.issue.number].state, kept[earlier.issue.number].declined) == (
            "over",
            False,
        )
        assert kept[later.issue.number].open_alerts == "[1, 2]"
