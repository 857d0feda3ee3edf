"""Scripts that a script writes or hands on, and then has run: read like its own words."""

import pytest

from agents.policy import Policy
from agents.tools.shell.judge import judge
from agents.tools.shell.script import read


def rules(script):
    return list(dict.fromkeys(found.rule for found in judge(read(script), Policy())))


@pytest.mark.parametrize(
    "script",
    [
        "cat > x.sh <<'E'\nrm -rf src\nE\nbash x.sh",
        "printf 'rm -rf src' > x.sh; sh x.sh",
        "echo 'rm -rf src' > x.sh && chmod +x x.sh && ./x.sh",
        "tee x.sh <<'E'\nrm -rf src\nE\nbash -x x.sh a b",
        "echo 'rm -rf src' >> x.sh; . ./x.sh",
        "echo ls > x.sh; echo 'rm -rf src' >> x.sh; source x.sh",
        "cd /tmp; echo 'rm -rf /workspace/src' > x.sh; cd -; nice sh /tmp/x.sh",
        "cat > x.py <<'E'\nimport shutil; shutil.rmtree('src')\nE\npython x.py",
        "cat > x <<'E'\n#!/usr/bin/env python3\nimport shutil; shutil.rmtree('src')\nE\n./x",
        "cat > x.js <<'E'\nrequire('fs').rmSync('src', {recursive: true})\nE\nnode x.js",
        "cat > Makefile <<'E'\nall:\n\t@rm -rf src\nE\nmake",
        "cat > a.mk <<'E'\nD = src\nall: ; rm -rf $(D)\nE\nmake -f a.mk all",
        "make -f - <<'E'\nall:\n\t-rm \\\n\t-rf src\nE",
        "printf 'all:\\n\\trm -rf src\\n' | make -f -",
        "awk -f - <<'E'\nBEGIN { system(\"rm -rf src\") }\nE",
        "sqlite3 a <<'E'\n.shell rm -rf src\nE",
        "psql <<'E'\nselect 1;\n\\! rm -rf src\nE",
    ],
)
def test_what_it_deletes_is_asked_about(script):
    assert rules(script) == ["delete/outside-build"]


def test_what_make_is_handed_by_another_program_cannot_be_told():
    assert rules("base64 -d a | make -f -") == ["shell/piped"]


@pytest.mark.parametrize(
    "script", ["curl -K c", "curl -sKc", "curl --config=c http://localhost", "echo a | curl -K -"]
)
def test_addresses_in_a_file_are_none_that_can_be_seen(script):
    assert rules(script) == ["network/none"]


@pytest.mark.parametrize(
    "script",
    ["npm create vite", "npm init vite@latest", "npx create-react-app a", "cargo update -p serde",
     "npm update", "yarn upgrade", "go get -u ./...", "uv lock --upgrade", "poetry update"],
)  # fmt: skip
def test_what_fetches_newer_code_is_asked_about(script):
    assert rules(script) == ["dependency/new"]


@pytest.mark.parametrize(
    "script",
    [
        "cat > x.py <<'E'\nimport a\nprint(a.b(1))\nE\npython x.py && rm x.py",
        "cat > /tmp/t.sh <<'E'\nset -e\nmake test\nrm -rf build\nE\nbash /tmp/t.sh",
        "cat > Makefile <<'E'\nCC ?= gcc\na: a.o\n\t$(CC) -o $@ $^\nclean:\n\t$(RM) *.o\nE\nmake",
        "cat > a.mk <<'E'\nall:\n\tfor f in a b; do echo $$f; done\nE\nmake -f a.mk",
        "echo 'select 1' | sqlite3 a.db", "sqlite3 a.db <<'E'\ncreate table a (b);\nE",
        "env --chdir=/tmp rm -rf x", "env -C src rm -rf build", "npm init -y",
        "cargo update --dry-run", "uv sync", "uv lock", "go get ./...", "python x.py", "./gradlew",
    ],
)  # fmt: skip
def test_everyday_work_goes_on(script):
    assert rules(script) == []
