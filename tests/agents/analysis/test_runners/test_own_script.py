"""A test script counts by its exit status alone where it runs a program of the repository."""

import json

import pytest

from agents.analysis.test_runners import find_own_script

NPM, MAKE = "npm run --silent test", "make test"
PATHS = frozenset(("package.json", "run.js", "test/all.js", "check.sh", "web/run.js", "src/sum.js"))


def find(command, **scripts):
    path = "web/package.json" if command.startswith("cd web") else "package.json"
    return find_own_script(command, {path: json.dumps({"scripts": scripts})})


def find_target(*recipe, before=""):
    lines = "".join(f"\t{each}\n" for each in recipe)
    return find_own_script(MAKE, {"Makefile": f"{before}test:\n{lines}"})


def counts(script):
    return script is not None and script.runs_own_program(PATHS)


@pytest.mark.parametrize(
    "script",
    [
        *("node run.js", "node run", "node ./test/all.js --all", "NODE_ENV=test node test/all.js"),
        *("sh check.sh", "npx tsx run.js", "eslint . && node run.js", "uvu test", "./check.sh"),
        "npm run lint && npm run unit",
    ],
)
def test_what_runs_a_program_of_the_repository_counts(script):
    assert counts(find(NPM, test=script, unit="node run.js", lint="eslint ."))
    assert counts(find_target(f"@{script}")) == ("npm" not in script)


@pytest.mark.parametrize(
    "script",
    [
        *(
            "",
            "echo ok",
            "exit 0",
            "true",
            ":",
            "printf ok",
            "ls",
            "eslint .",
            "tsc -p .",
            "make all",
        ),
        *("node run.js || true", "node run.js; true", "node run.js | tee out", "node run.js &"),
        *("! node run.js", "(node run.js)", "node -e 1", "node --check run.js", "node -c run.js"),
        *("sh -n check.sh", "node other.js", "node", "node .", "npm run unit", "npm test"),
        *("node --test", "mocha", "node run.js && npx jest", "go test ./..."),
    ],
)
def test_what_shows_nothing_or_hides_its_status_does_not(script):
    assert not counts(find(NPM, test=script, unit="echo ok"))
    if "npm" not in script:
        assert not counts(find_target(script))


def test_recipes_count_whose_failures_make_passes_on():
    assert counts(find_target("cc -o run run.c", "@./run"))
    assert counts(find_target("./run", before="MAKEFLAGS += --silent\n"))
    assert not counts(find_target("-./run"))
    assert not counts(find_target("@-./run"))
    for before in (".IGNORE:\n", ".ONESHELL:\n", "MAKEFLAGS += -ki\n"):
        assert not counts(find_target("./run", before=before))


@pytest.mark.parametrize("command", ["npm run --silent lint", "make all", "node run.js", ""])
def test_only_what_maintainers_called_a_test_counts(command):
    texts = {"package.json": '{"scripts": {"lint": "node run.js"}}', "Makefile": "all:\n\t./run\n"}
    assert find_own_script(command, texts) is None


def test_scripts_around_it_belong_to_it():
    plain, more = find(NPM, test="node run.js"), find(NPM, test="node run.js", pretest="node a.js")
    assert counts(more)
    assert plain != more
    assert plain == find(NPM, test="node run.js", lint="eslint .")


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        *(("web/run.js", True), ("web/Makefile", True), (".npmrc", True), ("rules.mk", True)),
        *(("run.js", False), ("web/sum.js", False), ("web/package.json", False)),
    ],
)
def test_a_change_touches_it_by_what_it_runs_and_what_decides_that(changed, touched):
    script = find("cd web && npm run --silent test", test="node run.js")
    assert counts(script)
    assert script.is_touched([changed]) == touched
