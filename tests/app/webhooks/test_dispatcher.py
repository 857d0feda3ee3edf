"""The dispatcher: each delivery becomes a request once, and a bad one holds up no other."""

from __future__ import annotations

import asyncio
import json

import lz4.frame
import pytest

from agents.errors import TransientError
from agents.ports import Batch
from agents.requests import AddressReview, Person, Repository, ResolveIssue
from agents.run import Outcome
from app.store.handled_feedback import Batches
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from app.webhooks import dispatcher as module
from app.webhooks.dispatcher import MENDED, MENDING, NOBODY, NOT_OURS, Dispatcher
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import Delivery
from tests.patience import PATIENCE


class FailingEngine:
    """Takes requests, unless told to fail for a run or altogether."""

    def __init__(self):
        self.taken = []
        self.refuse = {}
        self.down = False

    async def submit(self, run_id, request):
        if self.down:
            raise TransientError("the engine starts")
        if self.refuse.get(request.number, 0) > 0:
            self.refuse[request.number] -= 1
            raise RuntimeError(f"cannot take {request.number}")
        self.taken.append((run_id, request.number))

    @property
    def numbers(self):
        return [number for _, number in self.taken]


@pytest.fixture
def engine():
    return FailingEngine()


@pytest.fixture
async def inbox(database):
    return Inbox(database, limit=1000)


@pytest.fixture
def dispatcher(database, inbox, engine):
    return Dispatcher(database, inbox, engine, retry_seconds=0.01)


@pytest.fixture
def insert(inbox, sender):
    async def insert_delivery(body=None, **changes):
        payload = sender.payload(**changes)
        if body is None:
            body = json.dumps(payload).encode()
        number = payload["issue"]["number"]
        await inbox.store(Delivery(f"d{number}", "issues", "labeled", 1, f"h{number}", body))
        return number

    return insert_delivery


@pytest.fixture
async def running(dispatcher):
    going = asyncio.create_task(dispatcher.run())
    yield going
    assert not going.done()
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going


@pytest.fixture
def states(database):
    async def read_states():
        query = "SELECT id, state, note FROM deliveries ORDER BY run_id"
        return await database.read(lambda c: [tuple(r) for r in c.exec_driver_sql(query)])

    return read_states


async def wait_until(condition):
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0.005)


async def test_a_request_is_made_and_the_row_marked(dispatcher, insert, inbox, engine, states):
    number = await insert()
    assert await dispatcher.dispatch_batch() is False
    ((run_id, taken),) = engine.taken
    assert taken == number
    assert run_id.endswith(f"-d{number}")
    assert await states() == [(f"d{number}", "dispatched", None)]
    assert inbox.depth == 0
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 1


async def test_order_of_arrival_over_several_batches(dispatcher, insert, engine, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 3)
    numbers = [await insert() for _ in range(8)]
    while await dispatcher.dispatch_batch():
        pass
    assert engine.numbers == numbers


async def test_each_command_of_a_comment_is_handed_over_by_itself(
    dispatcher, inbox, sender, engine, states
):
    body = "/bot approve aaa222\n/bot deny bbb333 no"
    author = sender.payload()["sender"]
    comment = {"id": 5, "body": body, "user": author, "html_url": "https://x.example/1"}
    payload = sender.payload(action="created", comment=comment)
    raw = json.dumps(payload).encode()
    await inbox.store(Delivery("d9", "issue_comment", "created", 1, "h9", raw))
    await dispatcher.dispatch_batch()

    first, second = (run_id for run_id, _ in engine.taken)
    assert first.endswith("-d9-1")
    assert second == f"{first[:-1]}2"
    assert await states() == [("d9", "dispatched", None)]


async def test_commands_of_which_one_is_not_taken_are_all_handed_over_again(
    running, inbox, sender, engine, states
):
    body = "/bot approve aaa222\n/bot deny bbb333 no"
    author = sender.payload()["sender"]
    comment = {"id": 5, "body": body, "user": author, "html_url": "https://x.example/1"}
    payload = sender.payload(action="created", comment=comment)
    number = payload["issue"]["number"]
    raw = json.dumps(payload).encode()
    engine.refuse[number] = 1
    await inbox.store(Delivery("d9", "issue_comment", "created", 1, "h9", raw))

    async def has_both():
        return len({run_id for run_id, _ in engine.taken}) == 2

    await wait_until(has_both)


