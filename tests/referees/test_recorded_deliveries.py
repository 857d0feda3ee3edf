"""What GitHub has sent to others over the years: none of it harms the real server."""

import hmac
import json
import uuid
from collections import Counter
from collections.abc import Iterator

import sqlalchemy

from app.observability.metrics import Metrics
from app.store import tables
from app.store.database import Database
from app.webhooks.dispatcher import Dispatcher
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import OwnIdentity, WebhookReceiver
from app.webhooks.server import Readiness, build_server

EXAMPLES = 329


def examples(packages) -> Iterator[tuple[str, dict]]:
    """Yield event and payload of every recorded delivery."""
    index = packages / "webhooks-examples" / "api.github.com" / "index.json"
    for event in json.loads(index.read_text("utf-8")):
        for payload in event["examples"]:
            yield event["name"], payload


class RememberingEngine:
    """An engine that remembers what it was handed."""

    def __init__(self) -> None:
        self.requests = []

    async def submit(self, run_id, request):
        self.requests.append(request)


async def test_no_recorded_delivery_harms_the_server(packages, tmp_path, aiohttp_client):
    database = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    database.migrate()
    inbox = Inbox(database, limit=10_000)
    await inbox.open()
    receiver = WebhookReceiver(["s3cret"], OwnIdentity())
    server = build_server(receiver, inbox, database, Metrics(), Readiness(tmp_path))
    client = await aiohttp_client(server)
    statuses: Counter[int] = Counter()
    every = list(examples(packages))
    for event, payload in every:
        app_delivery = payload | {"installation": {"id": 7, "node_id": "x"}}
        for body in (json.dumps(payload).encode(), json.dumps(app_delivery).encode()):
            answer = await client.post("/webhook", data=body, headers=sign(event, body))
            statuses[answer.status] += 1
    engine = RememberingEngine()
    while await Dispatcher(database, inbox, engine).dispatch_batch():
        pass
    failed = await database.read(lambda c: c.execute(FAILED).all())
    database.close()
    assert len(every) == EXAMPLES
    assert set(statuses) == {200, 202, 204}
    assert statuses[200] == 2 * sum(event == "ping" for event, _ in every)
    assert failed == []


FAILED = sqlalchemy.select(tables.deliveries).where(tables.deliveries.c.state == "failed")


def sign(event: str, body: bytes) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": f"sha256={hmac.digest(b's3cret', body, 'sha256').hex()}",
    }
