"""Markers that hold two versions of a package: each goes its own way, and a safe one stays."""

import re
import tomllib

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, climb, ecosystem_of
from agents.pipelines.remediate.ladder.python import specs
from agents.pipelines.remediate.ladder.python.poetry import Poetry
from agents.pipelines.remediate.ladder.python.provided_tools import Tool, call
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group

OLD, NEW = 'python_version < "3.10"', 'python_version >= "3.10"'
LINES = f"urllib3=={{}} ; {OLD}\nurllib3=={{}} ; {NEW}\n"
PROJECT = """\
[project]
name = "shop"
version = "1.0"
requires-python = ">=3.9"
dependencies = ["urllib3{} ; python_version < '3.10'", "urllib3{} ; python_version >= '3.10'"]
"""
POETRY = """\
[tool.poetry]
name = "shop"
version = "0.1.0"
description = ""
authors = ["Ada <ada@example.com>"]
package-mode = false

[tool.poetry.dependencies]
python = "^3.9"
urllib3 = [{{version = "{}", python = "<3.10"}}, {{version = "{}", python = ">=3.10"}}]
"""
BOTH = ("< 1.26.19", ">= 2.0.0, < 2.2.2")


def answers(_tree, script):
    if "pip index" in script:
        return 0, "Available versions: 2.2.2, 2.2.1, 1.26.20, 1.26.19, 1.26.18\n"
    return 0, ""


async def climb_lines(tree, file, text, *vulnerable):
    tree.answers = answers
    tree.lay({file: text})
    alerts = group("urllib3", *vulnerable, manifests=[file])
    fix = await climb(tree, ecosystem_of(tree.paths, alerts), alerts, TERMS)
    return fix, (tree.folder / file).read_text()


@pytest.mark.parametrize(
    ("vulnerable", "after"),
    [
        (BOTH[1:], ("1.26.18", "2.2.2")),
        (BOTH[:1], ("1.26.19", "2.2.1")),
        (BOTH, ("1.26.19", "2.2.2")),
    ],
)
@pytest.mark.parametrize("file", ["requirements.txt", "pyproject.toml"])
async def test_only_what_is_vulnerable_moves_and_each_to_its_own_line(
    tree, file, vulnerable, after
):
    text = LINES if file.endswith(".txt") else PROJECT
    pins = [f"=={each}" if text is PROJECT else each for each in ("1.26.18", "2.2.1")]
    goals = [f"=={each}" if text is PROJECT else each for each in after]

    fix, made = await climb_lines(tree, file, text.format(*pins), *vulnerable)

    assert isinstance(fix, Fix), fix
    assert made == text.format(*goals)
    assert fix.moves[0].delta == "patch"


async def lay_and_lock(tree, file, *, pins, ranges):
    """Lock with these pins, then have the ranges in their place."""
    for held in (pins, ranges):
        if file == "requirements.txt":
            lines = LINES.replace("==", "").format(*held)
            tree.lay({"requirements.in": lines})
            compiling = (
                f"uv pip compile -q --universal --python-version 3.9 requirements.in -o {file}"
            )
            script = f"UV_CUSTOM_COMPILE_COMMAND='{compiling}' {compiling} --no-emit-index-url"
            await call(tree, Tool("uv", ("uv>=0.13",)), script, seconds=120)
        elif file == "uv.lock":
            tree.lay({"pyproject.toml": PROJECT.format(*held)})
            await call(tree, Tool("uv", ("uv>=0.13",)), "uv lock -q", seconds=120)
        else:
            tree.lay({"pyproject.toml": POETRY.format(*held)})
            poetry = Poetry("")
            poetry._release = "2.1.4"
            await poetry._call(tree, "poetry lock --no-interaction")


def read_versions(text):
    if "[[package]]" not in text:
        return sorted(re.findall(r"^urllib3==(\S+)", text, re.MULTILINE))
    locked = tomllib.loads(text)["package"]
    return sorted(each["version"] for each in locked if each["name"] == "urllib3")


@pytest.mark.parametrize("file", ["uv.lock", "poetry.lock", "requirements.txt"])
async def test_each_line_goes_to_the_smallest_release_that_is_safe(real, file):
    await lay_and_lock(
        real, file, pins=("==1.26.18", "==2.2.1"), ranges=(">=1.26,<2", ">=2.2,<2.4")
    )
    start = await real.snapshot()
    goals = ((BOTH, ["1.26.19", "2.2.2"]), (BOTH[1:], ["1.26.18", "2.2.2"]))
    for vulnerable, after in goals:
        await real.restore(start)
        alerts = group("urllib3", *vulnerable, manifests=[file])

        fix = await climb(real, ecosystem_of(real.paths, alerts), alerts, TERMS)

        assert isinstance(fix, Fix), fix
        assert (fix.level, fix.files) == (Level.FLOAT, (file,))
        assert read_versions((real.folder / file).read_text()) == after


def test_what_lies_between_two_lines_is_excluded_by_name():
    offered = ("3.0", "2.2.2", "2.2.1", "1.26.20", "1.26.19", "2004d", "1.0")
    between = ">=1.26.19,<=2.2.2,!=1.26.20,!=2.2.1"
    assert specs.admit_only(("2.2.2", "1.26.19"), offered) == between
