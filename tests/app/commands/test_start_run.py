"""`/bot retry`: a new run that takes up the last one, asked for once however often it arrives."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import text

from agents.errors import ConfigError
from agents.requests import Again, Person
from app.github.checks.verdict import Verdict, show_verdict
from app.github.transport import OutgoingText
from app.simulator.github.gitdir import GitDir
from app.store.runs.history import KeptStep
from app.store.runs.runs import Runs
from tests.app.commands.answering_scene import RUN, open_office
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures


@pytest.fixture
async def office(scene, database, aiohttp_server):
    return await open_office(scene, database, aiohttp_server)


def faces(comment):
    return [(face.user.login, face.content) for face in comment.reactions]


def record_steps(office, *names):
    """Have the last run done these steps, as the engine records them."""

    async def steps(run_id):
        assert run_id == RUN
        return [KeptStep(name, 0.0, 1.0, None) for name in names]

    object.__setattr__(office.desk._asking.history, "steps", steps)


async def test_a_new_run_takes_up_the_last_one(office):
    await office.end("cancelled")
    comment = await office.say("bob", "/bot retry")

    [(run_id, request)] = office.asked
    scene = office.scene
    assert run_id.endswith("-again")
    assert run_id > RUN
    assert (request.via, request.label) == ("command", "bot:resolve")
    assert request.again == Again(run_id=RUN, stage="")
    assert request.asked_by == Person(id=scene.people["bob"].id, login="bob")
    assert request.author == scene.request.author
    assert (request.title, request.body) == (scene.issue.title, scene.issue.body)
    assert (request.lane, request.url) == (scene.request.lane, scene.request.url)
    assert faces(comment) == [("fettle[bot]", "+1")]
    assert office.texts() == []


@pytest.fixture
def press(office):
    """Press *Try again* on the check run of what the last run pushed."""
    scene = office.scene

    async def press(who):
        [head] = (await GitDir(scene.repository.gitdir).refs("refs/heads/main")).values()
        wording = OutgoingText(scene.github.urls, scene.request, scene.redactor)
        verdict = Verdict(ready=False, title="Not ready", summary="Checked.")
        await show_verdict(scene.github, scene.request, wording, head, verdict)
        [check] = scene.repository.check_runs.values()
        await scene.server.press_button(scene.repository, check, "Try again", scene.people[who])

    return press


async def test_a_button_takes_up_the_last_run_as_it_was_asked_for(office, press):
    scene = office.scene
    await office.end()
    scene.issue.title = "Mine bitcoin"
    await press("bob")

    [(run_id, request)] = office.asked
    assert run_id.endswith("-again")
    assert request.again == Again(run_id=RUN, stage="")
    assert request.asked_by == Person(id=scene.people["bob"].id, login="bob")
    assert (request.via, request.title) == ("command", "Six digits only")
    assert (request.lane, request.body) == (scene.request.lane, scene.request.body)
    assert office.refusals == []


async def test_a_button_is_for_who_may_write_and_never_for_two_runs_at_once(office, press):
    await press("bob")
    assert office.asked == []
    [refusal] = office.refusals
    assert "about [the button](" in refusal
    assert "a run is under way already" in refusal

    await office.end()
    await press("eve")
    assert office.asked == []


async def test_a_check_run_that_is_not_fettles_starts_nothing(office, press):
    await office.end()
    scene = office.scene

    async def take_away(_request):
        [check] = scene.repository.check_runs.values()
        check.external_id = "verdict/99"

    scene.server.faults.call_before("GET", "/permission$", take_away)
    await press("bob")
    assert office.asked == []
    assert "on no check run of Fettle's any more" in office.refusals[0]


async def test_whose_request_is_gone_is_told_so_at_the_button(office, press, database):
    await office.end()
    gone = text("UPDATE runs SET request = '{}'")
    await database.write(lambda c: c.execute(gone))
    await press("bob")
    assert office.asked == []
    assert "cannot be read any more" in office.refusals[0]


async def test_it_is_the_issue_that_the_asker_saw(office):
    """What somebody edits in afterwards is for the access check of the run to see."""
    scene = office.scene
    await office.end()

    async def edit(_request):
        scene.issue.title = "Mine bitcoin"

    scene.server.faults.call_before("GET", "/permission$", edit)
    await office.say("bob", "/bot retry")
    [(_, request)] = office.asked
    assert request.title == "Six digits only"


async def test_a_redelivered_retry_is_the_same_run(office):
    await office.end()
    await office.say("bob", "/bot retry")
    await office.end(run_id=office.asked[0][0])
    await office.redeliver()

    first, again = office.asked  # handed over once more, in case the engine never got it
    assert first == again
    assert office.refusals == []


async def test_a_refused_run_has_left_nothing_to_take_up(office):
    await office.end()
    await Runs(office.database).create("run-2", office.scene.request)
    await office.end("refused", "run-2")
    await office.say("bob", "/bot retry")
    assert office.asked[0][1].again.run_id == RUN


async def test_while_a_run_is_under_way_there_is_no_second_one(office):
    comment = await office.say("bob", "/bot retry")
    assert office.asked == []
    assert "`/bot cancel` first" in office.refusals[0]
    assert faces(comment) == [("fettle[bot]", "confused")]


async def test_where_no_run_was_there_is_nothing_to_retry(office):
    scene = office.scene
    other = await scene.server.create_issue(scene.repository, scene.people["ada"], "Other")
    await office.say("bob", "/bot retry", number=other.number)
    assert office.asked == []
    assert "put the label `bot:resolve` on" in office.texts(other.number)[0]


async def test_it_can_begin_at_a_stage(office):
    record_steps(office, "access/1", "stage/triage/1", "stage/implement/1", "stage/implement/2~1")
    await office.end()
    await office.say("bob", "/bot retry from implement")
    assert office.asked[0][1].again == Again(run_id=RUN, stage="implement")


@pytest.mark.parametrize("said", ["from deploy", "from access", "please", "from ../triage"])
async def test_an_unknown_beginning_is_answered_with_what_there_is(office, said):
    record_steps(office, "access/1", "stage/triage/1", "stage/implement/1", "stage/implement/2~1")
    await office.end()
    await office.say("bob", f"/bot retry {said}")
    assert office.asked == []
    assert "`triage`, `implement`." in office.refusals[0]


# --- what nobody can read any more --------------------------------------------------------------


async def damage(office, request):
    """Leave of the last run's request what retention, or the loss of a key, leaves of it."""
    change = text("UPDATE runs SET request = :request WHERE id = :id")
    values = {"request": request, "id": RUN}
    await office.database.write(lambda c: c.execute(change, values))


