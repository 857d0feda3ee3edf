"""Doing without an override: taken out, held against what was there, or put back with a reason."""

import json
from datetime import date

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Refusal, Unfit, do_without
from agents.requests import Overruled
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, MadeUpEcosystem, group

REASON = "GHSA-x: overrules other packages; look at it again by 2026-11-20"
MADE = Overruled(versions=(("3.1.3", "3.1.4"),), reason=REASON, until=date(2026, 11, 20))
RELEASES = {"jinja2": ["3.1.3", "3.1.4", "3.1.5"], "flask": ["3.0.3", "3.0.4"]}
STILL = {("flask", version): {"jinja2": ["3.1.3"]} for version in RELEASES["flask"]}
MENDED = {**STILL, ("flask", "3.0.4"): {"jinja2": ["3.1.4"]}}


def lay(tree, jinja2="3.1.4", **more):
    lock = {"versions": {"flask": "3.0.3", "jinja2": jinja2}, "over": {"jinja2": REASON}} | more
    tree.lay({"lock.json": json.dumps(lock), "wants.json": json.dumps({"flask": ["3.0.3"]})})


async def retire_override(tree, needs, back=None, **terms):
    def make_index(gone):
        return MadeUpEcosystem(RELEASES, needs, back={"jinja2": "3.1.3"} if back is None else back)

    about = group("jinja2", "< 3.1.4", manifests=["lock.json"])
    before = await tree.snapshot()
    result = await do_without(tree, make_index, about, TERMS.model_copy(update=terms), MADE)
    if isinstance(result, Refusal):
        assert await tree.snapshot() == before
    return result


async def read_lock(tree):
    return json.loads(await tree.read("lock.json"))


async def test_where_others_admit_the_fix_by_now_nothing_else_moves(tree):
    lay(tree)
    fix = await retire_override(tree, {("flask", "3.0.3"): {"jinja2": ["3.1.3", "3.1.4"]}})
    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.moves, fix.files) == (Level.FLOAT, (), ("lock.json",))
    assert await read_lock(tree) == {"versions": {"flask": "3.0.3", "jinja2": "3.1.4"}}


async def test_a_release_that_admits_the_fix_is_moved_to(tree):
    lay(tree)
    tree.lay({"wants.json": json.dumps({"flask": ["3.0.3", "3.0.4"]})})
    fix = await retire_override(tree, MENDED)
    assert isinstance(fix, Fix), fix
    assert (fix.level, [move.name for move in fix.moves]) == (Level.PARENT, ["flask"])
    assert fix.overruled is None
    assert (await read_lock(tree))["versions"] == {"flask": "3.0.4", "jinja2": "3.1.4"}


async def test_what_is_needed_still_stays_and_who_needs_it_is_said(tree):
    lay(tree)
    refusal = await retire_override(tree, STILL, overrides=True)
    assert isinstance(refusal, Refusal), refusal
    assert "Still needed: without it flask 3.0.3 asks for jinja2" in refusal.reason
    assert [step.level for step in refusal.steps] == [0, 1, 2, 3]  # never an override again


@pytest.mark.parametrize(("to", "stands"), [("3.1.4", True), ("3.1.3", False)])
async def test_the_package_may_go_back_to_what_is_safe_and_no_further(tree, to, stands):
    lay(tree, "3.1.5")
    needs = {("flask", version): {"jinja2": [to]} for version in RELEASES["flask"]}
    fix = await retire_override(tree, needs, {"jinja2": to})
    assert isinstance(fix, Fix) is stands, fix
    if stands:
        assert (await read_lock(tree))["versions"]["jinja2"] == "3.1.4"


async def test_nothing_else_may_go_back(tree):
    lay(tree, versions={"flask": "3.0.4", "jinja2": "3.1.4"})

    class Sly(MadeUpEcosystem):
        async def relock(self, tree, pins, free=()):
            lock = json.loads(await tree.read("lock.json"))
            lock["versions"]["flask"] = "3.0.3"
            await tree.write("lock.json", json.dumps(lock).encode())

    about = group("jinja2", "< 3.1.4", manifests=["lock.json"])
    result = await do_without(tree, lambda gone: Sly(RELEASES), about, TERMS, MADE)
    assert isinstance(result, Refusal)
    assert "back to an older version" in result.reason
    assert "over" in await read_lock(tree)


async def test_an_entry_of_people_is_left_alone(tree):
    lay(tree, over={"jinja2": "because we want it"})
    refusal = await retire_override(tree, MENDED)
    assert "somebody has changed the override" in refusal.reason


async def test_without_a_tool_nothing_is_said_of_the_need(tree):
    lay(tree)

    class Bare(MadeUpEcosystem):
        async def relock(self, tree, pins, free=()):
            raise Unfit("no_tool", "There is no npm.")

    about = group("jinja2", "< 3.1.4", manifests=["lock.json"])
    before = await tree.snapshot()
    refusal = await do_without(tree, lambda gone: Bare(RELEASES), about, TERMS, MADE)
    assert (refusal.cause, refusal.reason) == ("no_tool", "There is no npm.")
    assert await tree.snapshot() == before