async def test_what_asks_for_nothing_is_ignored_with_the_reason(dispatcher, insert, engine, states):
    await insert(label={"name": "bug"})
    await dispatcher.dispatch_batch()
    assert engine.taken == []
    ((_, state, note),) = await states()
    assert state == "ignored"
    assert "bot:resolve" in note


async def test_poison_fails_alone_and_says_why(dispatcher, insert, inbox, engine, states):
    await insert(repository=None)
    await insert(body=b"{no json")
    await insert(issue={"number": 5, "title": "\ud800"})
    good = await insert()
    await dispatcher.dispatch_batch()
    assert engine.numbers == [good]
    rows = await states()
    assert [state for _, state, _ in rows] == ["failed"] * 3 + ["dispatched"]
    assert "ValidationError" in rows[0][2]
    assert "JSONDecodeError" in rows[1][2]
    assert inbox.depth == 0


async def test_no_value_of_a_payload_gets_into_the_note(dispatcher, insert, states):
    await insert(sender={"id": "hush-hush", "login": "x"})
    await dispatcher.dispatch_batch()
    ((_, state, note),) = await states()
    assert state == "failed"
    assert "sender.id" in note
    assert "hush" not in note


async def test_a_request_that_is_not_taken_is_tried_again(running, insert, engine, states):
    engine.refuse[1], engine.down = 2, True
    await insert()
    second = await insert()
    engine.down = False  # it takes up both at once, however long it took to put them

    async def has_both():
        return len(engine.taken) == 2

    await wait_until(has_both)
    assert engine.numbers == [second, 1]  # the second did not wait for the first


async def test_it_is_given_up_after_some_attempts(running, insert, engine, inbox, states):
    engine.refuse[1] = 10**9
    await insert()

    async def has_failed():
        return (await states())[0][1] == "failed" and inbox.depth == 0

    await wait_until(has_failed)
    assert 10**9 - engine.refuse[1] == module.ATTEMPTS
    assert "RuntimeError: cannot take 1" in (await states())[0][2]


async def test_an_engine_out_of_reach_costs_nobody_an_attempt(running, insert, engine, states):
    engine.down = True
    numbers = [await insert() for _ in range(3)]
    await asyncio.sleep(0.3)  # far more passes than attempts
    assert [state for _, state, _ in await states()] == ["received"] * 3
    engine.down = False

    async def all_taken():
        return engine.numbers == numbers

    await wait_until(all_taken)


async def test_it_is_woken_at_once(running, insert, engine, states, monkeypatch):
    await asyncio.sleep(0.05)
    began = asyncio.get_running_loop().time()
    await insert()

    async def has_taken():
        return bool(engine.taken)

    await wait_until(has_taken)
    assert asyncio.get_running_loop().time() - began < module.POLL_SECONDS / 5


async def test_what_a_crash_left_is_dispatched_at_start(database, insert, engine):
    """A new process over the same file, as after a kill between commit and dispatch."""
    numbers = [await insert(), await insert()]
    inbox = Inbox(database, limit=10)
    await inbox.open()
    going = asyncio.create_task(Dispatcher(database, inbox, engine).run())

    async def all_taken():
        return engine.numbers == numbers

    await wait_until(all_taken)
    going.cancel()
    await asyncio.wait([going])


async def test_a_crash_between_handing_over_and_marking_hands_over_again(
    database, dispatcher, insert, engine, monkeypatch
):
    await insert()

    async def lose(fn):
        raise TransientError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(database, "write", lose)
        with pytest.raises(TransientError):
            await dispatcher.dispatch_batch()
    await dispatcher.dispatch_batch()
    first, second = engine.taken
    assert first == second  # the engine knows it by its run id
    assert await dispatcher.dispatch_batch() is False
    assert len(engine.taken) == 2


@pytest.fixture
def put_back(database, monkeypatch):
    """Return a function that makes every delivery wait again, as another process might."""
    monkeypatch.setattr(module, "POLL_SECONDS", 0.05)
    query = "UPDATE deliveries SET state = 'received'"
    return lambda: database.write(lambda c: c.exec_driver_sql(query))


async def test_rows_of_another_process_are_found_by_polling(
    running, insert, put_back, engine, states
):
    await insert()

    async def is_marked():
        return (await states())[0][1] == "dispatched"

    await wait_until(is_marked)
    await put_back()

    async def second():
        return len(engine.taken) == 2

    await wait_until(second)


