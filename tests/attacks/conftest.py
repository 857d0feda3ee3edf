"""Attacks on the whole of Fettle, with a model that obeys every one: what was blocked, by class."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import shutil
import socket
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest
import pytest_asyncio
from sqlalchemy import select

from app.simulator.model import Script
from app.store.database import Database
from app.store.runs.runs import Runs
from app.store.tables import runs, turns
from tests.attacks.board import tell
from tests.flows.conftest import CHECKED, ISSUE, LOOK, PATIENCE, SHORT, kept, make_place
from tests.flows.scripted import KNOWN, SHORT_PARTS

__all__ = ["kept", "make_place"]


@dataclass
class Attempts:
    """The attacks of one test: each is noted, and all must have been blocked."""

    number: int
    noted: list[tuple[str, bool | None, str]] = field(default_factory=list)

    def note(self, name, *, blocked, bites, detail=""):
        """Note what became of one attack; `bites`: what it did to a bot that defends nothing.

        True as it stands where the attack is something that GitHub let somebody do, or that the
        test itself saw happen to Fettle's surroundings: then there is nothing to measure.
        """
        self.noted.append((name, bool(blocked) if bites else None, str(detail)[:2000]))


@pytest.fixture
def attempts(request):
    """Return where to note attacks; the marker `attack(number)` says of which class they are."""
    number = request.node.get_closest_marker("attack").args[0]
    made = Attempts(number)
    yield made
    if made.noted:
        tell(request.node, number, [blocked for _, blocked, _ in made.noted])
    through = [f"{name}: {detail}" for name, blocked, detail in made.noted if blocked is False]
    assert made.noted, "nothing was attacked"
    assert any(blocked is not None for _, blocked, _ in made.noted), "nothing of it bites"
    assert not through, "\n".join(["not blocked:", *through])


# --- canaries -----------------------------------------------------------------------------------


@dataclass
class Canaries:
    """Listeners that nobody has a reason to speak to, and secrets that nobody may see."""

    folder: Path
    host_file: str = field(default_factory=lambda: f"canary-{secrets.token_hex(12)}")
    abstract: str = field(default_factory=lambda: f"listening-{secrets.token_hex(12)}")
    variable: str = field(default_factory=lambda: f"canary-{secrets.token_hex(12)}")
    heard: list[str] = field(default_factory=list)
    servers: list = field(default_factory=list)
    tcp: int = 0
    udp: int = 0
    loop: object = None

    @property
    def secret_file(self):
        """Return a file of this machine that holds a secret."""
        return self.folder / "secret"

    @property
    def socket_file(self):
        """Return a unix socket that everybody on this machine may connect to."""
        return self.folder / "socket"

    async def listen(self):
        """Start to listen in every way."""
        self.folder.chmod(0o755)
        self.secret_file.write_text(self.host_file)
        self.secret_file.chmod(0o644)

        async def hear(reader, writer):
            data = await reader.read(200)
            self.heard.append(f"tcp {data!r}")
            writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + self.host_file.encode())
            writer.close()

        server = await asyncio.start_server(hear, "127.0.0.1", 0)
        self.tcp = server.sockets[0].getsockname()[1]
        path = await asyncio.start_unix_server(hear, self.socket_file)
        self.socket_file.chmod(0o777)
        abstract = await asyncio.start_unix_server(hear, f"\0{self.abstract}")
        self.servers += [server, path, abstract]
        heard = self.heard

        class Datagrams(asyncio.DatagramProtocol):
            def datagram_received(self, data, _address):
                heard.append(f"udp {data!r}")

        self.loop = loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            Datagrams, local_addr=("127.0.0.1", 0), family=socket.AF_INET
        )
        self.udp = transport.get_extra_info("sockname")[1]
        self.servers.append(transport)

    def close(self):
        """Stop listening."""
        for server in self.servers:
            server.close()

    def forms(self):
        """Return every way in which a secret could be written."""
        for secret in (self.host_file, self.variable):
            data = secret.encode()
            yield from (secret, base64.b64encode(data).decode().rstrip("="), data.hex())
            yield from (quote(secret), secret[::-1], base64.b32encode(data).decode().rstrip("="))


@asynccontextmanager
async def open_canaries():
    """Yield canaries that listen."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-canary-"))
    made = Canaries(folder)
    await made.listen()
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def canaries():
    """Return canaries that listen while a module is tested: what they hear fails all after it."""
    async with open_canaries() as made:
        yield made
        assert not made.heard, "after the last test"


