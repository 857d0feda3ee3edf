"""Output is bounded, and what is left out is told."""

import os
import tempfile

from app.sandbox.output_buffer import FileSink, FullBuffer, HeadTailBuffer


def feed_pieces(sink, data, piece):
    return all(sink.feed(data[at : at + piece]) for at in range(0, len(data), piece))


def test_short_output_is_kept_whole():
    kept = HeadTailBuffer(keep=100, flood=1000)
    assert feed_pieces(kept, b"a" * 60 + b"b" * 39, 7)
    assert kept.text() == "a" * 60 + "b" * 39


def test_long_output_keeps_head_and_tail_and_says_how_much_is_missing():
    for piece in (1, 3, 50, 1000):
        kept = HeadTailBuffer(keep=20, flood=10_000)
        data = bytes(range(97, 107)) + b"-" * 480 + bytes(range(107, 117))
        assert feed_pieces(kept, data, piece)
        assert kept.text() == "abcdefghij\n[... 480 bytes left out ...]\nklmnopqrst"


def test_memory_stays_bounded_for_many_small_pieces():
    kept = HeadTailBuffer(keep=100, flood=10**9)
    feed_pieces(kept, b"x" * 100_000, 10)
    assert kept._tail_size <= 60


def test_a_flood_is_told():
    assert not feed_pieces(HeadTailBuffer(keep=10, flood=1000), b"y" * 1001, 100)


def test_broken_utf8_at_the_cut_is_replaced():
    kept = HeadTailBuffer(keep=3, flood=1000)
    kept.feed("äöü".encode())
    assert "left out" in kept.text()


def test_whole_refuses_what_is_over_its_limit():
    whole = FullBuffer(5)
    assert whole.feed(b"12345")
    assert not whole.feed(b"6")
    assert whole.data() == b"12345"


def test_to_file_writes_everything_up_to_its_limit():
    with tempfile.TemporaryFile() as file:
        sink = FileSink(file.fileno(), 6)
        assert sink.feed(b"abc")
        assert sink.feed(b"def")
        assert not sink.feed(b"g")
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        assert file.read() == b"abcdef"