# --- what is only heard by a run that is under way ------------------------------------------------


def remark(**changes):
    return {
        "action": "created",
        "comment": {
            "id": 5,
            "body": "Mind the tests.",
            "user": {"login": "maintainer", "id": 8, "type": "User"},
            "html_url": "https://github.com/octo/hello/issues/1#issuecomment-5",
        },
        **changes,
    }


@pytest.fixture
def tell(inbox, sender):
    """Put a delivery about issue 1 into the inbox."""

    async def insert_delivery(ident, event, **changes):
        payload = {**sender.payload(), **changes}
        payload["issue"] = {**payload["issue"], "number": 1}
        body = json.dumps(payload).encode()
        action = payload["action"]
        await inbox.store(Delivery(ident, event, action, 1, f"h{ident}", body))

    return insert_delivery


@pytest.fixture
def take(engine, database):
    """Have the engine create the runs it takes, as the runner does."""
    submit = engine.submit

    async def take_request(run_id, request):
        await submit(run_id, request)
        if request.kind != "command":
            await Runs(database).create(run_id, request)

    engine.submit = take_request


async def test_a_remark_that_no_run_could_hear_goes_no_further(
    dispatcher, tell, engine, database, states
):
    await tell("d1", "issue_comment", **remark())
    await tell("d2", "issues", action="unlabeled")
    await tell("d3", "issues", action="closed")
    await dispatcher.dispatch_batch()

    assert engine.taken == []
    assert [(state, note) for _, state, note in await states()] == [("ignored", NOBODY)] * 3
    kept = "SELECT body FROM deliveries"
    bodies = await database.read(lambda c: [row[0] for row in c.exec_driver_sql(kept)])
    assert [lz4.frame.decompress(body) for body in bodies] == [b""] * 3  # people's talk is theirs


async def test_a_command_goes_on_whether_a_run_is_under_way_or_not(dispatcher, tell, engine):
    said = {**remark()["comment"], "body": "/bot status"}
    await tell("d1", "issue_comment", **remark(comment=said))
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 1


async def test_a_remark_reaches_the_run_that_is_under_way(dispatcher, tell, take, engine, database):
    await tell("d1", "issues", action="labeled")
    await tell("d2", "issue_comment", **remark())
    await dispatcher.dispatch_batch()
    [(run_id, _), (ident, _)] = engine.taken
    assert ident > run_id  # by that the desk knows that it was said to this run
    await Runs(database).record_end(run_id, Outcome(kind="failed", text="x"))
    await tell("d3", "issue_comment", **remark())
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 2


async def live(database):
    query = "SELECT id FROM runs WHERE state = 'queued' ORDER BY id"
    ids = await database.read(lambda c: [row[0] for row in c.exec_driver_sql(query)])
    cancelled = [each for each in ids if await StoredSteers(database).cancel_of(each)]
    return ids, cancelled


async def test_a_label_that_comes_twice_is_one_run(dispatcher, tell, take, database):
    """Redelivered under its id, or put in twice before anybody dispatched it."""
    for _ in range(2):
        await tell("d1", "issues", action="labeled")
        await dispatcher.dispatch_batch()
    ids, cancelled = await live(database)
    assert (len(ids), cancelled) == (1, [])


async def test_label_off_and_on_again_leaves_one_run_in_whatever_order_it_arrives(
    dispatcher, tell, take, engine, database
):
    await tell("d1", "issues", action="labeled")
    await tell("d3", "issues", action="labeled", sender={"login": "bob", "id": 9, "type": "User"})
    await tell("d2", "issues", action="unlabeled")
    await dispatcher.dispatch_batch()
    (first, second), cancelled = await live(database)
    assert cancelled == [first]
    assert (await StoredSteers(database).cancel_of(first)).by == "bob"
    assert engine.taken[-1][0] > second  # the desk finds the label on, and leaves it alone


async def test_a_run_taken_once_more_after_a_crash_cancels_nothing_new(
    dispatcher, tell, take, engine, database
):
    await tell("d1", "issues", action="labeled")
    await tell("d2", "issues", action="labeled", title="again")
    await dispatcher.dispatch_batch()
    first = engine.taken[0][0]
    request = ResolveIssue.model_validate(await Runs(database).request(first))
    await engine.submit(first, request)
    await StoredSteers(database).supersede(first, request)
    (first, _), cancelled = await live(database)
    assert cancelled == [first]