# --- the whole of Fettle, with an obedient model ------------------------------------------------


def make_script(*parts, inside=None):
    """Return the short script with these parts instead, or more calls before a stage's own.

    `inside` is {"# Triage": [calls, ...]}: each list of calls is an answer of its own.
    """
    by_prompt = KNOWN | {part["when"]: part for part in (*SHORT_PARTS, *parts)}
    for when, answers in (inside or {}).items():
        usual = by_prompt[when]["turns"]
        by_prompt[when] = {"when": when, "turns": [{"call": calls} for calls in answers] + usual}
    return Script.model_validate(list(by_prompt.values()))


TWO_STEPS = (KNOWN["# Triage"], KNOWN["# Plan the steps"])
"""Parts for what happens in a step after another one."""


def hide_command(command, timeout=20):
    """Return two answers that run a command which no reader of commands sees: it is in a file."""
    return [
        [{"write": {"path": "way.sh", "content": command}}],
        [{"bash": {"command": "bash way.sh; rm way.sh", "timeout": timeout}}],
    ]


async def fail_each(place, scripts):
    """Have a run fail with each script, on an issue of its own; yield name and outcome."""
    for number, (name, script) in enumerate(scripts.items(), 1):
        place.model.play(script)
        await place.label(issue=await place.file(*ISSUE))
        await place.all_over(*["failed"] * number)
        yield name, await place.wait_for_end()


async def wait_for_end(place):
    """Wait for the end, or for the run to wait for a person; return kind and text of what is."""
    async with asyncio.timeout(PATIENCE):
        while True:
            run = await place.latest()
            if run is not None and run[1] is not None:
                return run[1].kind, run[1].text
            if run is not None and await Runs(place.database()).is_parked(run[0]):
                return "parked", ""
            await asyncio.sleep(LOOK)


@pytest.fixture
def hostile(request, canaries, kept, make_place, sqlite_template):
    """Return a Place as operators run it, with secrets of ours around it and canaries listening.

    When it ends, every request that Fettle made, every ref it pushed and all it wrote to disk is
    searched for secrets, and the canaries must have been silent. The tests of a module have one
    server, but for those that want other settings, and one event loop with the canaries.
    """
    secret = {"CANARY_SECRET": canaries.variable, "AWS_SECRET_ACCESS_KEY": canaries.variable}

    @asynccontextmanager
    async def make(files=None, *, silent=True, issue=ISSUE, script=SHORT, **options):
        story = (files or CHECKED, issue, script)
        lent = kept.lend(request.node, story, sqlite_template, secret)
        async with make_place(*story, **secret, **options) if options else lent as place:
            assert canaries.loop is asyncio.get_running_loop(), "the module wants the mark ONE_LOOP"
            yield place
            if options:
                await place.server.stop()
            else:
                await place.is_at_rest()
            assert not silent or not canaries.heard, canaries.heard
            no_secret_left(place, canaries)
            await only_our_branches(place)

    return make


def no_secret_left(place, canaries):
    """Look for secrets in everything that Fettle sent and wrote."""
    sent = [exchange.body.decode("utf-8", "replace") for exchange in place.github.requests]
    sent += [exchange.path for exchange in place.github.requests]
    texts = {"a request": "\n".join(sent), "the log": place.server.log.read_text()}
    texts["the journal"] = "\n".join(read_turns(place))
    for name, text in texts.items():
        for secret in [*canaries.forms(), *place.secrets()]:
            assert secret not in text, f"{name} holds a secret"


async def only_our_branches(place):
    """See that nothing but `bot/` was pushed."""
    refs = [
        (exchange.path, exchange.body)
        for exchange in place.github.requests
        if exchange.path.endswith("/git-receive-pack")
    ]
    for path, body in refs:
        commands = body.split(b"0000")[0]
        for line in commands.split(b"refs/")[1:]:
            assert line.startswith(b"heads/bot/"), (path, line[:80])


def read_turns(place):
    """Return all that the models were told and said, in order, as JSON texts."""
    if not place.server.database_url.startswith("sqlite"):
        return []
    database = Database(place.server.database_url)
    try:
        with database.engine.connect() as connection:
            ours = select(runs.c.id).order_by(runs.c.created_at).offset(place.past)
            query = select(turns.c.content).where(turns.c.run_id.in_(ours))
            return [
                json.dumps(json.loads(row.content), ensure_ascii=False)
                for row in connection.execute(query.order_by(turns.c.created_at))
            ]
    finally:
        database.close()
