"""Of programs that run one after the other, one that fails keeps the others from saying more."""

import json

import pytest

from agents.analysis.test_runners import list_step_files, list_touched_steps, runs_several

SCRIPTS = {
    "check": "tsc --noEmit && eslint . && vitest run",
    "lint": "eslint . --rule 'a && b'",
    "types": "cd web && tsc",
    "all": "npm run lint && npm run types",
    "one": "npm run lint",
    "both": "npm run all",
    "loop": "npm run loop",
    "serial": "run-s lint types",
    "lines": ["phpcs", "phpstan"],
}
MAKEFILE = """\
.PHONY: lint all
all: lint

lint:
\t@echo lint
\truff check .

types: lint
\tmypy .

two:
\truff check . \\
\t  --quiet
\tmypy .
"""


@pytest.mark.parametrize(
    ("command", "several"),
    [
        ("npm run --silent check", True),
        ("npm run lint", False),
        ("npm run types", False),
        ("npm run all", True),
        ("yarn one", False),
        ("npm run both", True),
        ("npm run loop", False),
        ("npm run serial", True),
        ("composer lines", True),
        ("ruff check . && mypy .", True),
        ("cd lib && NO_COLOR=1 ruff check .", False),
        ("ruff check .; mypy .", False),
        ("set -e\nruff check .\nmypy .", True),
        ("make lint", False),
        ("make", False),
        ("make --silent types", True),
        ("make two", True),
        ("make lint two", True),
        ("make absent", False),
    ],
)
def test_what_runs_only_where_something_else_passed_is_seen(command, several):
    scripts = json.dumps({"scripts": SCRIPTS})
    texts = {"package.json": scripts, "composer.json": scripts, "Makefile": MAKEFILE}
    read = {path: texts.get(path, "") for path in list_step_files(command)}

    assert runs_several(command, read) is several


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cd 'web' && npm run lint", ("web/package.json",)),
        ("make -C docs lint", ("docs/Makefile", "docs/makefile", "docs/GNUmakefile")),
        ("cd a && make lint", ("a/Makefile", "a/makefile", "a/GNUmakefile")),
        ("make -C ../.. lint", ()),
        ("ruff check .", ()),
    ],
)
def test_the_files_are_those_that_the_command_reads(command, files):
    assert list_step_files(command) == files


def test_scripts_that_call_each_other_without_end_take_no_time():
    calls = "&&".join(["npm run b"] * 180)
    scripts = {name: calls.replace("b", after) for name, after in ("ab", "bc", "ca")}

    assert runs_several("npm run a", {"package.json": json.dumps({"scripts": scripts})})


@pytest.mark.parametrize(
    ("path", "touched"),
    [
        ("lib/sum.js", False),
        ("tools/lint.js", True),
        ("test.js", False),  # what a test loses is looked for elsewhere
        ("ci/run.sh", True),
        ("Makefile", True),
        ("mk/common.mk", True),
        ("package.json", False),
        ("README.md", False),
    ],
)
def test_files_that_decide_what_a_command_runs_are_known(path, touched):
    manifest = json.dumps({"scripts": {"test": "node tools/lint.js lib && node -r x test.js"}})
    texts = {"package.json": manifest, "Makefile": "test:\n\t./ci/run.sh lib/sum.js\n"}
    command = "npm test && make test"

    assert list_touched_steps(command, texts, texts, [path]) == [path] * touched


def test_a_manifest_decides_where_its_scripts_differ():
    before, after = ({"package.json": json.dumps({"scripts": {"test": each}})} for each in "ab")

    assert list_touched_steps("npm test", before, after, ["package.json"]) == ["package.json"]
