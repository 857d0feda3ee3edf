"""Long texts are read beside the event loop, and what takes too much has an answer all the same."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from agents.text import child_process, clean, clean_in_child, publish, publish_in_child
from agents.text.child_process import SHORT, Exhausted, run_in_child, weigh

LONG = 65_000
MUCH = "a" * (SHORT + 1)
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


def show_environment():
    return Path("/proc/self/environ").read_text(), dict(os.environ)


def leave():
    os._exit(1)


def fail():
    raise ValueError("no such thing")


def try_what_no_text_needs(path):
    """Write a file and begin a process; return what came of it."""
    tried = []
    for attempt in (lambda: path.write_text("x" * 10_000), lambda: os.fork() or os._exit(0)):
        try:
            attempt()
        except OSError as error:
            tried.append(type(error).__name__)
    return tried


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
async def test_a_long_text_comes_out_as_if_read_here(text):
    assert await clean_in_child(text) == clean(text)


async def test_what_is_published_comes_out_as_if_made_here():
    text = "Fixes #2 by @somebody ![x](http://a.example/b) " * (2 * SHORT // 40)
    assert await publish_in_child(text, limit=9_000) == publish(text, limit=9_000)


async def test_the_loop_turns_while_a_long_text_is_read():
    await run_in_child(MUCH, spin, 0)  # a process has begun
    turned = 0

    async def turn():
        nonlocal turned
        while True:
            turned += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    assert await run_in_child(MUCH, spin, 0.2) == "done"
    turning.cancel()
    assert turned > 10


async def test_a_short_text_needs_no_process(monkeypatch):
    monkeypatch.setattr(child_process, "_pool", None)
    assert (await clean_in_child("<!-- x -->a")).text == "a"
    assert (await clean_in_child("word, word. " * 300)).removed == {}


async def test_a_short_text_of_signs_is_no_short_text():
    """A table of 4 kB with many columns took 0.6 seconds."""
    signs = "|" * (SHORT // 16)
    assert weigh(signs) > SHORT >= weigh("word " * (SHORT // 5))
    assert await run_in_child(signs, os.getpid) != os.getpid()


async def test_a_process_is_given_nothing_of_ours(monkeypatch):
    """An operator's variables hold the App's key and the model's."""
    child_process._pool.trim(0)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    began, now = await run_in_child(MUCH, show_environment)
    assert "canary" not in began
    assert set(now) <= {"PATH", "LANG", "PYTHONDONTWRITEBYTECODE", "LC_CTYPE"}


async def test_a_process_can_write_and_begin_nothing(tmp_path):
    tmp_path.chmod(0o777)
    tried = await run_in_child(MUCH, try_what_no_text_needs, tmp_path / "x")
    assert "OSError" in tried
    assert os.getuid() == 0 or "BlockingIOError" in tried  # root's processes are not counted
    assert not (tmp_path / "x").exists() or not (tmp_path / "x").read_text()


async def test_what_the_work_raises_is_raised_here_and_the_process_stays():
    before = await run_in_child(MUCH, os.getpid)
    with pytest.raises(ValueError, match="no such thing"):
        await run_in_child(MUCH, fail)
    assert await run_in_child(MUCH, os.getpid) == before


async def test_a_process_that_goes_away_is_told_and_replaced():
    with pytest.raises(Exhausted):
        await run_in_child(MUCH, leave)
    assert await run_in_child(MUCH, spin, 0) == "done"


async def test_a_process_at_rest_ends_after_its_time():
    pid = await run_in_child(MUCH, os.getpid)
    child_process._pool.trim(3600)
    assert Path(f"/proc/{pid}").exists()
    child_process._pool.trim(0)
    assert not Path(f"/proc/{pid}").exists()


async def test_who_waits_no_longer_has_nobody_work_on():
    asking = asyncio.create_task(run_in_child(MUCH, spin, 600))
    await run_in_child(MUCH, spin, 0)  # the other process: by now both have begun
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.gather(*(run_in_child(MUCH, spin, 0) for _ in range(3))) == ["done"] * 3


@pytest.mark.parametrize("cap", ["CPU_SECONDS", "CLOCK_SECONDS"])
async def test_work_without_an_end_is_ended(monkeypatch, cap):
    """By the kernel when it has worked too long, and by the clock when it does not even work."""
    monkeypatch.setattr(child_process, cap, 0)
    with pytest.raises(Exhausted):
        await run_in_child(MUCH, spin, 600)
    monkeypatch.undo()
    assert await run_in_child(MUCH, spin, 0) == "done"


async def test_memory_has_a_bound():
    with pytest.raises(Exhausted):
        await run_in_child(MUCH, fill, 2 * child_process.MEMORY)


async def test_what_took_too_much_is_one_block_of_code(monkeypatch):
    monkeypatch.setattr(child_process, "CLOCK_SECONDS", 0.0)
    text = "![x](http://a.example/b) `````` " * SHORT
    cleaned = await clean_in_child(text)
    assert cleaned.text.startswith("```````text\n!")
    assert cleaned.removed == {child_process.UNREAD: 1}
    said = await publish_in_child(text, limit=9_000)
    assert said.startswith("```````text\n!")
    assert said.endswith("\n```````")
    assert len(said) <= 9_000


@pytest.mark.parametrize("deep", [">" * LONG, "> - " * (LONG // 4), "- " * (LONG // 2)])
def test_what_nests_without_end_takes_no_memory_and_is_code(deep):
    assert publish(f"{deep} ![x](http://a.example/b)").startswith("```text\n")


async def test_what_took_long_to_clean_is_cleaned_once():
    text = MUCH + "<!-- hidden -->"
    first = await clean_in_child(text)
    assert "hidden" not in first.text
    assert await clean_in_child(text) is first
