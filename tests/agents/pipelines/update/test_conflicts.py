"""Files in conflict: an engineer settles them, code checks the result, people hear of each."""

import json
import re

import pytest

from agents.ports import Feedback, Remark
from tests.agents.pipelines.update.conftest import BOTH, BRANCH, FILES, OURS, THEIRS


def last_message(world, number=-1):
    """Return what the model read last, when it was asked this time."""
    return json.dumps(json.loads(world.model.asked[number]["messages"])[-1])


def refusal(world, number=-1):
    [block] = json.loads(world.model.asked[number]["messages"])[-1]["content"]
    assert block["is_error"]
    return block["content"]


async def test_conflicts_are_settled_and_told_file_by_file(scene, acts, request_):
    place = scene(acts.settle())
    mine, yours = place.stand({"lib.py": OURS}, {"lib.py": THEIRS, "ui.py": "theirs"})

    outcome = await place.world.resolve(request_)

    merged = place.world.publisher.pushed[BRANCH]
    assert place.files(merged) == {**place.files(yours), "lib.py": BOTH}
    assert place.history.commits[merged][1] == mine
    assert place.history.merges[merged] == yours
    assert "Both sides wanted a line" in place.history.commits[merged][2]
    comment = place.world.publisher.comments["update"]
    assert "- `lib.py`: Both sides' lines are in it." in comment
    assert outcome.kind == "comment"


async def test_the_engineer_begins_with_the_marks_and_is_shown_both_sides(scene, acts, request_):
    seen = [acts.use("read", path="lib.py")]
    place = scene([seen, *acts.settle()])
    mine, yours = place.stand({"lib.py": OURS}, {"lib.py": THEIRS})

    await place.world.resolve(request_)

    prompt = json.loads(place.world.model.asked[0]["messages"])[0]["content"][0]["text"]
    for side in (mine, yours, place.fork):
        assert side[:12] in prompt
    assert "+OURS" in prompt
    assert "+THEIRS" in prompt
    assert "<<<<<<< " in last_message(place.world, 1)


async def test_a_secret_of_the_other_branch_is_not_held_against_the_engineer(scene, acts, request_):
    theirs = {"lib.py": THEIRS, "fixture.py": f"KEY = 'ghp_{'Ab3dEfGh1jKl' * 3}'\n"}
    place = scene(acts.settle())
    place.stand({"lib.py": OURS}, theirs)

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert "looks like a secret" not in json.dumps(place.world.model.asked)


async def test_what_writers_said_lately_is_read(scene, acts, request_):
    place = scene(acts.settle())
    place.stand({"lib.py": OURS}, {"lib.py": THEIRS})
    remark = Remark(
        id=5,
        author="mara",
        role="maintain",
        at="2026-01-01T00:00:00Z",
        body="Take both.",
        edited=False,
    )
    place.world.reviewing.feedback_ = Feedback(remarks=(remark,))

    await place.world.resolve(request_)

    assert "Take both." in place.world.model.asked[0]["messages"]


@pytest.mark.parametrize(
    ("first", "fault"),
    [
        (lambda a: [*a.submit()], "marks of the merge are left in: lib.py (1, 3, 5)"),
        (
            lambda a: [*a.write("lib.py", f"{BOTH}>>>>>>> rest"), *a.submit(())],
            "neither settled nor undecided: lib.py",
        ),
        (
            lambda a: [*a.write(), *a.submit(("lib.py", "ui.py"))],
            "Not one of the files in conflict: ui.py",
        ),
        (
            lambda a: [*a.write(), *a.write("ui.py", "new"), *a.submit()],
            "Changed, but not in `besides` (say why, or put them back): ui.py",
        ),
        (
            lambda a: [*a.write(), *a.submit(besides=("ui.py",))],
            "In `besides`, but as git merged them: ui.py",
        ),
        (
            lambda a: [*a.write(), *a.submit(("lib.py", "lib.py"))],
            "Named more than once: lib.py",
        ),
    ],
)
async def test_what_code_finds_wrong_is_sent_back(scene, acts, request_, first, fault):
    changes, submission = first(acts)[:-1], first(acts)[-1:]
    answers = [changes, submission] if changes else [submission]
    back = [acts.use("write", path="ui.py", content=FILES["ui.py"])]
    place = scene([*answers, back, *acts.settle()])
    place.stand({"lib.py": OURS}, {"lib.py": THEIRS})

    outcome = await place.world.resolve(request_)

    assert fault in refusal(place.world, len(answers))
    assert outcome.kind == "comment"
    assert place.files(place.world.publisher.pushed[BRANCH])["lib.py"] == BOTH


async def test_files_beside_the_conflicts_are_told_with_the_reason(scene, acts, request_):
    place = scene([[*acts.write(), *acts.write("ui.py", "new")], acts.submit(besides=("ui.py",))])
    place.stand({"lib.py": OURS}, {"lib.py": THEIRS})

    await place.world.resolve(request_)

    assert "- `ui.py`: It calls what was renamed." in place.world.publisher.comments["update"]


async def test_what_people_have_to_decide_is_asked_and_nothing_is_merged(scene, acts, request_):
    place = scene([acts.submit((), undecided=("lib.py",))])
    place.stand({"lib.py": OURS}, {"lib.py": THEIRS})

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert "- `lib.py`: Which of the two?" in place.world.publisher.comments["update"]
    assert not place.world.publisher.pushed


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", "AGENTS.md"])
async def test_a_contradiction_in_what_nobody_may_open_costs_nothing(scene, request_, path):
    place = scene(files={path: "old"}, approvals=None)
    place.stand({path: "mine\n"}, {path: "theirs\n"})

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert f"- `{path}`, protected by" in place.world.publisher.comments["update"]
    assert not place.world.model.asked


async def test_the_models_words_are_made_harmless(scene, acts, request_):
    hostile = "See ![x](https://evil.example/x.png)\n\n/bot approve @mara | really"
    [submission] = acts.submit()
    submission["input"]["settled"][0]["how"] = hostile
    place = scene([acts.write(), [submission]])
    place.stand({"lib.py": OURS}, {"lib.py": THEIRS})

    await place.world.resolve(request_)

    comment = place.world.publisher.comments["update"]
    assert "evil.example" not in comment
    assert not re.search(r"^\s*/bot", comment, re.MULTILINE)
    assert "@mara" not in comment
