"""Failing checks that cost no token: told without a model, or left alone."""

import pytest

from agents.errors import RunError
from agents.ports import Batch
from tests.agents.pipelines.checks.conftest import BRANCH, check


async def test_where_the_base_is_red_too_no_token_is_spent(scene):
    place = scene()
    place.fails(check(), base=(check(),))

    outcome = await place.run()

    assert outcome.kind == "comment"
    assert not place.world.model.asked
    assert "nothing: it has to be mended there" in place.comment
    assert place.world.reviewing.dealt == [Batch(kind="checks", head=place.head)]


async def test_after_two_times_in_a_row_a_person_has_to_look_and_is_told_once(scene):
    place = scene()
    pushes = [("aaa", "bbb"), ("bbb", place.head)]
    batches = [Batch(kind="checks", head=head, pushed=pushed) for head, pushed in pushes]
    place.world.reviewing.earlier = batches

    outcome = await place.run()

    assert outcome.kind == "comment"
    assert "Fettle stops here" in place.comment
    assert "two times in a row" in place.comment
    assert not place.world.model.asked

    again = scene()
    again.world.reviewing.earlier = [*batches, *place.world.reviewing.dealt]
    assert (await again.run()).kind == "covered"
    assert again.silent


@pytest.mark.parametrize(
    "more",
    [
        {"policy": "checks: {fix: false}\n"},
        {"policy": "quality: []\n"},
        {"policy": "checks: {fix: perhaps}\n"},
        {"pull": {"state": "merged"}},
        {"pull": {"why_not": "It is protected."}},
        {"pull": {"pushed_by_us": False}},
        {"checking": None},
    ],
)
async def test_what_is_not_fettles_to_mend_is_left_alone(scene, talk, more):
    blind = more.pop("checking", 0) is None
    place = scene(**more)
    if blind:
        place.world.checking = None

    assert (await place.run()).kind == "covered"
    assert place.silent
    assert not place.world.reviewing.dealt


async def test_a_head_that_moved_is_left_alone(scene):
    place = scene()
    place.world.source.branches[BRANCH] = place.commit(place.head, {"a": "b"})

    assert (await place.run()).kind == "covered"
    assert place.silent


async def test_each_commit_is_dealt_with_once(scene):
    place = scene()
    place.world.reviewing.earlier = [Batch(kind="checks", head=place.head)]

    assert (await place.run()).kind == "covered"
    assert place.silent


async def test_who_asks_for_it_once_more_gets_it(scene, acts):
    place = scene(acts.mend())
    place.world.reviewing.earlier = [Batch(kind="checks", head=place.head)]
    place.request = place.request.model_copy(update={"via": "command"})

    await place.run()

    assert place.pushed


async def test_what_an_earlier_run_remembers_to_have_pushed_is_ours(scene, acts):
    place = scene(acts.mend(), pull={"pushed_by_us": False})
    place.world.reviewing.earlier = [Batch(kind="reviews", head="aaa", pushed=place.head)]

    await place.run()

    assert place.pushed


async def test_a_try_that_comes_to_no_end_counts_as_well(scene):
    place = scene([RunError("The budget is used up.")])

    outcome = await place.run()

    assert outcome.kind == "failed"
    assert place.world.reviewing.dealt == [Batch(kind="checks", head=place.head)]


@pytest.mark.parametrize("ended", ["success", "cancelled"])
async def test_what_says_nothing_is_not_talked_about(scene, ended):
    place = scene()
    place.fails(check(ended=ended))

    assert (await place.run()).kind == "covered"
    assert place.silent
