"""Tests that the merge alone loses need a yes; what either side took away is its own decision."""

from tests.agents.pipelines.update.conftest import BRANCH

TEST = "def test_one():\n    assert add(1, 1) == 2\n"
MORE = "\n\ndef test_mine():\n    assert add(2, 2) == 4\n"
OTHER = "\n\ndef test_theirs():\n    assert add(3, 3) == 6\n"


async def test_a_test_that_the_base_took_away_is_its_own_decision(scene, request_):
    place = scene(files={"test_lib.py": TEST}, approvals=None)
    place.stand({"new.py": "mine"}, {"test_lib.py": None})

    assert (await place.world.resolve(request_)).kind == "comment"
    assert BRANCH in place.world.publisher.pushed


async def test_a_test_of_either_side_that_the_merge_loses_needs_a_yes(scene, acts, request_):
    lost = [acts.write("test_lib.py", TEST + MORE), acts.submit(("test_lib.py",))]
    place = scene(lost, files={"test_lib.py": TEST}, approvals=None)
    place.stand({"test_lib.py": TEST + MORE}, {"test_lib.py": TEST + OTHER})

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "failed"
    assert BRANCH not in place.world.publisher.pushed
    assert "test_theirs" in place.world.publisher.comments["update"]
    assert "test_mine" not in place.world.publisher.comments["update"]


async def test_both_sides_tests_are_enough_also_where_one_side_took_one_away(scene, acts, request_):
    kept = [acts.write("test_lib.py", (MORE + OTHER).lstrip()), acts.submit(("test_lib.py",))]
    place = scene(kept, files={"test_lib.py": TEST}, approvals=None)
    place.stand({"test_lib.py": MORE.lstrip()}, {"test_lib.py": TEST + OTHER})

    assert (await place.world.resolve(request_)).kind == "comment"
    assert BRANCH in place.world.publisher.pushed


async def test_an_assertion_that_the_other_side_took_away_is_not_lost(scene, acts, request_):
    both = f"{TEST}    assert 'one' in registry.names()\n"
    settled = [acts.write("test_lib.py", TEST + MORE), acts.submit(("test_lib.py",))]
    place = scene(settled, files={"test_lib.py": both}, approvals=None)
    place.stand({"test_lib.py": both + MORE}, {"test_lib.py": TEST})

    assert (await place.world.resolve(request_)).kind == "comment"
    assert BRANCH in place.world.publisher.pushed


async def test_an_assertion_that_the_merge_alone_takes_away_needs_a_yes(scene, acts, request_):
    both = f"{TEST}    assert 'one' in registry.names()\n"
    lost = [acts.write("test_lib.py", TEST + MORE + OTHER), acts.submit(("test_lib.py",))]
    place = scene(lost, files={"test_lib.py": both}, approvals=None)
    place.stand({"test_lib.py": both + MORE}, {"test_lib.py": both + OTHER})

    assert (await place.world.resolve(request_)).kind == "failed"
    assert "registry.names()" in place.world.publisher.comments["update"]


async def test_a_no_has_the_test_put_back(scene, acts, talk, request_):
    whole = TEST + MORE + OTHER
    answers = [
        *(acts.write("test_lib.py", TEST + MORE), acts.submit(("test_lib.py",))),
        acts.write("test_lib.py", whole),
        [acts.use("submit_fix", summary="Their test is back.")],
    ]
    approvals = talk.Approvals(answers=[{"state": "denied", "decided_by": "mara"}])
    place = scene(answers, files={"test_lib.py": TEST}, approvals=approvals)
    place.stand({"test_lib.py": TEST + MORE}, {"test_lib.py": TEST + OTHER})

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert place.files(place.world.publisher.pushed[BRANCH])["test_lib.py"] == whole
