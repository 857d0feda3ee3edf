"""The resolve pipeline on fakes: what it makes, and what a death at any moment costs."""

import json

import pytest

from agents.errors import RunError, TransientError
from agents.pipelines.registry import PIPELINES

FILES = {"lib.py": "def add(a, b):\n    return a + b + 1\n", "test_lib.py": "import lib\n"}
RIGHT = "def add(a, b):\n    return a + b\n"
CHECK = "python3 -m pytest -q"


def run_checks(files):
    """Stand for the repository's tests: green once the code is right and nothing is broken."""
    broken = "BROKEN" in "".join(files.values())
    return (1, "1 failed in 0.01s") if broken else (0, "1 passed in 0.01s")


def story(use, say, *, break_it=False):
    """Return the answers of a model that resolves the issue in two steps."""
    first = use(
        "edit", path="lib.py", old="a + b + 1", new="a + b # BROKEN" if break_it else "a + b"
    )
    return [
        [say("Looking."), use("read", path="lib.py"), use("read", path="test_lib.py")],
        [
            use(
                "submit_triage",
                decision="action_direct",
                kind="feature",
                reasoning="read",
                detail="+1",
            )
        ],
        [
            use(
                "submit_plan",
                steps=[
                    {"title": "Add without one", "brief": "Remove the one in lib.py add()."},
                    {"title": "Test the sum", "brief": "Write a test in test_lib.py for it."},
                ],
            )
        ],
        [use("read", path="lib.py")],
        [first],
        [use("submit_step", summary="No more one.", tried="ran it")],
        [use("write", path="test_lib.py", content="import lib\nassert lib.add(1, 1) == 2\n")],
        [use("submit_step", summary="A test.", tried="ran it")],
        [use("submit_docs", changed=False, summary="nothing to say")],
        [use("submit_evaluation", verdict="pass", reasoning="It adds right now.")],
    ]


def submit_pull_request(use):
    return [
        use(
            "submit_pull_request",
            branch="add-without-one",
            title="Add without one",
            why="The one was there by mistake.",
            rejected="",
            notes="",
        )
    ]


@pytest.fixture
def solved(make_world, talk):
    def make(**more):
        answers = [*story(talk.use, talk.say, **more), submit_pull_request(talk.use)]
        return make_world(FILES, answers, commands={CHECK: run_checks})

    return make


def subjects(world, head):
    found = []
    while head != world.base:
        _, head, message = world.history.commits[head]
        found.insert(0, message.splitlines()[0])
    return found


async def test_resolve_opens_one_pull_request_with_a_commit_for_each_step(solved, request_):
    world = solved()

    outcome = await world.resolve(request_)

    pull = outcome.pull_request
    assert outcome.kind == "pull_request"
    assert not pull.draft
    assert pull.branch.startswith("bot/7-add-without-one-")
    assert world.publisher.pushed == {pull.branch: pull.head}
    assert subjects(world, pull.head) == [
        "Step 1/2: Add without one",
        "Step 2/2: Test the sum",
    ]
    assert world.history.files(pull.head)["lib.py"] == RIGHT
    assert world.publisher.closes == (7,)
    assert f"`{CHECK}` | passed (exit 0" in pull.body
    assert "$0.11" in pull.body


@pytest.mark.parametrize(("tokens", "model"), [(90_000, "small"), (100_000, "big")])
async def test_a_long_session_keeps_its_model_for_the_words_of_the_pull_request(
    solved, request_, tokens, model
):
    """It has the session in its cache, and its tools hold that submission from the beginning."""
    world = solved()
    world.model.prompt_tokens = tokens
    assert (await world.resolve(request_)).kind == "pull_request"
    *_, step, _docs, _judge, words = world.model.asked
    assert words["model"] == model
    assert (words["tools"] == step["tools"]) == (model == "big")


async def test_commits_name_who_asked_and_what_made_them(solved, request_):
    world = solved()

    outcome = await world.resolve(request_)

    message = world.history.commits[outcome.pull_request.head][2]
    assert "Co-authored-by: mara <3+mara@users.noreply.github.com>" in message
    assert "Fettle-Run: 0006-run" in message
    assert "Fettle-Stage: implement/2" in message


async def test_sessions_are_those_of_the_specification(solved, request_):
    world = solved()

    await world.resolve(request_)

    spoken = {}
    for session, entries in world.journal.sessions.items():
        spoken[session] = list(dict.fromkeys(turn.stage for turn, _ in entries))
    assert spoken == {
        "triage/1": ["triage/1", "decompose/1"],
        "implement/1": ["implement/1"],
        "implement/2": ["implement/2", "docs_review/1", "craft_pr/1"],
        "evaluation/1": ["evaluation/1"],
    }


