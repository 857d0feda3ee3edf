"""Deliveries as GitHub makes them, the receiver's real server on loopback, a sandbox that held."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import shutil
import tempfile
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from pathlib import Path

import aiohttp
import pytest

from app.observability.metrics import Metrics
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.store.database import Database
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import OwnIdentity, WebhookReceiver
from app.webhooks.server import Readiness, build_server, start_server

SANDBOX_UID = 58999
SECRETS = ["It's a Secret to Everybody", "next, with a comma"]


def user(login, number, kind="User"):
    return {"login": login, "id": number, "type": kind, "site_admin": False}


@dataclass
class Sender:
    """Makes signed deliveries, each with its own id and body."""

    secret: str = SECRETS[0]
    numbers: count = field(default_factory=lambda: count(1))

    def payload(self, **changes):
        number = next(self.numbers)
        return {
            "action": "labeled",
            "issue": {
                "number": number,
                "title": "It is broken",
                "body": "See the title.",
                "user": user("author", 7),
                "state": "open",
                "html_url": f"https://github.com/octo/hello/issues/{number}",
                "labels": [{"name": "bot:resolve"}, {"name": "bug"}],
            },
            "label": {"name": "bot:resolve"},
            "repository": {
                "id": 99,
                "name": "hello",
                "owner": user("octo", 3, "Organization"),
                "default_branch": "main",
                "private": False,
            },
            "sender": user("maintainer", 8),
            "installation": {"id": 4242},
            **changes,
        }

    def sign(self, body, secret=None):
        key = (secret or self.secret).encode()
        return "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()

    def make(self, payload=None, *, event="issues", body=None, secret=None, **headers):
        """Return the headers and body of a delivery; a header that is None is left out."""
        if body is None:
            body = json.dumps(self.payload() if payload is None else payload).encode()
        every = {
            "Content-Type": "application/json",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-Hub-Signature-256": self.sign(body, secret),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return {name: value for name, value in every.items() if value is not None}, body


@dataclass
class Served:
    """The server under test, and what is behind it."""

    url: str
    port: int
    session: aiohttp.ClientSession
    database: Database
    inbox: Inbox
    identity: OwnIdentity
    metrics: Metrics
    readiness: Readiness

    async def post(self, delivery):
        """Return status and text of the answer."""
        headers, body = delivery
        data = BytesIO(body)
        async with self.session.post(f"{self.url}/webhook", data=data, headers=headers) as answer:
            return answer.status, await answer.text()

    async def get(self, path):
        async with self.session.get(self.url + path) as answer:
            return answer.status, await answer.text()

    async def rows(self, columns="id, state"):
        query = f"SELECT {columns} FROM deliveries ORDER BY run_id"
        return await self.database.read(lambda c: [tuple(r) for r in c.exec_driver_sql(query)])


@pytest.fixture
def sender():
    return Sender()


@pytest.fixture
def database(tmp_path, sqlite_tables):
    shutil.copy(sqlite_tables, tmp_path / "fettle.db")
    made = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    yield made
    made.close()


@pytest.fixture
def serve(database, tmp_path):
    """Start the real server: `async with serve(limit=...) as served`."""

    @asynccontextmanager
    async def open_receiver(*, limit=10_000, secrets=SECRETS):
        identity, metrics, readiness = OwnIdentity(), Metrics(), Readiness(tmp_path)
        inbox = Inbox(database, limit=limit)
        await inbox.open()
        receiver = WebhookReceiver(secrets, identity)
        application = build_server(receiver, inbox, database, metrics, readiness)
        runner = await start_server(application, "127.0.0.1", 0)
        port = runner.addresses[0][1]
        try:
            async with aiohttp.ClientSession() as session:
                yield Served(
                    f"http://127.0.0.1:{port}",
                    port,
                    session,
                    database,
                    inbox,
                    identity,
                    metrics,
                    readiness,
                )
        finally:
            await runner.cleanup()

    return open_receiver


@pytest.fixture(scope="session")
def sandbox():
    """Return the default sandbox, attacked once for all tests; skip where it does not hold."""
    made = Bubblewrap(SANDBOX_UID)
    report = asyncio.run(made.probe())
    if not report.held:
        pytest.skip(f"no sandbox here: {report.cause}; {report.remedy}")
    return made


@pytest.fixture
def open_folder():
    """A folder that every user may enter; pytest's own is closed to all but us."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
