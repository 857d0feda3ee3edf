"""Deliver signed webhooks once, as GitHub does, and log each delivery."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp
import orjson

from app.simulator.github.accounts import Actor, App
from app.simulator.github.schemas.common import (
    account_json,
    moment,
    organization_json,
    repository_json,
)
from app.simulator.github.state.world import Installation, Repository, World

Json = Any
FIRST_DELIVERY = 500_001
NEEDED = {"dependabot_alert": "vulnerability_alerts"}  # without it, subscribing is no use
UNASKED = ("check_run", "check_suite")  # whoever may write checks hears of these in any case


@dataclass(frozen=True)
class Delivery:
    """One attempt to hand an event to an App."""

    id: int
    app: App
    guid: str
    event: str
    payload: bytes
    redelivery: bool
    request_headers: dict[str, str]
    delivered_at: datetime
    seconds: float
    status_code: int
    """0 when there was no answer at all."""
    status: str
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: str = ""

    @property
    def ok(self) -> bool:
        """Say whether the receiver took it."""
        return 200 <= self.status_code < 300

    def item_json(self) -> Json:
        """Return `hook-delivery-item`."""
        sent = orjson.loads(self.payload)
        return {
            "id": self.id,
            "guid": self.guid,
            "delivered_at": moment(self.delivered_at),
            "redelivery": self.redelivery,
            "duration": round(self.seconds, 3),
            "status": self.status,
            "status_code": self.status_code,
            "event": self.event,
            "action": sent.get("action"),
            "installation_id": sent.get("installation", {}).get("id"),
            "repository_id": sent.get("repository", {}).get("id"),
            "throttled_at": None,
        }

    def whole_json(self) -> Json:
        """Return `hook-delivery`."""
        request = {"headers": self.request_headers, "payload": orjson.loads(self.payload)}
        response = {"headers": self.response_headers, "payload": self.response_body}
        more = {"url": self.app.webhook_url or "", "request": request, "response": response}
        return self.item_json() | more


class Webhooks:
    """Sends what happens to the Apps that asked to hear of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ids: Iterator[int] = itertools.count(FIRST_DELIVERY)
        self._session: aiohttp.ClientSession | None = None
        self._on_the_way: set[asyncio.Task[Delivery]] = set()
        self.log: list[Delivery] = []
        """Every attempt, oldest first."""
        self.timeout = 10.0
        """Seconds the receiver has to answer."""

    async def stop(self) -> None:
        """Give up what is on the way."""
        for sending in self._on_the_way:
            sending.cancel()
        await asyncio.gather(*self._on_the_way, return_exceptions=True)
        if self._session:
            await self._session.close()

    async def wait_until_settled(self) -> None:
        """Wait until every delivery has been answered or has timed out."""
        while self._on_the_way:
            await asyncio.gather(*self._on_the_way, return_exceptions=True)

    async def send_caused(self, cause: Callable[[], object]) -> list[Delivery]:
        """Do what makes events happen; return their deliveries, each answered or timed out.

        What the App does because of them makes events of its own: those are not waited for.
        """
        before = set(self._on_the_way)
        cause()
        caused = await asyncio.gather(*(self._on_the_way - before))
        return sorted(caused, key=lambda delivery: delivery.id)

    def announce(
        self,
        repository: Repository,
        event: str,
        actor: Actor,
        payload: dict[str, Json],
        *,
        only: App | None = None,
    ) -> None:
        """Start sending an event of a repository to every App installed on it, or `only` to one."""
        shared = payload | {"repository": repository_json(self._world, repository)}
        if repository.owner.kind == "Organization":
            shared["organization"] = organization_json(self._world, repository.owner)
        for installation in self._world.installations_on(repository):
            if only is not None and installation.app is not only:
                continue
            if _hears(installation, event) and not installation.suspended_at:
                brief = {"id": installation.id, "node_id": installation.node_id}
                self._send(installation.app, event, actor, shared | {"installation": brief})

    def announce_installation(
        self, installation: Installation, event: str, actor: Actor, payload: dict[str, Json]
    ) -> None:
        """Start sending an event about an installation: its App need not subscribe."""
        self._send(installation.app, event, actor, payload)

    def _send(self, app: App, event: str, actor: Actor, payload: dict[str, Json]) -> None:
        if not app.webhook_url:
            return
        sender = {"sender": account_json(self._world, actor.account)}
        self._start(self._deliver(app, event, orjson.dumps(payload | sender), str(uuid.uuid4())))

    def ping(self, app: App) -> None:
        """Start sending the `ping` that GitHub sends when a webhook is set up."""
        hook = {
            "type": "App",
            "id": app.hook_id,
            "name": "web",
            "active": True,
            "events": app.events,
            "config": {"content_type": "json", "insecure_ssl": "0", "url": app.webhook_url},
            "updated_at": moment(self._world.get_time()),
            "created_at": moment(app.created_at),
            "app_id": app.id,
            "deliveries_url": f"{self._world.api}/app/hook/deliveries",
        }
        payload = {"zen": "Keep it logically awesome.", "hook_id": app.hook_id, "hook": hook}
        self._start(self._deliver(app, "ping", orjson.dumps(payload), str(uuid.uuid4())))

    def redeliver(self, old: Delivery) -> None:
        """Start sending a delivery again under its GUID."""
        self._start(self._deliver(old.app, old.event, old.payload, old.guid, redelivery=True))

    def find(self, app: App, delivery_id: int) -> Delivery | None:
        """Return an attempt made for this App."""
        mine = (each for each in self.log if each.app is app)
        return next((each for each in mine if each.id == delivery_id), None)

    def _start(self, sending: Any) -> None:
        started = asyncio.get_running_loop().create_task(sending)
        self._on_the_way.add(started)
        started.add_done_callback(self._on_the_way.discard)

    async def _deliver(
        self, app: App, event: str, payload: bytes, guid: str, *, redelivery: bool = False
    ) -> Delivery:
        delivery_id, at, began = next(self._ids), self._world.get_time(), time.perf_counter()
        headers = self._headers(app, event, guid, payload)
        code, status, answer, text = await self._post(app.webhook_url or "", headers, payload)
        delivery = Delivery(
            id=delivery_id,
            app=app,
            guid=guid,
            event=event,
            payload=payload,
            redelivery=redelivery,
            request_headers=headers,
            delivered_at=at,
            seconds=time.perf_counter() - began,
            status_code=code,
            status=status,
            response_headers=answer,
            response_body=text,
        )
        self.log.append(delivery)
        return delivery

    def _headers(self, app: App, event: str, guid: str, payload: bytes) -> dict[str, str]:
        key = app.webhook_secret.encode()
        return {
            "Accept": "*/*",
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/1f8bb27",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": guid,
            "X-GitHub-Hook-ID": str(app.hook_id),
            "X-GitHub-Hook-Installation-Target-ID": str(app.id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature": f"sha1={hmac.new(key, payload, hashlib.sha1).hexdigest()}",
            "X-Hub-Signature-256": f"sha256={hmac.new(key, payload, hashlib.sha256).hexdigest()}",
        }

    async def _post(
        self, url: str, headers: dict[str, str], payload: bytes
    ) -> tuple[int, str, dict[str, str], str]:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        limit = aiohttp.ClientTimeout(total=self.timeout)
        try:
            async with self._session.post(
                url, data=payload, headers=headers, timeout=limit, allow_redirects=False
            ) as answer:
                text = (await answer.read())[:65_536].decode(errors="replace")
                good = 200 <= answer.status < 300
                status = "OK" if good else f"Invalid HTTP Response: {answer.status}"
                told = {str(name): value for name, value in answer.headers.items()}
                return answer.status, status, told, text
        except TimeoutError:
            return 0, "timed out", {}, ""
        except aiohttp.ClientError:
            return 0, "failed to connect to host", {}, ""


def _hears(installation: Installation, event: str) -> bool:
    writer = installation.permissions.get("checks") == "write"
    if event in NEEDED and NEEDED[event] not in installation.permissions:
        return False
    return event in installation.app.events or (event in UNASKED and writer)
