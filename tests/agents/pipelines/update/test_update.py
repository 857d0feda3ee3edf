"""The update pipeline on fakes: what is merged, what is settled, what is kept back, and why."""

import json
import re

import pytest

from agents.pipelines import PIPELINES
from agents.policy import POLICY_PATH
from agents.ports import Batch, Feedback, PullSnapshot, Remark
from agents.requests import Person, Repository, UpdateBranch

POLICY = "quality: [{name: unit, run: check}]\n"
FILES = {"lib.py": "def add(a, b):\n    return a + b\n", "ui.py": "from lib import add\n"}
BRANCH = "bot/7-add-0a0a0a"
OURS, THEIRS, BOTH = "OURS\n", "THEIRS\n", "OURS\nTHEIRS\n"


@pytest.fixture
def request_():
    return UpdateBranch(
        installation_id=1,
        repository=Repository(id=9, owner="octo", name="lib", default_branch="main"),
        number=31,
        title="Add right, always",
        author=Person(id=4, login="fettle[bot]"),
        asked_by=Person(id=3, login="mara"),
        url="https://example.org/octo/lib/pull/31",
    )


class DivergedPullScene:
    """A pull request, its base, and what is done to both."""

    def __init__(self, world, base):
        self.world, self.fork = world, base
        self.history = world.history

    def commit(self, on, change, subject="A change"):
        files = {k: v for k, v in {**self.history.files(on), **change}.items() if v is not None}
        return self.history.commit(self.history.tree(files), on, subject)

    def stand(self, ours, theirs):
        """Have the two branches where these changes lead; return their heads."""
        mine = self.commit(self.fork, ours, "Ours")
        yours = self.commit(self.fork, theirs, "Theirs") if theirs else self.fork
        self.world.source.branches.update({BRANCH: mine, "main": yours})
        self.world.source.base = yours
        return mine, yours

    def files(self, commit):
        return self.history.files(commit)


@pytest.fixture
def scene(make_world, talk):
    def make(answers=(), *, files=(), policy=POLICY, commands=None, **more):
        pull = {
            "number": 31,
            "title": "Add right, always",
            "body": "",
            "state": "open",
            "draft": False,
            "own": True,
            "author_may_write": True,
            "branch": BRANCH,
            "head": "",
            "base": "main",
            "conflicts": False,
            "foreign": False,
        } | more.pop("pull", {})
        more.setdefault("approvals", talk.Approvals())
        whole = {**FILES, POLICY_PATH: policy, **dict(files)}
        reviewing = talk.Reviewing(PullSnapshot(**pull))
        commands = {"check": (0, "ok")} if commands is None else commands
        world = make_world(whole, answers, reviewing=reviewing, commands=commands, **more)
        return DivergedPullScene(world, world.base)

    return make


@pytest.fixture
def acts(talk):
    return UpdateActs(talk.use)


class UpdateActs:
    """What a model does, in one word."""

    def __init__(self, use):
        self.use = use

    def write(self, path="lib.py", content=BOTH):
        return [self.use("write", path=path, content=content)]

    def submit(self, settled=("lib.py",), besides=(), undecided=()):
        return [
            self.use(
                "submit_resolution",
                settled=[{"path": p, "how": "Both sides' lines are in it."} for p in settled],
                besides=[{"path": p, "why": "It calls what was renamed."} for p in besides],
                undecided=[{"path": p, "question": "Which of the two?"} for p in undecided],
                summary="Both sides wanted a line in add().",
            )
        ]

    def settle(self):
        return [self.write(), self.submit()]


def last_message(world, number=-1):
    """Return what the model read last, when it was asked this time."""
    return json.dumps(json.loads(world.model.asked[number]["messages"])[-1])


def refusal(world, number=-1):
    [block] = json.loads(world.model.asked[number]["messages"])[-1]["content"]
    assert block["is_error"]
    return block["content"]


# --- git alone ------------------------------------------------------------------------------------


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


# --- conflicts ------------------------------------------------------------------------------------


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


# --- checks ---------------------------------------------------------------------------------------


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


# --- loosened tests -------------------------------------------------------------------------------

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
        [acts.use("submit_put_back", summary="Their test is back.")],
    ]
    approvals = talk.Approvals(answers=[{"state": "denied", "decided_by": "mara"}])
    place = scene(answers, files={"test_lib.py": TEST}, approvals=approvals)
    place.stand({"test_lib.py": TEST + MORE}, {"test_lib.py": TEST + OTHER})

    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert place.files(place.world.publisher.pushed[BRANCH])["test_lib.py"] == whole


# --- races ----------------------------------------------------------------------------------------


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


# --- a death at any moment ------------------------------------------------------------------------


async def test_a_death_after_any_stage_changes_nothing(scene, acts, request_, talk):
    whole = scene(acts.settle())
    whole.stand({"lib.py": OURS}, {"lib.py": THEIRS})
    ended = await whole.world.resolve(request_)
    stages = [name for name in whole.world.steps.names if name.startswith("stage/")]
    assert stages[-1] == "stage/report/1"

    for dies_at in stages:
        place = scene(acts.settle())
        place.stand({"lib.py": OURS}, {"lib.py": THEIRS})
        steps, step = place.world.steps, place.world.steps.step

        async def run_and_die(name, work, *, step=step, dies_at=dies_at):
            done = await step(name, work)
            if name == dies_at:
                raise talk.Killed
            return done

        steps.step = run_and_die
        with pytest.raises(talk.Killed):
            await place.world.resolve(request_)
        steps.step = step
        assert await place.world.resolve(request_) == ended
        assert place.world.publisher.comments == whole.world.publisher.comments
        assert len(place.world.model.asked) == 2, "no answer is paid twice"


async def test_a_death_between_the_answer_and_the_merge_costs_no_answer(
    scene, acts, request_, talk
):
    place = scene(acts.settle())
    place.stand({"lib.py": OURS}, {"lib.py": THEIRS})
    append = place.world.journal.append

    async def append_and_die(session, number, turn):
        await append(session, number, turn)
        if turn.kind == "results" and "Recorded" in json.dumps(turn.content):
            raise talk.Killed

    place.world.journal.append = append_and_die
    with pytest.raises(talk.Killed):
        await place.world.resolve(request_)
    place.world.journal.append = append
    outcome = await place.world.resolve(request_)

    assert outcome.kind == "comment"
    assert place.files(place.world.publisher.pushed[BRANCH])["lib.py"] == BOTH
    assert len(place.world.model.asked) == 2


def test_it_is_registered():
    assert PIPELINES[UpdateBranch].function.__name__ == "update"


def test_whoever_settled_it_mends_it_as_well():
    resumed = {each.name: each.resumes for each in PIPELINES[UpdateBranch].conversations}

    assert resumed == {"implement": None, "quality_fix": "implement", "put_back": "implement"}
