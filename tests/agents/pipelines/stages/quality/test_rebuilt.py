"""Tests of what is built and committed run again behind the build, which tells of the change."""

import json

import pytest

from agents.policy import POLICY_PATH

TEST, BUILD = "npm run --silent test", "npm run --silent build"
BASE = {
    POLICY_PATH: "setup: {second_look: false}\n",
    "package.json": json.dumps({"scripts": {"test": "node --test", "build": "node build.js"}}),
    "src/add.ts": "good\n",
    "dist/add.js": "good\n",
}
BAD = "not ok 1 - adds\n1..1\n# tests 1\n# pass 0\n# fail 1\n"
GOOD = "ok 1 - adds\n1..1\n# tests 1\n# pass 1\n# fail 0\n"


def build(files):
    files["dist/add.js"] = files["src/add.ts"]
    files["coverage/new.json"] = "{}"
    return 0, ""


def run_tests(files):
    good = files["dist/add.js"] == "good\n"
    return (0, GOOD) if good else (1, BAD)


def build_and_test(files):
    build(files)
    return run_tests(files)


@pytest.fixture
def compared(compare_change):
    """Compare a change of these files with what was there, by the scripts of the package."""

    async def compare(changes, base=BASE):
        commands = {TEST: run_tests, BUILD: build, f"{BUILD} && {TEST}": build_and_test}
        return await compare_change(base, changes, commands)

    return compare


async def test_sources_that_break_what_is_built_of_them_make_it_worse(compared):
    quality = await compared({"src/add.ts": "bad\n"})

    assert [each.name for each in quality.failing] == ["npm tests behind npm build"]


async def test_tests_of_what_is_there_count_beside_those_of_what_it_is_built_to(compared):
    old = {**BASE, "src/add.ts": "bad\n"}
    quality = await compared({"src/add.ts": "good\n", "dist/add.js": "bad\n"}, old)

    assert [each.name for each in quality.failing] == ["npm tests"]


async def test_a_build_that_writes_no_file_of_the_repository_is_no_reason(compared):
    quality = await compared({"src/add.ts": "bad\n", "dist/add.js": "bad\n"})

    assert [each.name for each in quality.failing] == ["npm tests"]


async def test_what_failed_behind_the_build_before_is_not_held_against_the_change(compared):
    old = {**BASE, "src/add.ts": "bad\n"}
    quality = await compared({"README.md": "new\n"}, old)

    assert not quality.failing
    assert quality.runs[-1].name == "npm tests behind npm build"
