"""Long texts are read beside the event loop, and what takes too much has an answer all the same."""

from __future__ import annotations

import asyncio
import time

import pytest

from agents.text import apart, clean, clean_apart, publish, publish_apart
from agents.text.apart import SHORT, Exhausted, run_apart

LONG = 65_000
SLOW = {
    "a list": "- a\n" * (LONG // 4),
    "rows of a table": "a|b\n-|-\n" + "a|\n" * (LONG // 3),
    "headings": "# a\n" * (LONG // 4),
}


def spin(seconds):
    """Work for so long on the processor."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return "done"


def fill(size):
    return len(bytearray(size))


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
async def test_a_long_text_comes_out_as_if_read_here(text):
    assert await clean_apart(text) == clean(text)


async def test_what_is_published_comes_out_as_if_made_here():
    text = "Fixes #2 by @somebody ![x](http://a.example/b) " * (2 * SHORT // 40)
    assert await publish_apart(text, limit=9_000) == publish(text, limit=9_000)


async def test_the_loop_turns_while_a_long_text_is_read():
    await run_apart(SHORT + 1, spin, 0)  # a process has begun
    turned = 0

    async def turn():
        nonlocal turned
        while True:
            turned += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    assert await run_apart(SHORT + 1, spin, 0.2) == "done"
    turning.cancel()
    assert turned > 10


async def test_a_short_text_needs_no_process(monkeypatch):
    monkeypatch.setattr(apart, "to_process", None)
    assert (await clean_apart("<!-- x -->a")).text == "a"


@pytest.mark.parametrize("cap", ["CPU_SECONDS", "CLOCK_SECONDS"])
async def test_work_without_an_end_is_ended(monkeypatch, cap):
    """By the kernel when it has worked too long, and by the clock when it does not even work."""
    monkeypatch.setattr(apart, cap, 0)
    with pytest.raises(Exhausted):
        await run_apart(SHORT + 1, spin, 600)
    monkeypatch.undo()
    assert await run_apart(SHORT + 1, spin, 0) == "done"


async def test_memory_has_a_bound():
    with pytest.raises(Exhausted):
        await run_apart(SHORT + 1, fill, 2 * apart.MEMORY)


async def test_what_took_too_much_is_one_block_of_code(monkeypatch):
    monkeypatch.setattr(apart, "CLOCK_SECONDS", 0.0)
    text = "![x](http://a.example/b) `````` " * SHORT
    cleaned = await clean_apart(text)
    assert cleaned.text.startswith("```````text\n!")
    assert cleaned.removed == {apart.UNREAD: 1}
    said = await publish_apart(text, limit=9_000)
    assert said.startswith("```````text\n!")
    assert said.endswith("\n```````")
    assert len(said) <= 9_000


@pytest.mark.parametrize("deep", [">" * LONG, "> - " * (LONG // 4), "- " * (LONG // 2)])
def test_what_nests_without_end_takes_no_memory_and_is_code(deep):
    assert publish(f"{deep} ![x](http://a.example/b)").startswith("```text\n")
