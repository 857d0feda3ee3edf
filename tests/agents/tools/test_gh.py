"""The tool `gh`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.errors import ToolError
from agents.tools.gate.gate import call


class Forge:
    """The port Forge: says what it was asked."""

    def __init__(self, text="found"):
        self.text = text
        self.asked = []

    async def read(self, verb, arguments):
        self.asked.append((verb, dict(arguments)))
        return self.text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"verb": "issue", "number": 7}, {"number": 7}),
        ({"verb": "pull_request", "number": 7, "diff": True}, {"number": 7, "diff": True}),
        ({"verb": "checks", "ref": "bot/fix"}, {"ref": "bot/fix"}),
        ({"verb": "log", "number": 99}, {"number": 99}),
        ({"verb": "search", "query": "a b", "of": "code"}, {"query": "a b", "of": "code"}),
    ],
)
async def test_each_verb_is_asked_for_and_its_answer_fenced(reading, arguments, told):
    forge = Forge("one\x1b[2J\ntwo")

    text = await call("gh", arguments, bench=replace(reading, forge=forge))

    [(verb, given)] = forge.asked
    assert verb == arguments["verb"]
    assert given.items() >= told.items()
    opening, *lines, closing = text.split("\n")
    assert lines == ["one\\x1b[2J", "two"]
    assert (opening[:11], closing[:12]) == ("<untrusted-", "</untrusted-")


@pytest.mark.parametrize(
    "arguments",
    [
        {"verb": "issue"},
        {"verb": "checks"},
        {"verb": "search"},
        {"verb": "log"},
        {"verb": "issue", "number": 0},
        {"verb": "merge", "number": 7},
        {"verb": "api", "query": "DELETE /repos"},
        {"verb": "issue", "number": 7, "repo": "other/repo"},
        {"verb": "search", "query": "x" * 201},
    ],
)
async def test_other_calls_are_refused(reading, arguments):
    forge = Forge()

    with pytest.raises(ToolError, match="cannot run with these arguments"):
        await call("gh", arguments, bench=replace(reading, forge=forge))

    assert forge.asked == []


async def test_a_long_answer_keeps_its_fence(reading):
    text = await call(
        "gh", {"verb": "log", "number": 1}, bench=replace(reading, forge=Forge("x\n" * 50_000))
    )

    assert len(text) <= 20_000
    assert text.split("\n")[-1].startswith("</untrusted-")
    assert "left out" in text


async def test_a_run_on_a_clone_has_no_github(reading):
    with pytest.raises(ToolError, match="no GitHub"):
        await call("gh", {"verb": "issue", "number": 7}, bench=reading)
