"""The update pipeline on fakes: what is merged, what is checked, what others push meanwhile."""

import re

import pytest

from agents.pipelines.registry import PIPELINES
from agents.ports import Batch
from agents.requests import UpdateBranch
from tests.agents.pipelines.update.conftest import BRANCH, OURS, THEIRS


async def test_what_does_not_contradict_is_merged_without_a_model(scene, request_):
    place = scene()
    mine, yours = place.stand({"new.py": "mine"}, {"ui.py": "theirs"})

    outcome = await place.world.resolve(request_)

    merged = place.world.publisher.pushed[BRANCH]
    tree, parent, message = place.history.commits[merged]
    assert (parent, place.history.merges[merged]) == (mine, yours)
    assert place.files(tree) == {**place.files(mine), "ui.py": "theirs"}
    assert message.startswith(f"Merge `main` into `{BRANCH}`\n")
    assert "Fettle-Run: 0006-run" in message
    assert "Co-authored-by: mara" in message
    assert outcome.kind == "comment"
    comment = place.world.publisher.comments["update"]
    assert f"Merged `main` at {yours[:10]}" in comment
    assert "| `unit` | passed | passed | passed |" in comment
    assert place.world.reviewing.dealt == [Batch(kind="update", head=mine, pushed=merged)]
    assert not place.world.model.asked


async def test_a_merge_that_no_check_could_verify_says_so(scene, request_):
    place = scene(commands={"check": (5, "no tests ran in 0.01s")})
    place.stand({"new.py": "mine"}, {"ui.py": "theirs"})

    outcome = await place.world.resolve(request_)

    assert BRANCH in place.world.publisher.pushed
    assert not outcome.ready
    why = "before the change, it failed and ran no test (`no tests ran in 0.01s`)"
    assert f"Not verified: `unit`: {why}." in outcome.text
    assert "**Not verified:**" in place.world.publisher.comments["update"]


async def test_nothing_to_merge_is_said(scene, request_):
    place = scene()
    place.stand({"new.py": "mine"}, {})

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert "nothing to merge" in place.world.publisher.comments["update"]
    assert not place.world.publisher.pushed


async def test_the_checks_of_a_merge_run_with_what_the_merge_needs(scene, request_):
    place = scene()
    place.stand({"new.py": "mine"}, {"ui.py": "theirs"})

    await place.world.resolve(request_)

    assert place.world.source.bases[-1] == place.world.publisher.pushed[BRANCH]


async def test_what_the_base_brings_to_protected_paths_goes_in_as_it_stands_there(scene, request_):
    place = scene()
    place.stand({"new.py": "mine"}, {"AGENTS.md": "Be kind.", "ui.py": "theirs"})

    await place.world.resolve(request_)

    [permitted] = [each for tree in place.world.source.opened for each in tree.permitted]
    assert permitted == {"AGENTS.md": "Be kind.", "ui.py": "theirs"}


@pytest.mark.parametrize(
    ("pull", "said"),
    [
        ({"why_not": "The fork does not let maintainers push.", "foreign": True}, "Update branch"),
        ({"base": "gone"}, "`gone` that this pull request wants to go to is gone"),
    ],
)
async def test_where_it_cannot_be_done_people_learn_what_they_can_do(scene, request_, pull, said):
    place = scene(pull=pull)
    mine, _ = place.stand({"new.py": "mine"}, {"ui.py": "theirs"})
    place.world.source.pulls[31] = mine

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert said in place.world.publisher.comments["update"]
    assert pull.get("why_not", "") in place.world.publisher.comments["update"]
    assert not place.world.publisher.pushed


async def test_a_pull_request_that_was_closed_before_is_left_alone(scene, request_):
    place = scene(pull={"state": "merged"})
    place.stand({"new.py": "mine"}, {"ui.py": "theirs"})

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "failed"
    assert "was merged before the work began" in outcome.text


def fails_where(*words):
    """Return a check that fails on files that hold all of these words."""
    return lambda files: (1, "1 failed") if all(w in str(files) for w in words) else (0, "ok")


async def test_what_the_merge_alone_breaks_is_mended(scene, acts, request_):
    answers = [acts.write("ui.py", "fits"), acts.submit((), besides=("ui.py",))]
    place = scene(answers, commands={"check": fails_where("MINE", "YOURS")})
    place.stand({"new.py": "MINE"}, {"ui.py": "YOURS"})

    await place.world.resolve(request_)

    head = place.world.publisher.pushed[BRANCH]
    assert place.files(head)["ui.py"] == "fits"
    assert place.history.commits[head][2].startswith("Make it work with what `main` brings\n")
    assert "1 failed" in place.world.model.asked[0]["messages"]
    assert "No file is in conflict" in place.world.model.asked[0]["messages"]


