"""A request of the operator: as durable as a delivery, and not to be had over the web."""

from __future__ import annotations

import json

import pytest

from agents.errors import DeliveryError
from agents.requests import (
    AddressReview,
    FixChecks,
    Person,
    Repository,
    ResolveIssue,
    UpdateBranch,
)
from app.config.settings import load_settings
from app.operator.submit import hand_over, is_served
from app.store.process_lock import Claim
from app.store.runs.lanes import Lanes
from app.webhooks.dispatcher import Dispatcher
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import OwnIdentity, WebhookReceiver
from handlers import is_handled, route
from handlers.ignored import Ignored
from handlers.internal import TERMINAL, TERMINAL_ACTION

REQUEST = ResolveIssue(
    installation_id=1,
    repository=Repository(id=99, owner="octo", name="hello", default_branch="main"),
    number=12,
    title="t",
    body='b "quoted" \u2028',
    author=Person(id=7, login="author"),
    asked_by=Person(id=0, login="root"),
    label="bot:resolve",
    url="https://github.com/octo/hello/issues/12",
    via="terminal",
)


class SubmittingEngine:
    def __init__(self):
        self.taken = {}

    async def submit(self, run_id, request):
        self.taken[run_id] = request


async def test_it_waits_in_the_inbox_and_is_seen_at_once(database):
    run_id = await hand_over(database, REQUEST)
    [live] = await Lanes(database).live(REQUEST)
    assert (live.id, live.state) == (run_id, "queued")

    inbox, engine = Inbox(database, limit=10), SubmittingEngine()
    await inbox.open()
    await Dispatcher(database, inbox, engine).dispatch_batch()
    assert engine.taken == {run_id: REQUEST}
    assert inbox.depth == 0


async def test_what_another_process_put_in_is_not_counted_below_nothing(database):
    inbox, engine = Inbox(database, limit=10), SubmittingEngine()
    await inbox.open()
    await hand_over(database, REQUEST)
    await Dispatcher(database, inbox, engine).dispatch_batch()
    assert inbox.depth == 0


async def test_asked_twice_it_is_two_runs(database):
    assert await hand_over(database, REQUEST) != await hand_over(database, REQUEST)


async def test_whether_anybody_serves(tmp_path):
    settings = load_settings({"FETTLE_DATA_DIR": str(tmp_path)}, serving=False)
    assert not await is_served(settings)
    assert list(tmp_path.iterdir()) == [], "looking leaves nothing behind"
    claim = Claim(settings.database, "fettle")
    await claim.take()
    assert await is_served(settings)
    await claim.release()
    assert not await is_served(settings)


# --- the attack: to be taken for the operator, who is asked for no role ---------------------------


@pytest.mark.parametrize("event", [TERMINAL, TERMINAL.upper(), f" {TERMINAL}", "fettle_terminal"])
async def test_no_delivery_passes_for_the_operators_word_however_well_it_is_signed(
    serve, sender, event
):
    payload = {
        "action": TERMINAL_ACTION,
        "request": REQUEST.model_dump(mode="json"),
        "sender": sender.payload()["sender"],
    }
    async with serve() as served_:
        status, _ = await served_.post(sender.make(payload, event=event))
        assert status in (204, 400)
        assert await served_.rows() == []


def test_the_door_knows_no_such_event(sender):
    assert not is_handled(TERMINAL)
    assert not is_handled(TERMINAL, TERMINAL_ACTION)
    headers, body = sender.make({"action": TERMINAL_ACTION}, event=TERMINAL)
    with pytest.raises(DeliveryError, match="X-GitHub-Event"):
        WebhookReceiver([sender.secret], OwnIdentity()).admit(headers, body)


def test_a_labels_delivery_cannot_say_that_it_came_from_the_terminal(sender):
    payload = sender.payload(via="terminal", request=REQUEST.model_dump(mode="json"))
    assert route("issues", payload).via == "label"


ON_PULL = REQUEST.model_dump(exclude={"kind", "body", "label"})


@pytest.mark.parametrize("kind", [AddressReview, UpdateBranch, FixChecks])
def test_what_is_done_on_pull_requests_can_be_asked_for_as_well(kind):
    more = {"head": "a" * 40} if kind is FixChecks else {}
    request = kind(**ON_PULL, **more)
    assert route(TERMINAL, json.loads(f'{{"request": {request.model_dump_json()}}}')) == request


def test_what_was_not_asked_for_at_the_terminal_has_no_business_there():
    by_label = REQUEST.model_copy(update={"via": "label"}).model_dump(mode="json")
    assert isinstance(route(TERMINAL, {"request": by_label}), Ignored)
    assert route(TERMINAL, json.loads(f'{{"request": {REQUEST.model_dump_json()}}}')) == REQUEST
