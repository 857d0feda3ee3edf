"""Overrides come of age: the day comes, and the override goes, or stays where it is needed."""

from __future__ import annotations

import asyncio
import json

from sqlalchemy import select, update

from app.demo.package_index.releases import Release, package_lock
from app.store.tables import deliveries, remediations, runs
from tests.flows.conftest import PATIENCE
from tests.flows.keeping import ONE_LOOP
from tests.flows.remediate.remedied import (
    OLD,
    SETTINGS,
    SHOP,
    has_npm,
    index,
    merger,
    remedied,
)
from tests.flows.remediate.test_remediate_flow import SUMS_UP, verifies
from tests.flows.scripted import usual

__all__ = ["index", "remedied"]  # fixtures

pytestmark = [has_npm, ONE_LOOP]

TEXT = SETTINGS.files
PINNED = Release("npm", "settings", "2.0.0", {"deepmerger": "1.0.0"}, TEXT)
ADMITS = Release("npm", "settings", "2.0.1", {"deepmerger": "^1.0.1"}, TEXT)
"""Its first release asks for the vulnerable one alone, its second for the safe one."""
POLICY = (
    "quality: [{name: tests, run: node test.js}]\n"
    "remediation: {overrides: true, override_days: 30}\n"
)
SHOP_PINNED = {
    **SHOP,
    **package_lock("shop", {"settings": "^2.0.0"}, [OLD, PINNED]),
    ".github/fettle.yml": POLICY,
}
OFTEN = {"FETTLE_SWEEP_SECONDS": "2"}
SCRIPT = usual(verifies(passed=True), SUMS_UP)


async def fix_by_override(at):
    """Have an alert mended by an override, through a kill, merge that, and see the alert closed."""
    alert = await at.raise_alert()
    [early] = await comes_to(at, lambda kept: kept[0].number)
    await at.place.server.kill()
    [pull] = at.place.pulls()
    assert (early.number, early.state) == (pull.issue.number, "open")
    await at.place.server.start(at.place.app)
    await at.ends("pull_request")
    assert at.place.pulls() == [pull]
    assert "expires, so that somebody looks whether it is still needed" in pull.issue.body
    [kept] = await comes_to(at, lambda kept: kept[0].state == "open")
    assert kept.override_until is not None
    await at.github.merge_pull(pull, at.place.people["mara"])
    await at.github.fix_alert(alert)
    kept = await comes_to(at, lambda kept: kept[0].state == "fixed")
    assert kept[0].override_until is not None
    return pull


async def comes_to(at, is_so):
    """Wait until what is remembered of runs about alerts is so; return it, oldest first."""
    async with asyncio.timeout(PATIENCE):
        while True:
            kept = await at.read(select(remediations).order_by(remediations.c.ended_at))
            if kept and is_so(kept):
                return kept
            await asyncio.sleep(0.1)


async def days_pass(at, day=1.0):
    """Have the day come, in unix seconds: one that came before is not looked at again."""
    first = at.place.model.requests[:]
    change = update(remediations).where(remediations.c.override_until.is_not(None))
    await at.place.database().write(lambda c: c.execute(change.values(override_until=day)))
    return len(first)


async def test_an_override_stays_while_it_is_needed_and_goes_once_a_release_admits_the_fix(
    remedied,
):
    releases = [OLD, merger("1.0.1"), PINNED]
    async with remedied(SHOP_PINNED, releases=releases, script=SCRIPT, **OFTEN) as at:
        first = await fix_by_override(at)
        with_it = json.loads(await at.place.show("main", "package.json"))
        assert with_it["overrides"] == {"deepmerger@>=1.0.0 <1.0.1": "^1.0.1"}
        await stays_without_a_word_or_a_token(at, first)
        at.index.releases.append(ADMITS)
        await days_pass(at, day=2.0)
        await comes_to(at, lambda kept: len(kept) == 3)
        _, _, third = await at.ends("pull_request", "covered", "pull_request")

        [pull] = [each for each in at.place.pulls() if each is not first]
        assert pull.issue.title == "Remove the override of deepmerger"
        assert "It is not needed any more: every copy is safe without it." in pull.issue.body
        moved = [line for line in pull.issue.body.splitlines() if line.startswith("| `")]
        assert any("`settings` | `2.0.0` | `2.0.1` | patch" in line for line in moved), moved
        after = await at.place.show(pull.head, "package.json")
        assert after == SHOP_PINNED["package.json"]
        assert await at.run_exploit(pull.head) == "polluted: undefined"
        assert at.results([third]) == ["fixed"]
        titles = await at.read(select(runs.c.request).order_by(runs.c.created_at))
        assert '"title":"Do without the override of deepmerger"' in titles[2].request

        await at.github.merge_pull(pull, at.place.people["mara"])
        kept = await comes_to(at, lambda kept: kept[2].state == "fixed")
        assert kept[0].override_until is None  # it is over
        assert at.questions() == []


async def stays_without_a_word_or_a_token(at, first):
    """Have the day come while no release admits the fix."""
    spent = await days_pass(at)
    await comes_to(at, lambda kept: len(kept) == 2)
    _, second = await at.ends("pull_request", "covered")

    assert second.text.startswith(
        "Still needed: without it settings 2.0.0 asks for deepmerger 1.0.0, which brings 1.0.0"
    )
    assert at.place.pulls() == [first]
    assert at.questions() == []
    assert len(at.place.model.requests) == spent
    [kept, _] = await comes_to(at, lambda kept: len(kept) == 2)
    [run] = await at.read(select(runs.c.updated_at).where(runs.c.id == kept.run_id))
    assert kept.override_until > run.updated_at + 29 * 86_400
    asked = await at.read(select(deliveries.c.id).where(deliveries.c.event == "fettle.schedule"))
    assert len(asked) == 1