@pytest.mark.parametrize("moment", range(11))
async def test_a_death_at_any_model_call_costs_nothing_twice(solved, request_, talk, moment):
    undisturbed = solved()
    expected = await undisturbed.resolve(request_)
    world = solved()
    world.model.answers.insert(moment, talk.Killed())

    with pytest.raises(talk.Killed):
        await world.resolve(request_)
    outcome = await world.resolve(request_)

    assert outcome == expected
    assert world.history.commits == undisturbed.history.commits
    paid = [asked["messages"] for asked in world.model.asked]
    del paid[moment]  # the call in which the process died was never answered
    assert len(set(paid)) == len(paid) == 11


async def test_a_death_in_a_command_puts_the_files_back_and_runs_it_again(
    make_world, request_, talk
):
    use, say = talk.use, talk.say
    answers = [*story(use, say), submit_pull_request(use)]
    answers.insert(5, [use("bash", command="fumble")])
    deaths = [talk.Killed()]

    def fumble(files):
        files["lib.py"] = "half written"
        if deaths:
            raise deaths.pop()
        files["lib.py"] = RIGHT
        return (0, "ok")

    world = make_world(FILES, answers, commands={CHECK: run_checks, "fumble": fumble})
    with pytest.raises(talk.Killed):
        await world.resolve(request_)

    outcome = await world.resolve(request_)

    assert world.history.files(outcome.pull_request.head)["lib.py"] == RIGHT
    assert len(world.model.asked) == 12


async def test_what_a_change_breaks_is_mended_in_a_commit_of_its_own(make_world, request_, talk):
    use, say = talk.use, talk.say
    *made, judged = story(use, say, break_it=True)
    answers = [
        *made,
        [use("edit", path="lib.py", old=" # BROKEN", new="")],
        [use("submit_fix", summary="Took the comment out.")],
        judged,
        submit_pull_request(use),
    ]
    world = make_world(FILES, answers, commands={CHECK: run_checks})

    outcome = await world.resolve(request_)

    assert not outcome.pull_request.draft
    assert subjects(world, outcome.pull_request.head)[-1] == "Fix failing checks"


async def test_what_stays_broken_becomes_a_draft_that_names_it(make_world, request_, talk):
    use, say = talk.use, talk.say
    *made, judged = story(use, say, break_it=True)
    answers = [
        *made,
        *([use("submit_fix", summary=f"No idea, try {n}.")] for n in range(3)),
        judged,
        submit_pull_request(use),
    ]
    world = make_world(FILES, answers, commands={CHECK: run_checks})

    outcome = await world.resolve(request_)

    assert outcome.pull_request.draft
    assert "### Still failing" in outcome.pull_request.body
    assert "1 failed" in outcome.pull_request.body


async def test_what_failed_before_is_not_held_against_the_change(make_world, request_, talk):
    answers = [*story(talk.use, talk.say), submit_pull_request(talk.use)]
    red = (
        "=== short test summary info ===\nFAILED t.py::a - x\n=== 1 failed, 1 passed in 0.1s ===\n"
    )
    world = make_world(FILES, answers, commands={CHECK: (1, red)})

    outcome = await world.resolve(request_)

    assert not outcome.pull_request.draft
    assert outcome.ready
    assert "failed (1; exit 1" in outcome.pull_request.body
    assert "failed as before." in outcome.text


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ((1, "always red"), "it failed without saying what fails"),
        ((127, "bash: tox: command not found"), "the command could not be started"),
        ((5, "no tests ran in 0.01s"), "it failed and ran no test"),
        ((0, "no tests ran in 0.01s"), "it ran no test"),
        ((0, "5 skipped in 0.01s"), "it ran no test"),
        (
            (2, "ERROR t.py - ImportError\n!!! Interrupted: 1 error !!!\n1 error in 0.1s"),
            "before the change, it failed and ran no test",
        ),
    ],
)
async def test_what_could_not_be_told_is_never_ready(make_world, request_, talk, said, why):
    answers = [*story(talk.use, talk.say), submit_pull_request(talk.use)]
    policy = {".github/fettle.yml": "setup: {second_look: false}"}
    world = make_world(FILES | policy, answers, commands={CHECK: said})

    outcome = await world.resolve(request_)

    assert outcome.pull_request.draft
    assert not outcome.ready
    assert why in outcome.text
    assert why in outcome.pull_request.body
    assert why in json.dumps(world.model.asked[-1]["messages"])


