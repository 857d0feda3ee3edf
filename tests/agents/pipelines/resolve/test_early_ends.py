"""Runs that are cancelled, run out of money or wait for room: their work is kept."""

import asyncio

import pytest

import agents.run.stage_context
from agents.errors import ModelClosed, Overloaded, RunError
from agents.pipelines.stages.save_unfinished import DAY_OVER
from agents.ports import EarlierPull
from agents.requests import Again
from tests.agents.pipelines.resolve.conftest import FILES, NOON


async def test_a_cancel_between_two_calls_keeps_the_work_on_a_branch(make, acts, request_, talk):
    world = make([acts.triage(), acts.plan(), acts.change(content="HALF"), acts.step()])

    async def answer(query):
        found = await type(world.model).answer(world.model, query)
        if len(world.model.asked) == 4:  # it has changed a file and is about to say more
            world.steering.say("cancel", "not now")
        return found

    world.model.answer = answer
    outcome = await world.resolve(request_)

    assert outcome.kind == "cancelled"
    assert "`mara` cancelled the run: not now. " in outcome.text
    [(branch, commit)] = world.publisher.pushed.items()
    assert branch in outcome.text
    assert world.history.files(commit)["lib.py"] == "HALF"


async def test_a_cancel_stops_a_command_at_work(make, acts, request_, talk):
    world = make([acts.triage(), acts.plan(), [talk.use("bash", command="long")]])
    stopped = []

    async def long_command(files):
        world.steering.say("cancel", via="label")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    world.commands["long"] = long_command
    outcome = await world.resolve(request_)

    assert stopped
    assert outcome.kind == "cancelled"
    assert "took the label off" in outcome.text


async def test_a_cancel_while_a_stage_waits_keeps_what_it_had_come_to(make, acts, request_):
    world = make(
        [acts.triage(), acts.plan(), acts.change(content="HALF"), Overloaded("full")],
    )
    world.steps.meanwhile = lambda *_: world.steering.say("cancel")

    outcome = await world.resolve(request_)

    assert outcome.kind == "cancelled"
    [commit] = world.publisher.pushed.values()
    assert world.history.files(commit)["lib.py"] == "HALF"


async def test_a_cancel_while_the_process_is_away_keeps_what_the_stage_had_come_to(
    make, acts, request_, talk
):
    world = make([acts.triage(), acts.plan(), acts.change(content="HALF"), talk.Killed()])
    with pytest.raises(talk.Killed):
        await world.resolve(request_)
    world.steering.say("cancel")

    assert (await world.resolve(request_)).kind == "cancelled"
    [commit] = world.publisher.pushed.values()
    assert world.history.files(commit)["lib.py"] == "HALF"


async def test_a_label_that_cannot_be_taken_off_loses_no_work(make, acts, request_):
    files = FILES | {".github/fettle.yml": "budget: {turns: 3}"}
    world = make([acts.triage(), acts.plan(), acts.change(content="HALF")], files)

    async def refuse_label(name, *, on, description=""):
        raise RunError("GitHub refuses")

    world.tracker.label = refuse_label
    outcome = await world.resolve(request_)

    assert world.history.files(outcome.pull_request.head)["lib.py"] == "HALF"


async def test_a_cancel_comes_too_late_once_the_pull_request_is_being_opened(make, acts, request_):
    world = make([acts.triage(), *acts.straight()])
    opened = world.publisher.open_pull_request

    async def slow(**pull):
        world.steering.say("cancel")
        await asyncio.sleep(0.01)
        return await opened(**pull)

    world.publisher.open_pull_request = slow
    outcome = await world.resolve(request_)

    assert outcome.kind == "pull_request"
    assert list(world.publisher.pushed) == [outcome.pull_request.branch]


async def test_a_cancelled_run_stays_cancelled_when_it_is_replayed(make, acts, request_):
    world = make([acts.triage()])
    world.steering.say("cancel", via="issue")

    first = await world.resolve(request_)
    world.steering.steers.clear()

    assert first.kind == "cancelled"
    assert await world.resolve(request_) == first
    assert not world.model.asked