SHUT = f"sealed:1:{Fernet(Fernet.generate_key()).encrypt(b'{}').decode()}"


@pytest.mark.parametrize("left", [SHUT, "{}", "damaged"])
async def test_an_issue_is_taken_up_although_the_last_request_cannot_be_read(office, left):
    await office.end()
    await damage(office, left)
    await office.say("bob", "/bot retry")
    [(_, request)] = office.asked
    assert (request.kind, request.again.run_id) == ("resolve_issue", RUN)
    assert office.texts() == []


@pytest.mark.parametrize("left", [SHUT, "{}", "damaged"])
async def test_where_it_takes_the_request_people_hear_what_to_do_instead(office, left):
    await office.end()
    await damage(office, left)
    change = text("UPDATE runs SET kind = 'remediate_alert'")
    await office.database.write(lambda c: c.execute(change))
    comment = await office.say("bob", "/bot retry")
    assert office.asked == []
    [refusal] = office.refusals
    assert "cannot be read any more" in refusal
    assert "`fettle remediate ada/parse`" in refusal
    assert faces(comment) == [("fettle[bot]", "confused")]


async def test_from_a_stage_of_a_run_that_is_sealed_it_is_said_what_there_is(office):
    await office.end()

    async def refuse_sealed(_run_id):
        raise ConfigError("sealed")

    object.__setattr__(office.desk._asking.history, "steps", refuse_sealed)
    await office.say("bob", "/bot retry from implement")
    assert office.asked == []
    assert "none that is still known" in office.refusals[0]
