"""Feed a payload through the front door by hand: signed here, decided by what decides on all."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from uuid import uuid4

import orjson

import handlers
from app.store.database import Database
from app.webhooks import Delivery, ImmediateAnswer, Inbox, OwnIdentity, WebhookReceiver
from handlers import DeliveryWork
from handlers.ignored import Ignored


@dataclass(frozen=True)
class Received:
    """What the door says to a delivery, and what it asks for once it is in."""

    said: Delivery | ImmediateAnswer
    asked: DeliveryWork | Ignored | None = None
    """None: it was not let in."""


def receive(event: str, body: bytes) -> Received:
    """Return what becomes of this payload, as far as that is known without asking GitHub.

    Raises DeliveryError where the door refuses it, and pydantic.ValidationError when it has not
    the shape that its event promises. The door does not know here which bot is ours.
    """
    secret = secrets.token_hex(20)  # of this call alone: whoever may write the inbox needs none
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": str(uuid4()),
        "X-Hub-Signature-256": f"sha256={hmac.digest(secret.encode(), body, 'sha256').hex()}",
    }
    said = WebhookReceiver([secret], OwnIdentity()).admit(headers, body)
    if isinstance(said, ImmediateAnswer):
        return Received(said)
    return Received(said, handlers.route(said.event, orjson.loads(said.body)))


async def put_in(database: Database, delivery: Delivery) -> None:
    """Put it into the inbox, from which whoever works on this database takes it."""
    await Inbox(database, limit=1).store(delivery)