@pytest.mark.parametrize("word", ["MINE", "YOURS"])
async def test_what_failed_on_either_side_before_is_not_held_against_it(scene, request_, word):
    place = scene(commands={"check": fails_where(word)})
    place.stand({"new.py": "MINE"}, {"ui.py": "YOURS"})

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert BRANCH in place.world.publisher.pushed
    assert not place.world.model.asked


async def test_what_stays_worse_is_kept_back(scene, acts, request_):
    answers = [acts.write("ui.py", "YOURS again"), acts.submit((), besides=("ui.py",))]
    answers += [[acts.use("submit_fix", summary=f"I do not see why, {n}.")] for n in range(3)]
    place = scene(answers, commands={"check": fails_where("MINE", "YOURS")})
    mine, _ = place.stand({"new.py": "MINE"}, {"ui.py": "YOURS"})

    outcome = await place.world.resolve(request_)

    [(branch, kept)] = place.world.publisher.pushed.items()
    assert re.fullmatch(r"bot/31-unfinished-[0-9a-f]{6}", branch)
    assert place.files(kept)["ui.py"] == "YOURS again"
    assert outcome.kind == "failed"
    comment = place.world.publisher.comments["update"]
    assert "These checks of the repository fail now that passed before: `unit`." in comment
    assert "| `unit` | passed | passed | failed (exit 1) |" in comment
    assert place.world.reviewing.dealt == [Batch(kind="update", head=mine, kept_back=True)]


async def test_what_somebody_pushed_meanwhile_comes_first(scene, acts, request_):
    place = scene()
    mine, yours = place.stand({"new.py": "mine"}, {"ui.py": "theirs"})
    theirs = place.commit(mine, {"hand.py": "by hand"}, "By hand")
    check = act_at(lambda: place.world.source.branches.update({BRANCH: theirs}), at=3)
    place.world.commands["check"] = check

    outcome = await place.world.resolve(request_)

    head = place.world.publisher.pushed[BRANCH]
    assert place.history.commits[head][1] == theirs
    assert place.history.merges[head] == yours
    assert place.history.commits[head][2].startswith("Merge `main` into")
    assert place.files(head) == {**place.files(theirs), "ui.py": "theirs"}
    assert len(await place.world.source.commits(theirs, head)) == 2, "the merge and its one commit"
    assert "made anew on top of theirs" in place.world.publisher.comments["update"]
    assert outcome.kind == "comment"


async def test_what_contradicts_what_was_pushed_meanwhile_is_left_to_people(scene, acts, request_):
    place = scene(acts.settle())
    mine, _ = place.stand({"lib.py": OURS}, {"lib.py": THEIRS})
    theirs = place.commit(mine, {"lib.py": "by hand"}, "By hand")
    check = act_at(lambda: place.world.source.branches.update({BRANCH: theirs}), at=3)
    place.world.commands["check"] = check

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "failed"
    assert BRANCH not in place.world.publisher.pushed
    assert "Theirs was left alone" in place.world.publisher.comments["update"]


async def test_a_pull_request_that_is_closed_meanwhile_ends_it(scene, request_):
    place = scene()
    place.stand({"new.py": "mine"}, {"ui.py": "theirs"})

    def close():
        reviewing = place.world.reviewing
        reviewing.is_now = reviewing.is_now.model_copy(update={"state": "closed"})

    place.world.commands["check"] = act_at(close, at=3)

    outcome = await place.world.resolve(request_)

    assert "was closed while Fettle was at work" in outcome.text
    assert not place.world.publisher.pushed, "git's own merge is nothing to keep"


def act_at(act, *, at):
    """Return a check that passes, and does something when it runs for the `at`th time."""
    runs = []

    def check(files):
        runs.append(1)
        if len(runs) == at:
            act()
        return 0, "ok"

    return check


def test_it_is_registered():
    assert PIPELINES[UpdateBranch].function.__name__ == "update"


def test_whoever_settled_it_mends_it_as_well():
    resumed = {each.name: each.resumes for each in PIPELINES[UpdateBranch].conversations}

    mending = {"quality_fix": "implement", "put_back": "implement"}
    assert resumed == {"second_look": None, "implement": None, **mending}