async def test_without_any_check_it_is_a_draft_that_says_so(make_world, request_, talk):
    answers = [*story(talk.use, talk.say), submit_pull_request(talk.use)]
    world = make_world({"lib.py": FILES["lib.py"]}, answers)

    outcome = await world.resolve(request_)

    assert outcome.pull_request.draft
    assert "Not verified: no check of the repository was found." in outcome.text


async def test_trouble_outside_reaches_the_engine_and_the_run_goes_on(solved, request_):
    world = solved()
    world.model.answers.insert(4, TransientError("overloaded"))

    with pytest.raises(TransientError):
        await world.resolve(request_)
    outcome = await world.resolve(request_)

    assert outcome.kind == "pull_request"


async def test_checks_run_on_what_is_committed_and_on_nothing_else(make_world, request_, talk):
    use, say = talk.use, talk.say
    answers = [*story(use, say), submit_pull_request(use)]
    answers.insert(5, [use("bash", command="leave things")])
    seen = []

    def leave_things(files):
        files["ignored/build"] = "of the engineer"
        return (0, "")

    def careless(files):
        seen.append(dict(files))
        files["lib.py"] = "changed by the check"
        files["ignored/cache"] = "of the check"
        return (0, "")

    policy = "quality: [{name: a, run: careless}, {name: b, run: careless}]"
    files = FILES | {".github/fettle.yml": policy}
    commands = {"careless": careless, "leave things": leave_things}
    world = make_world(files, answers, commands=commands)

    outcome = await world.resolve(request_)

    base, head = world.history.files(world.base), world.history.files(outcome.pull_request.head)
    cache = {"ignored/cache": "of the check"}
    assert seen == [base, base | cache, head, head | cache]


async def test_trouble_in_a_check_leaves_nothing_to_the_next_try(solved, request_):
    world = solved()
    troubles = [TransientError("the sandbox is busy")]
    seen = []

    def stumble(files):
        seen.append(files["lib.py"])
        files["lib.py"] = "half done BROKEN"
        if troubles:
            raise troubles.pop()
        return (0, "1 passed in 0.1s")

    world.commands[CHECK] = stumble
    run = world.run(request_)
    work = PIPELINES[type(request_)].work
    with pytest.raises(TransientError):
        await work(run, request_)
    run._seen.clear()  # the engine calls the stage again; here the pipeline is

    await work(run, request_)

    assert seen == [FILES["lib.py"], FILES["lib.py"], RIGHT]


async def test_time_in_which_nothing_is_done_uses_no_budget(solved, request_, talk):
    world = solved()
    for moment in (3, 6):
        world.model.answers.insert(moment, talk.Killed())
    for _ in range(2):
        with pytest.raises(talk.Killed):
            await world.resolve(request_)
        world.now += 100_000  # the server was off over a weekend; the limit is an hour

    assert (await world.resolve(request_)).kind == "pull_request"


async def test_time_at_work_uses_the_budget_also_over_a_restart(make_world, request_, talk):
    use, say = talk.use, talk.say
    answers = [*story(use, say), submit_pull_request(use)]
    answers.insert(4, talk.Killed())
    world = make_world(FILES, answers)

    def slow(files):
        world.now += 40 * 60  # of 60 minutes
        return run_checks(files)

    world.commands[CHECK] = slow
    with pytest.raises(talk.Killed):
        await world.resolve(request_)
    outcome = await world.resolve(request_)

    assert "80 of 60 minutes" in outcome.pull_request.body, "the words are made by code then"


async def test_a_file_name_that_is_no_text_ends_a_run_in_words(solved, request_):
    world = solved()

    async def refuse(tree, parent, message, **_):
        raise RunError("The change touches `\udcff.yml`.")

    opening = world.source.open

    async def open_tree(base, policy, image=None):
        tree = await opening(base, policy)
        tree.commit = refuse
        return tree

    world.source.open = open_tree

    outcome = await world.resolve(request_)

    assert outcome.kind == "failed"
    assert r"touches `\udcff.yml`" in outcome.text


async def test_the_writer_of_the_pull_request_knows_what_the_checks_and_engineers_said(
    solved, request_
):
    world = solved()

    await world.resolve(request_)

    prompt = json.loads(world.model.asked[-1]["messages"])[-1]["content"][0]["text"]
    assert "tests: 0 before, 0 after" in prompt
    assert "No more one." in prompt
    assert "A test." in prompt