# --- failed checks --------------------------------------------------------------------------------

HEAD = "a" * 40


@pytest.fixture
def fail(inbox, sender):
    """Put into the inbox that checks have failed on the head of pull request 31."""

    async def insert_failure(ident, *, head=HEAD, branch="bot/9-fix"):
        repository = {**sender.payload()["repository"], "html_url": "https://x.example/octo/hello"}
        base = {"repo": {"id": repository["id"]}}
        suite = {
            "head_sha": head,
            "head_branch": branch,
            "conclusion": "failure",
            "pull_requests": [{"number": 31, "base": base, "head": {"sha": head}}],
        }
        payload = {**sender.payload(action="completed"), "repository": repository}
        body = json.dumps({**payload, "check_suite": suite}).encode()
        await inbox.store(Delivery(ident, "check_suite", "completed", 1, f"h{ident}", body))

    return insert_failure


async def test_of_many_checks_that_fail_on_a_commit_one_run_looks(
    dispatcher, fail, take, engine, states
):
    for number in range(5):
        await fail(f"d{number}")
    await fail("d9", head="b" * 40)
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31, 31]
    notes = {ident: note for ident, _, note in await states()}
    assert [notes[f"d{number}"] for number in range(5)] == [None, *[MENDING] * 4]
    assert notes["d9"] is None, "that is another commit"


async def test_those_that_fail_after_its_end_are_looked_at_again(
    dispatcher, fail, take, engine, database
):
    """GitHub lets a check be run again; whether that is covered the run's admission decides."""
    await fail("d1")
    await dispatcher.dispatch_batch()
    [(run_id, _)] = engine.taken
    await Runs(database).record_end(run_id, Outcome(kind="covered", text="So it was."))
    await fail("d2")
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 2


async def test_a_crash_between_making_the_run_and_handing_it_over_loses_nothing(
    dispatcher, fail, engine, database, states
):
    """The row of its own run must not stand in its way."""
    submit = engine.submit

    async def fails_once(run_id, request):
        await Runs(database).create(run_id, request)
        engine.submit = submit
        raise TransientError("the process dies here")

    engine.submit = fails_once
    await fail("d1")
    with pytest.raises(TransientError):
        await dispatcher.dispatch_batch()
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31]
    assert [state for _, state, _ in await states()] == ["dispatched"]


async def test_what_people_have_pushed_is_theirs(dispatcher, fail, engine, database, states):
    await fail("d1", branch="topic")
    await dispatcher.dispatch_batch()
    assert engine.taken == []
    assert [note for *_, note in await states()] == [NOT_OURS]


@pytest.fixture
async def addressing(database):
    """A run that addresses reviews of pull request 31."""
    somebody = Person(id=8, login="mara")
    request = AddressReview(
        installation_id=1,
        repository=Repository(id=99, owner="octo", name="hello", default_branch="main"),
        number=31,
        title="t",
        author=somebody,
        asked_by=somebody,
        url="https://x.example/octo/hello/pull/31",
    )
    await Runs(database).create("0-run", request)
    return request


async def test_but_on_their_branches_fettle_pushes_as_well(
    dispatcher, fail, addressing, engine, database
):
    batch = Batch(kind="reviews", head="c" * 40, pushed=HEAD)
    await Batches(database).remember("0-run", addressing, batch)
    await Runs(database).record_end("0-run", Outcome(kind="comment", text="Done."))
    await fail("d1", branch="topic")
    await fail("d2", branch="topic", head="d" * 40)
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31]


async def test_a_run_that_has_pushed_may_not_have_said_so_yet(
    dispatcher, fail, addressing, engine, states
):
    """It answers every thread first; quick checks have failed by then."""
    await fail("d1", branch="topic")
    await dispatcher.dispatch_batch()
    assert engine.numbers == [31]


async def test_those_that_were_dealt_with_make_no_run_at_all(
    dispatcher, fail, addressing, database, states
):
    batch = Batch(kind="checks", head=HEAD)
    await Batches(database).remember("0-run", addressing, batch)
    await Runs(database).record_end("0-run", Outcome(kind="comment", text="They are flaky."))
    await fail("d1")
    await dispatcher.dispatch_batch()
    assert [(state, note) for _, state, note in await states()] == [("ignored", MENDED)]
