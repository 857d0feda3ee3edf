"""The simulated prompt cache keeps the API's rules, so that its numbers can be trusted."""

import copy

import pytest

from app.simulator.model.cache import PrefixCache
from app.simulator.model.refusal import ErrorAnswer

HOUR = {"type": "ephemeral", "ttl": "1h"}
MINUTES = {"type": "ephemeral"}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def text(words: str, **more) -> dict:
    return {"type": "text", "text": words, **more}


def request(*messages: str, **more) -> dict:
    roles = ("user", "assistant")
    return {
        "model": "m",
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        "system": [text("s" * 400, cache_control=HOUR)],
        "messages": [
            {"role": roles[i % 2], "content": [text(words)]} for i, words in enumerate(messages)
        ],
        "cache_control": MINUTES,
        **more,
    }


def test_a_first_prompt_is_written_and_a_repeated_one_is_read():
    cache = PrefixCache(Clock())
    first = cache.account(request("a" * 400))
    assert first.read == first.input == 0
    assert first.written_1h > 100
    assert first.written_5m > 100
    again = cache.account(request("a" * 400))
    assert again.read == first.written_1h + first.written_5m
    assert again.written_1h == again.written_5m == again.input == 0


def test_a_grown_conversation_reads_all_and_writes_the_new():
    cache = PrefixCache(Clock())
    first = cache.account(request("a" * 400))
    grown = cache.account(request("a" * 400, "b" * 40, "c" * 40))
    assert grown.read == first.written_1h + first.written_5m
    assert 20 <= grown.written_5m <= 60


def test_without_markers_nothing_is_cached():
    cache = PrefixCache(Clock())
    plain = request("a" * 400, system="s", cache_control=None)
    assert cache.account(plain).input == cache.account(plain).input > 100


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"model": "other"}, "nothing"),
        ({"tools": []}, "nothing"),
        ({"system": [text("t" * 400, cache_control=HOUR)]}, "nothing"),
        ({"thinking": {"type": "adaptive"}}, "system"),
        ({"tool_choice": {"type": "none"}}, "system"),
        ({"output_config": {"effort": "low"}}, "all"),
        ({"max_tokens": 5}, "all"),
    ],
)
def test_changes_lose_what_stands_behind_them(change, kept):
    cache = PrefixCache(Clock())
    first = cache.account(request("a" * 400))
    read = cache.account(request("a" * 400, **change)).read
    all_of_it = first.written_1h + first.written_5m
    assert read == {"nothing": 0, "system": first.written_1h, "all": all_of_it}[kept]


def test_entries_end_and_reading_prolongs_them():
    clock = Clock()
    cache = PrefixCache(clock)
    first = cache.account(request("a" * 400))
    clock.now = 200
    assert cache.account(request("a" * 400)).written_5m == 0
    clock.now = 450
    assert cache.account(request("a" * 400)).written_5m == 0
    clock.now = 800
    late = cache.account(request("a" * 400))
    assert late.read == first.written_1h
    assert late.written_5m == first.written_5m
    clock.now = 800 + 3600
    assert cache.account(request("a" * 400)).read == 0


def test_a_marker_looks_back_twenty_blocks():
    for blocks, hit in ((19, True), (20, False)):
        cache = PrefixCache(Clock())
        first = cache.account(request("a" * 400))
        long = request("a" * 400, "b")
        more = [text(f"c{i}") for i in range(blocks - 1)]
        long["messages"].append({"role": "user", "content": more})
        read = cache.account(long).read
        assert read == first.written_1h + (first.written_5m if hit else 0)


def test_markers_are_no_content():
    cache = PrefixCache(Clock())
    marked = request("a" * 400, "b", "c")
    cache.account(marked)
    moved = copy.deepcopy(marked)
    moved["messages"][0]["content"][0]["cache_control"] = MINUTES
    assert cache.account(moved).written_5m == 0


def test_the_api_rules_for_markers():
    cache = PrefixCache(Clock())
    five = [text(str(i), cache_control=MINUTES) for i in range(5)]
    with pytest.raises(ErrorAnswer, match="maximum of 4"):
        cache.account(request("a", system=five))
    late_hour = [text("a", cache_control=MINUTES), text("b", cache_control=HOUR)]
    with pytest.raises(ErrorAnswer, match="1h"):
        cache.account(request("a", system=late_hour))
