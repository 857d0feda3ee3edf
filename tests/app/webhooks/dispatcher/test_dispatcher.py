"""The dispatcher: each delivery becomes a request once, and a bad one holds up no other."""

from __future__ import annotations

import asyncio
import json

import pytest

from agents.errors import TransientError
from agents.text import child_process
from app.webhooks import dispatcher as module
from app.webhooks.dispatcher import UNREADABLE, Dispatcher
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import Delivery
from tests.patience import PATIENCE


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

    async def has_asked():
        return engine.asked > module.ATTEMPTS

    await wait_until(has_asked)
    assert [state for _, state, _ in await states()] == ["received"] * 3
    engine.down = False

    async def has_all():
        return engine.numbers == numbers

    await wait_until(has_all)


@pytest.fixture
def never_unasked(monkeypatch):
    monkeypatch.setattr(module, "POLL_SECONDS", 10 * PATIENCE)


async def test_what_arrives_is_dispatched_at_once(never_unasked, running, insert, engine):
    for number in (1, 2, 3):  # it waits already when the later ones come

        async def has_taken(number=number):
            return len(engine.taken) == number

        await insert()
        await wait_until(has_taken)


async def test_what_a_crash_left_is_dispatched_at_start(database, insert, engine):
    """A new process over the same file, as after a kill between commit and dispatch."""
    numbers = [await insert(), await insert()]
    inbox = Inbox(database, limit=10)
    await inbox.open()
    going = asyncio.create_task(Dispatcher(database, inbox, engine).run())

    async def has_all():
        return engine.numbers == numbers

    await wait_until(has_all)
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

    async def has_two():
        return len(engine.taken) == 2

    await wait_until(has_two)


async def test_a_comment_that_takes_too_long_to_be_read_asks_for_nothing(
    dispatcher, inbox, sender, states, monkeypatch
):
    monkeypatch.setattr(child_process, "CLOCK_SECONDS", 0.0)
    user = {"login": "mara", "id": 8, "type": "User"}
    comment = {"id": 5, "body": "/bot go\n" * 1000, "user": user, "html_url": "https://a.example"}
    payload = {**sender.payload(), "action": "created", "comment": comment}
    await inbox.store(
        Delivery("d1", "issue_comment", "created", 1, "h1", json.dumps(payload).encode())
    )
    await dispatcher.dispatch_batch()
    assert [(state, note) for _, state, note in await states()] == [("ignored", UNREADABLE)]


class WatchedInbox(Inbox):
    """Counts how often a dispatcher looks into the database."""

    looks = 0

    def recount(self, stored):
        super().recount(stored)
        self.looks += 1


async def test_what_another_process_has_dispatched_is_not_looked_for_any_more(
    database, engine, sender
):
    inbox = WatchedInbox(database, limit=1000)
    dispatcher = Dispatcher(database, inbox, engine, retry_seconds=0.01)
    payload = sender.payload()
    number = payload["issue"]["number"]
    raw = json.dumps(payload).encode()
    await inbox.store(Delivery("d1", "issues", "labeled", 1, "h1", raw))
    engine.refuse[number] = 1
    await dispatcher.dispatch_batch()  # put off
    await Dispatcher(database, inbox, engine).dispatch_batch()  # another one takes it
    assert engine.numbers == [number]
    await asyncio.sleep(0.02)  # the time of the retry comes
    before = inbox.looks
    going = asyncio.create_task(dispatcher.run())
    await wait_until(lambda: asyncio.sleep(0, inbox.looks > before))
    await asyncio.sleep(0.3)
    going.cancel()
    assert inbox.looks == before + 1  # it looked without a pause


async def test_what_another_process_has_dispatched_takes_no_room(database, engine, sender):
    inbox = Inbox(database, limit=2)
    dispatcher = Dispatcher(database, inbox, engine)
    other = Dispatcher(database, Inbox(database, limit=2), engine)
    for number in range(6):
        await inbox.store(Delivery(f"d{number}", "ping", "", 1, f"h{number}", b"{}"))
        await other.dispatch_batch()
        await dispatcher.dispatch_batch()
        assert inbox.depth == 0
