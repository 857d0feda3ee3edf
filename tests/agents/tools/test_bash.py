"""The tool `bash`."""

from __future__ import annotations

import re

import pytest

from agents.ports import CommandResult
from agents.tools.gate.gate import call


async def bash(bench, command, **more):
    return await call("bash", {"command": command, **more}, bench=bench)


async def test_it_tells_how_the_command_ended_and_what_it_wrote(bench):
    text = await bash(bench, "echo out; echo err >&2; exit 3")
    assert re.fullmatch(r"exit code 3 after \d\.\d s\n\nout\nerr", text)


async def test_silence_is_told(bench):
    assert (await bash(bench, "true")).endswith("\n\n(no output)")


async def test_a_command_that_looks_like_an_option_is_a_command(bench):
    assert "exit code 127" in await bash(bench, "-x")


async def test_a_command_that_takes_too_long_is_stopped(bench):
    text = await bash(bench, "echo begun; exec sleep 600", timeout=3)
    assert text.startswith("exit code 124: stopped by the time limit after 3.0 s")
    assert text.endswith("begun")


@pytest.mark.parametrize(("why", "words"), [("output", "wrote far too much"), ("killed", "killed")])
async def test_other_ends_are_told(bench, tree, why, words):
    async def run(argv, **limits):
        return CommandResult(137, why, "some", 2.0)

    tree.run = run
    assert words in await bash(bench, "yes")


async def test_terminal_codes_and_overwritten_lines_are_gone(bench):
    command = r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\nbell\a\n'"
    assert (await bash(bench, command)).endswith("\n\nred\n100%\nbell\\x07")


async def test_only_a_stage_that_changes_gets_a_writable_tree(bench, reading, tree):
    await bash(bench, "true")
    await bash(reading, "true")
    assert [writable for _, writable in tree.commands] == [True, False]


async def test_long_output_is_kept_where_commands_find_it(bench, tree):
    text = await bash(bench, "seq 1 40000")
    assert len(text) <= 10_000
    assert "\n1\n2\n3\n" in text
    assert text.endswith("\n39999\n40000")
    found = re.search(
        r"\[… ([\d,]+) characters \(([\d,]+) lines\) left out; all of it is in (\S+):", text
    )
    path = found[3]
    assert path.startswith(".git/fettle/")
    assert (tree.root / path).read_text().split() == [str(n) for n in range(1, 40001)]
    assert (await bash(bench, f"sed -n 20000p {path}")).endswith(" s\n\n20000")


async def test_the_same_output_gives_the_same_answer(bench):
    first, second = [await bash(bench, "seq 1 9000") for _ in range(2)]
    assert first.split("\n", 1)[1] == second.split("\n", 1)[1]


async def test_a_stage_that_reads_is_told_how_to_narrow(reading, tree):
    text = await bash(reading, "seq 1 9000")
    assert "run it with less output" in text
    assert not (tree.root / ".git/fettle").exists()
