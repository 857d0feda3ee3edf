"""What strangers hold at the door has bounds: connections, heads that never end, bodies."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from app.webhooks.connections import SMALL, BodyRoom, Connections
from tests.patience import PATIENCE

HEAD = b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 26000000\r\n"


async def connect(served, data=b""):
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(data)
    await writer.drain()
    return reader, writer


async def ask(served):
    """Return the status of `/healthz`, asked over a connection of its own."""
    reader, writer = await connect(served, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(PATIENCE):
        line = await reader.readline()
    writer.close()
    return line.split()[1:2]


async def is_over(reader):
    """Wait until the server has ended the connection."""
    async with asyncio.timeout(PATIENCE):
        try:
            while await reader.read(1000):
                pass
        except ConnectionError:
            pass
    return True


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /healthz HTTP/1.1\r\nX: ", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /he"],
    ids=["nothing", "half a head", "half of a second head"],
)
async def test_a_head_that_never_ends_ends_the_connection(serve, monkeypatch, sent):
    monkeypatch.setattr(Connections.__init__, "__kwdefaults__", {"head_seconds": 0.2})
    async with serve() as served:
        reader, writer = await connect(served, sent)
        assert await is_over(reader)
        writer.close()
        assert await ask(served) == [b"200"]


class Transport(asyncio.Transport):
    """A connection that notes its end."""

    def __init__(self):
        super().__init__()
        self.ended = False

    def abort(self):
        self.ended = True


async def test_one_too_many_ends_the_one_that_has_waited_longest():
    bounds = Connections(3)
    held = [Transport() for _ in range(5)]
    for each in held:
        bounds.enter(each)
    assert [each.ended for each in held] == [True, True, False, False, False]
    for each in held:
        bounds.leave(each)
    more = Transport()
    bounds.enter(more)
    bounds.leave(more)
    assert not more.ended


async def test_who_is_being_answered_stays_and_one_too_many_goes():
    class Request:
        transport = Transport()

    bounds = Connections(1)
    bounds.enter(Request.transport)
    late = Transport()

    async def answer(_request):
        bounds.enter(late)

    await bounds.watch(Request, answer)
    assert (Request.transport.ended, late.ended) == (False, True)
    bounds.leave(Request.transport)


def test_room_for_bodies_keeps_a_quarter_for_small_ones_and_comes_back():
    room = BodyRoom(8 * SMALL)
    with room.reserve() as large, room.reserve() as other:
        assert all(large(SMALL) for _ in range(6))
        assert not large(SMALL)
        assert other(SMALL)
        assert not other(SMALL)
    with room.reserve() as again:
        assert all(again(SMALL) for _ in range(6))


async def test_forty_held_bodies_take_little_memory(tmp_path):
    """Each is 26 MB, of which the last byte does not come."""
    script = Path(__file__).parent / "bad_input_server.py"
    server = subprocess.Popen(
        [sys.executable, script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(await asyncio.to_thread(server.stdout.readline))
        answers = await asyncio.gather(*(hold_body(port) for _ in range(40)))
        status = Path(f"/proc/{server.pid}/status").read_text()
    finally:
        server.communicate("")
    [peak] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
    assert peak <= 300 * 1024  # kilobytes
    assert b"503" in answers


async def hold_body(port):
    """Send all of a body but its end; return the status that comes back, if one does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HEAD + b"Content-Type: application/json\r\nX-GitHub-Event: issues\r\n")
    writer.write(b"X-GitHub-Delivery: d\r\nX-Hub-Signature-256: sha256=" + b"0" * 64 + b"\r\n\r\n")
    try:
        for _ in range(25):
            writer.write(b" " * 1_000_000)
            await writer.drain()
        async with asyncio.timeout(1):
            return (await reader.readline()).split()[1:2][0]
    except (ConnectionError, TimeoutError, IndexError):
        return b""
    finally:
        writer.close()