async def test_at_the_limit_the_work_becomes_a_draft_with_the_reason(make, acts, request_):
    policy = "budget: {turns: 4}"
    files = FILES | {".github/fettle.yml": policy}
    answers = [acts.triage(), acts.plan(), acts.change(content="HALF"), acts.change("b", "more")]
    world = make(answers, files)

    outcome = await world.resolve(request_)

    pull = outcome.pull_request
    assert pull.draft
    assert "4 of 4 model answers" in pull.body
    assert world.publisher.closes == ()
    assert world.history.files(pull.head)["b"] == "more"


@pytest.mark.parametrize("draft", [True, False], ids=["a draft", "one that is ready"])
async def test_at_the_limit_no_second_pull_request_is_opened(make, acts, request_, draft):
    files = FILES | {".github/fettle.yml": "budget: {turns: 3}"}
    world = make([acts.triage(), acts.plan(), acts.change(content="MORE")], files)
    before = world.history.commit(world.history.tree(files), world.base, "First run")
    branch = "bot/7-unfinished-0a0a0a"
    world.source.branches[branch] = before
    world.tracker.earlier = EarlierPull(
        number=12,
        url="u",
        title="Add",
        branch=branch,
        head=before,
        base="main",
        draft=draft,
        run_id="0005-run",
    )

    outcome = await world.resolve(request_)

    [pushed] = world.publisher.pushed
    assert (pushed == branch) == draft
    assert list(world.publisher.pulls) == ([branch] if draft else [])
    assert outcome.kind == ("pull_request" if draft else "failed")
    assert draft or pushed in outcome.text


@pytest.mark.parametrize(
    "case",
    [({}, True), ({"pushed_by": ("bob",)}, False), ({"run_id": "0004-run"}, False)],
    ids=["its own", "somebody else pushed", "another run's"],
)
@pytest.mark.parametrize("ends_early", [True, False])
async def test_what_the_run_that_is_taken_up_had_pushed_gives_way(
    make, acts, request_, case, ends_early
):
    about, gives_way = case
    limit = "budget: {turns: 3}\n" if ends_early else ""
    files = FILES | {".github/fettle.yml": f"{limit}quality: [{{name: tests, run: check}}]"}
    world = make([acts.triage(), *acts.straight()], files)
    branch = "bot/7-first-try"
    tree = world.history.tree(files | {"b": "left"})
    left = world.history.commit(tree, world.base, "First run")
    world.publisher.branches[branch] = left  # the kept stages are of before there was one
    fields = {"number": 12, "url": "u", "title": "Add", "branch": branch, "base": "main"}
    fields |= {"head": left, "draft": True, "run_id": "0005-run"} | about
    found = iter([None])  # at the time of the kept stages

    async def find_earlier():
        return next(found, EarlierPull(**fields))

    world.tracker.earlier_pull_request = find_earlier

    again = Again(run_id="0005-run", stage="decompose")
    outcome = await world.resolve(request_.model_copy(update={"again": again}))

    assert outcome.kind == "pull_request"
    assert (outcome.pull_request.branch == branch) == gives_way
    assert (world.publisher.branches[branch] == left) != gives_way
    assert outcome.pull_request.draft == ends_early


async def test_people_can_give_a_run_more(make, acts, request_):
    files = FILES | {
        ".github/fettle.yml": "budget: {usd: 0.04}\nquality: [{name: tests, run: check}]"
    }
    world = make([acts.triage(), *acts.straight()], files)
    world.steering.say("budget", usd=2.0)

    assert not (await world.resolve(request_)).pull_request.draft


async def test_the_day_of_a_repository_has_a_limit_of_its_own(make, acts, request_):
    world = make([acts.triage(), *acts.straight()])
    world.journal.others_today = 50.0

    outcome = await world.resolve(request_)

    assert outcome.kind == "failed"
    assert "budget of the day" in outcome.text
    assert outcome.rule == DAY_OVER, "it was told through the record of a stage"
    assert "`/bot retry from triage/1` goes on where it stopped." in outcome.text
    assert not world.model.asked


