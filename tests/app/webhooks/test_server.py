"""The real server on loopback: every kind of bad input, and the answers that watchers see."""

from __future__ import annotations

import asyncio
import json
import random
import zlib

import lz4.frame
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.store.deliveries import Mark, mark
from app.webhooks import server as module
from app.webhooks.receiver import MAX_BODY
from tests.patience import PATIENCE


async def raw(served, data, *, patience=0.2):
    """Send bytes over a connection of their own; return the head of what comes back, if any.

    Only when nothing has come for a while is the sending side closed: the server takes that for
    somebody who went away, and saves itself the answer.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        writer.write(data)
        await writer.drain()
        try:
            async with asyncio.timeout(patience):
                return await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            writer.write_eof()
            async with asyncio.timeout(PATIENCE):
                return await reader.read()
    except asyncio.IncompleteReadError as error:
        return error.partial
    except ConnectionError:
        return b""
    finally:
        writer.close()


def request(headers, body, *, length=None, extra=()):
    lines = ["POST /webhook HTTP/1.1", "Host: x", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body) if length is None else length}", *extra]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


async def test_accepted_and_stored(serve, sender):
    async with serve() as served:
        headers, body = sender.make()
        answer = await served.post((headers, body))
        [(delivery_id, state, run_id, stored)] = await served.rows("id, state, run_id, body")
        assert answer == (202, f"accepted as {run_id}\n")
        assert (delivery_id, state) == (headers["X-GitHub-Delivery"], "received")
        assert lz4.frame.decompress(stored) == body


async def test_two_secrets(serve, sender):
    async with serve(secrets=["old", "new"]) as served:
        for secret, status in [("old", 202), ("new", 202), ("older", 401)]:
            assert (await served.post(sender.make(secret=secret)))[0] == status
        assert len(await served.rows()) == 2


async def test_nothing_is_done_twice(serve, sender):
    async with serve() as served:
        headers, body = sender.make()
        assert (await served.post((headers, body)))[1].startswith("accepted as ")
        assert await served.post((headers, body)) == (202, "received before\n")
        other_id = headers | {"X-GitHub-Delivery": "another-id"}
        assert await served.post((other_id, body)) == (202, "received before\n")
        same_id, other_body = sender.make()
        same_id["X-GitHub-Delivery"] = headers["X-GitHub-Delivery"]
        assert await served.post((same_id, other_body)) == (202, "received before\n")
        assert len(await served.rows()) == 1


async def test_many_at_once_of_one_delivery_are_stored_once(serve, sender):
    async with serve() as served:
        delivery = sender.make()
        answers = await asyncio.gather(*(served.post(delivery) for _ in range(40)))
        first, *others = sorted(answers)
        assert (first[0], first[1].split()[:2]) == (202, ["accepted", "as"])
        assert others == [(202, "received before\n")] * 39
        assert len(await served.rows()) == 1


async def test_a_redelivery_of_a_failed_one_is_received_again(serve, sender):
    async with serve() as served:
        headers, body = sender.make()
        await served.post((headers, body))
        ident = headers["X-GitHub-Delivery"]
        await served.database.write(lambda c: mark(c, [Mark(ident, "failed", "why")]))
        assert await served.post((headers, body)) == (202, "accepted\n")
        assert await served.rows() == [(ident, "received")]


async def test_a_full_inbox_answers_503(serve, sender):
    async with serve(limit=3) as served:
        answers = await asyncio.gather(*(served.post(sender.make()) for _ in range(10)))
        assert sorted(status for status, _ in answers) == [202] * 3 + [503] * 7
        assert len(await served.rows()) == 3
        assert (await served.post(sender.make(event="star")))[0] == 204


async def test_ping_and_the_unhandled(serve, sender):
    async with serve() as served:
        assert await served.post(sender.make({"zen": "x"}, event="ping")) == (200, "pong\n")
        assert await served.post(sender.make(event="star")) == (204, "")
        assert await served.post(sender.make({"action": "assigned"})) == (204, "")
        served.identity.bot_id = 8
        assert await served.post(sender.make()) == (204, "")
        assert await served.rows() == []


async def test_refusals_are_one_plain_line(serve, sender):
    async with serve() as served:
        for delivery, status in [
            (sender.make(X_GitHub_Delivery=None), 400),
            (sender.make(X_Hub_Signature_256=None), 401),
            (sender.make(secret="wrong"), 401),
            (sender.make(Content_Type="text/plain"), 415),
            (sender.make(body=b"[]"), 400),
        ]:
            got, text = await served.post(delivery)
            assert got == status
            assert text.endswith("\n")
            assert text.count("\n") == 1
        assert await served.rows() == []


async def test_other_methods_and_paths(serve):
    async with serve() as served:
        assert (await served.get("/webhook"))[0] == 405
        assert (await served.get("/"))[0] == 404
        assert (await served.get("/webhook/../../etc/passwd"))[0] == 404


async def test_sizes(serve, sender):
    async with serve() as served:
        most = sender.make(body=b'{"action":"unhandled"}' + b" " * (MAX_BODY - 22))
        assert (await served.post(most))[0] == 204
        headers, _ = sender.make()
        answer = await raw(served, request(headers, b"{}", length=MAX_BODY + 1))
        assert answer.startswith(b"HTTP/1.1 413 ")
        chunked = sender.make(body=b"{}", Transfer_Encoding="chunked")[0]
        lines = request(chunked, b"").replace(b"Content-Length: 0\r\n", b"")
        flood = b"1000000\r\n" + b" " * 0x1000000 + b"\r\n"
        assert (await raw(served, lines + flood * 2)).startswith(b"HTTP/1.1 413 ")


async def test_a_body_in_slow_pieces_is_taken(serve, sender):
    async with serve() as served:
        headers, body = sender.make()
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        whole = request(headers, body)
        for piece in (whole[:40], whole[40:-30], whole[-30:-1], whole[-1:]):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)
        assert (await reader.readline()).startswith(b"HTTP/1.1 202 ")
        writer.close()
        assert len(await served.rows()) == 1


async def test_a_body_that_never_ends_is_given_up(serve, sender, monkeypatch):
    monkeypatch.setattr(module, "BODY_SECONDS", 0.1)
    async with serve() as served:
        headers, body = sender.make()
        answer = await raw(served, request(headers, body, length=len(body) + 1), patience=PATIENCE)
        assert answer.startswith(b"HTTP/1.1 408 ")


async def test_disconnects_at_every_point_leave_the_server_well(serve, sender):
    async with serve() as served:
        whole = request(*sender.make())
        for end in [*range(1, 200, 17), *range(200, len(whole), 90), len(whole) - 1]:
            assert await raw(served, whole[:end], patience=0.001) == b""
        assert await served.rows() == []
        assert (await served.post(sender.make()))[0] == 202


async def test_a_compressed_body_is_not_unpacked(serve, sender):
    async with serve() as served:
        _, body = sender.make()
        packed = zlib.compress(body)
        headers, _ = sender.make(body=packed, Content_Encoding="deflate")
        answer = await raw(served, request(headers, packed))
        assert answer.startswith(b"HTTP/1.1 415 ")


ODD_BYTES = [
    b"\x00" * 100,
    b"GET",
    b"POST /webhook HTTP/9.9\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 5_000 + b"\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: \xff\xfe\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: \xc3\x28\r\n\r\n",
    b"POST http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /webhook?\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,  # TLS to a plain port
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


@pytest.mark.parametrize("data", ODD_BYTES, ids=range(len(ODD_BYTES)))
async def test_bytes_that_are_no_request_get_no_500(serve, sender, data, caplog):
    async with serve() as served:
        answer = await raw(served, data)
        assert answer[9:10] != b"5"
        assert (await served.post(sender.make()))[0] == 202
    assert caplog.text == ""  # strangers cannot fill the log


@pytest.mark.parametrize("name", ["Event", "Delivery"])
@pytest.mark.parametrize("value", ["é", "\udcff", "a b", "a" * 8000, "", "\x01", "\x7f"])
async def test_odd_header_values(serve, sender, name, value):
    async with serve() as served:
        headers, body = sender.make()
        answer = await raw(served, request(headers | {f"X-GitHub-{name}": value}, body))
        assert answer[:13] in {b"HTTP/1.1 400 ", b"HTTP/1.0 400 "}  # 1.0: the parser's own
        assert await served.rows() == []


@pytest.mark.parametrize("value", ["sha256=é", "sha256=\udcff", "\udcff", "sha256=" + "g" * 64])
async def test_odd_signatures_are_401(serve, sender, value):
    async with serve() as served:
        headers, body = sender.make()
        answer = await raw(served, request(headers | {"X-Hub-Signature-256": value}, body))
        assert answer.startswith(b"HTTP/1.1 401 ")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)


async def test_signed_nonsense_gets_no_500(serve, sender):
    """Each part of a payload replaced by anything, and bodies damaged at random: signed, posted."""
    fixed = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    bodies = []

    @fixed
    @given(st.sampled_from([*sender.payload(), "extra"]), json_values)
    def replace(part, value):
        bodies.append(json.dumps(sender.payload() | {part: value}).encode())

    @fixed
    @given(st.binary(max_size=12), st.integers(0, 700), st.integers(0, 700))
    def damage(piece, start, end):
        body = json.dumps(sender.payload()).encode()
        bodies.append(body[:start] + piece + body[end:])

    replace()
    damage()
    async with serve() as served:
        statuses = {(await served.post(sender.make(body=body)))[0] for body in bodies}
        assert statuses <= {202, 204, 400}
        assert {202, 400} <= statuses
        assert (await served.get("/healthz"))[0] == 200


async def test_damaged_requests_get_no_500(serve, sender):
    dice = random.Random(7)
    async with serve() as served:
        for _ in range(300):
            whole = bytearray(request(*sender.make()))
            for _ in range(dice.randrange(1, 6)):
                whole[dice.randrange(len(whole))] = dice.randrange(256)
            answer = await raw(served, bytes(whole), patience=0.02)
            assert answer[9:10] != b"5"
        assert (await served.post(sender.make()))[0] == 202


async def test_a_fault_of_ours_is_503_so_that_github_keeps_it(serve, sender):
    async with serve() as served:
        served.inbox.take = None
        assert (await served.post(sender.make()))[0] == 503


async def test_health_and_readiness(serve, monkeypatch):
    async with serve() as served:
        assert await served.get("/healthz") == (200, "alive\n")
        assert await served.get("/readyz") == (200, "ready\n")
        served.readiness.draining = True
        assert await served.get("/readyz") == (503, "draining: this process is about to stop\n")
        assert (await served.get("/healthz"))[0] == 200
        monkeypatch.setattr(module, "FREE_BYTES", 2**80)
        status, text = await served.get("/readyz")
        assert status == 503
        assert text.count("\n") == 2


async def test_not_ready_while_somebody_else_holds_the_database(serve, monkeypatch):
    monkeypatch.setattr(module, "READY_SECONDS", 0.2)
    async with serve() as served:
        other = served.database.engine.connect().execution_options(writes=True)
        with other, other.begin():
            status, text = await served.get("/readyz")
        assert status == 503
        assert text == "database: no answer\n"
        assert (await served.get("/readyz"))[0] == 200


async def test_numbers(serve, sender):
    async with serve(limit=2) as served:
        delivery = sender.make()
        for each in (delivery, delivery, sender.make(), sender.make()):
            await served.post(each)
        await served.post(sender.make(secret="wrong"))
        await served.post(sender.make(event="star"))
        await served.post(sender.make({}, event="ping"))
        served.metrics.at_scrape(lambda c: seen.append(c.exec_driver_sql("SELECT 1").scalar()))
        seen = []
        status, text = await served.get("/metrics")
        assert status == 200
        assert seen == [1]
        for outcome, number in {
            "accepted": 2,
            "duplicate": 1,
            "full": 1,
            "refused": 1,
            "unhandled": 1,
            "pong": 1,
            "from_bot": 0,
            "passed": 0,
        }.items():
            assert f'fettle_deliveries_total{{outcome="{outcome}"}} {number}.0\n' in text
        assert "fettle_inbox_depth 2.0\n" in text
        oldest = float(text.split("\nfettle_inbox_oldest_seconds ")[1].split("\n")[0])
        assert 0 < oldest < 10
