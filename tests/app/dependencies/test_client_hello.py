"""The first words of TLS, from real clients and from liars."""

import asyncio
import contextlib
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dependencies.client_hello import NotTls, parse_client_hello, read_client_hello


def hello(name="index.example"):
    """What Python's own TLS says first."""
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def extend_hello(raw, kind, data):
    """The same hello with one extension more."""
    message = bytearray(raw[5:])
    position = 4 + 34
    position += 1 + message[position]
    position += 2 + int.from_bytes(message[position : position + 2], "big")
    position += 1 + message[position]
    size = int.from_bytes(message[position : position + 2], "big")
    message += kind.to_bytes(2, "big") + len(data).to_bytes(2, "big") + data
    message[position : position + 2] = (size + 4 + len(data)).to_bytes(2, "big")
    message[1:4] = (len(message) - 4).to_bytes(3, "big")
    return bytes(raw[:3]) + len(message).to_bytes(2, "big") + bytes(message)


async def read(data):
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return await read_client_hello(reader)


async def test_the_name_of_a_real_client():
    sent = hello()
    raw, said = await read(sent + b"more")
    assert raw == sent
    assert said == ("index.example", False)


async def test_a_client_that_names_nobody():
    assert (await read(hello(None)))[1].name is None


async def test_a_hello_cut_into_many_records():
    raw = hello()
    message = raw[5:]
    records = [message[at : at + 50] for at in range(0, len(message), 50)]
    cut = b"".join(b"\x16\x03\x01" + len(r).to_bytes(2, "big") + r for r in records)
    whole, said = await read(cut)
    assert whole == cut
    assert said.name == "index.example"


async def test_a_second_hello_inside_is_noticed():
    assert (await read(extend_hello(hello(), 0xFE0D, b"hidden")))[1].encrypted


async def test_two_names_are_none():
    names = b"\x00\x0e\x00\x00\x0bother.test"
    with pytest.raises(NotTls):
        await read(extend_hello(hello(), 0, names))


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", b"\x16\x03\x01\xff\xff"]
)
async def test_other_languages(data):
    with pytest.raises(NotTls):
        await read(data)


async def test_a_hello_without_end():
    record = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + b"x" * (16 * 1024 - 4)
    with pytest.raises(NotTls):
        await read(record * 5)


@given(st.binary(min_size=4, max_size=300))
def test_no_bytes_break_it(data):
    with contextlib.suppress(NotTls):
        parse_client_hello(b"\x01" + data)