async def test_no_room_at_the_model_parks_the_run_and_it_goes_on_by_itself(make, acts, request_):
    world = make([acts.triage(), *acts.straight()])
    world.model.answers.insert(3, Overloaded("full", retry_after=120))
    waited = []

    def wait_for_room(name, until):
        waited.append((name, until))
        world.wall = until

    world.steps.meanwhile = wait_for_room
    outcome = await world.resolve(request_)

    assert outcome.kind == "pull_request"
    assert waited == [("pause/implement/1/1", NOON + 120)]
    [(_, why)] = world.reporter.calls_of("report_pause")
    assert "00:02 UTC" in why


async def test_a_run_waits_for_a_key_that_was_revoked_and_goes_on_by_itself(make, acts, request_):
    """Else a key that is replaced would make a draft of every run at work."""
    refused = ModelClosed("The key is refused. Check ANTHROPIC_API_KEY.")
    world = make([acts.triage(), *acts.straight()])
    world.model.answers[3:3] = [refused] * 3
    pauses = []

    def wait_for_operator(name, until):
        pauses.append(until - world.wall)
        world.wall = until

    world.steps.meanwhile = wait_for_operator
    outcome = await world.resolve(request_)

    assert (outcome.kind, outcome.ready) == ("pull_request", True)
    assert pauses == [60, 120, 240]
    why = world.reporter.calls_of("report_pause")[0][1]
    assert why.startswith("the model's server, until 00:01 UTC: Fettle's operator has to act")
    assert "Check ANTHROPIC_API_KEY." in why


async def test_beside_a_person_at_a_clone_nothing_waits_for_a_key(make, acts, request_):
    world = make([acts.triage(), ModelClosed("The key is refused.")])
    outcome = await world.resolve(request_.model_copy(update={"installation_id": 0, "number": 0}))

    assert outcome.kind == "failed"
    assert "`--resume` goes on where it stopped" in outcome.text
    assert not world.reporter.calls_of("report_pause")


async def test_a_server_that_names_no_time_is_left_alone_for_longer_each_time(
    make, acts, request_, monkeypatch
):
    monkeypatch.setattr(agents.run.stage_context, "MOST_PAUSES", 6)
    triage = [acts.triage(), acts.plan(), acts.change(content="HALF")]
    world = make([*triage, *[Overloaded("full")] * 7])
    pauses = []

    def wait_for_room(name, until):
        pauses.append(until - world.wall)
        world.wall = until

    world.steps.meanwhile = wait_for_room
    outcome = await world.resolve(request_)

    assert pauses == [60, 120, 240, 480, 960, 960]
    assert (outcome.kind, "again and again" in outcome.text) == ("pull_request", True)
    assert outcome.pull_request.draft
    [commit] = world.publisher.pushed.values()
    assert world.history.files(commit)["lib.py"] == "HALF"


def list_finished(world):
    return world.reporter.calls_of("stage_finished")


def stop(reason, talk):
    return [{"type": "stop", "stop": reason}, talk.say("I")]


async def test_a_refusal_after_a_commit_becomes_a_draft_that_says_why(make, acts, request_, talk):
    answers = [acts.triage(), acts.plan(), acts.change(content="HALF"), acts.step()]
    world = make([*answers, stop("refusal", talk), stop("refusal", talk)])

    outcome = await world.resolve(request_)

    pull = outcome.pull_request
    assert pull.draft
    assert "The model declined to go on in the stage `evaluation/1`" in pull.body
    assert "`/bot retry`" in pull.body
    assert "Nothing of it counts as verified" in pull.body


async def test_words_that_the_model_refuses_are_made_by_code(make, acts, request_, talk):
    made, judged = acts.straight()[:3], acts.verdict()
    refusal = stop("refusal", talk)
    world = make([acts.triage(), *made, refusal, judged, refusal])

    outcome = await world.resolve(request_)

    pull = outcome.pull_request
    assert not pull.draft
    assert pull.title
    [reviewed] = [told for name, told in list_finished(world) if name == "docs_review/1"]
    assert reviewed == "not reviewed"
    assert "put together from the steps' own words" in pull.body
