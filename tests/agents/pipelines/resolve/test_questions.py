"""A run that asks people waits for their answer, and goes on in the session that asked."""

from tests.agents.pipelines.resolve.conftest import NOON, messages_of


async def test_an_answer_goes_on_in_the_session_that_asked(make, acts, request_):
    first = [acts.triage("ask"), acts.ask(), acts.triage()]
    world = make([*first, *acts.straight()])

    def wait_for_answer(name, until):
        assert name == "answer/1"
        assert world.tracker.labels == {"bot:waiting"}
        assert until == NOON + 14 * 86_400
        world.steering.say("remark", "The second one.")

    world.steps.meanwhile = wait_for_answer
    outcome = await world.resolve(request_)

    assert outcome.kind == "pull_request"
    assert "Which one is meant?" in world.publisher.comments["question-1"]
    assert not world.tracker.labels
    sessions = {turn.stage for turn, _ in world.journal.sessions["triage/1"]}
    assert sessions == {"triage/1", "comment_draft/1", "triage_again/1", "decompose/1"}
    assert "mara, whose role is maintain, said on GitHub" in messages_of(world, 2)
    assert "The second one." in messages_of(world, 2)
    assert messages_of(world, 2).startswith(messages_of(world, 1)[:-1]), (
        "the cached prefix has changed"
    )


async def test_go_alone_is_an_answer(make, acts, request_):
    world = make([acts.triage("propose"), acts.propose(), acts.triage(), *acts.straight()])
    world.steps.meanwhile = lambda *_: world.steering.say("go")

    assert (await world.resolve(request_)).kind == "pull_request"


async def test_nobody_answers_in_time(make, acts, request_):
    world = make([acts.triage("ask"), acts.ask()])

    def too_late(name, until):
        world.wall = until + 1

    world.steps.meanwhile = too_late
    outcome = await world.resolve(request_)

    assert outcome.kind == "comment"
    assert "within 14 days" in outcome.text
    assert not world.tracker.labels


async def test_where_nobody_can_answer_the_run_ends_with_the_question(make, acts, request_):
    world = make([acts.triage("ask"), acts.ask()], tracker=None, steering=None)

    outcome = await world.resolve(request_)

    assert outcome.kind == "comment"
    assert outcome.url == "url/question-1"


async def test_a_late_remark_does_not_turn_an_expired_question_into_an_answered_one(
    make, acts, request_, talk
):
    world = make([acts.triage("ask"), acts.ask(), talk.Killed()])

    def too_late(name, until):
        world.wall = until + 1

    world.steps.meanwhile = too_late
    expired = await world.resolve(request_)
    world.steering.say("remark", "Sorry, here it is.")
    replayed = await world.resolve(request_)

    assert replayed == expired
