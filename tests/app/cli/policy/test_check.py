"""`fettle policy check` and `schema`, as somebody types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from agents.policy.schema import json_schema


def fettle(folder, *arguments):
    command = [sys.executable, "-m", "app", "policy", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / ".github").mkdir()
    return tmp_path


def test_a_valid_policy(folder):
    (folder / ".github/fettle.yml").write_text("budget: {usd: 3}\n")
    done = fettle(folder, "check")
    assert (done.returncode, done.stdout) == (0, "")
    assert "is valid" in done.stderr


def test_each_fault_is_a_line_that_editors_can_follow(folder):
    (folder / ".github/fettle.yml").write_text("budgt: 1\nwho:\n  role: \x1b[2Jx\n")
    (folder / "new.yml").write_text("budgt: 1\nwho:\n  role: x\n")
    done = fettle(folder, "check", "new.yml")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "new.yml:1:1: `budgt` is not a key of the policy. Did you mean `budget`?",
        "new.yml:3:9: `who.role` has to be 'write', 'maintain' or 'admin'",
    ]
    hostile = fettle(folder, "check")
    assert hostile.returncode == 1
    assert "\x1b" not in hostile.stdout


def test_for_programs(folder):
    (folder / "new.yml").write_text("budget:\n  usd: 0\n")
    done = fettle(folder, "check", "new.yml", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["valid"]) == (1, False)
    assert [(each["line"], each["column"]) for each in told["faults"]] == [(2, 8)]


def test_a_name_and_a_link_that_would_not_be_read(folder):
    (folder / ".github/fettle.yaml").write_text("{}")
    assert "has to be called" in fettle(folder, "check", ".github/fettle.yaml").stdout
    (folder / "real.yml").write_text("{}")
    (folder / ".github/fettle.yml").symlink_to(folder / "real.yml")
    assert "symbolic link" in fettle(folder, "check").stdout


def test_a_file_that_is_not_there_is_no_valid_one(folder):
    assert fettle(folder, "check").returncode == 2


@pytest.mark.parametrize("command", ["check", "test"])
@pytest.mark.parametrize("what", ["pipe", "endless"])
def test_what_never_ends_is_not_read(folder, command, what):
    path = folder / ".github/fettle.yml"
    os.mkfifo(path) if what == "pipe" else path.symlink_to("/dev/zero")
    done = fettle(folder, command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is no file, so nothing is read from it" in done.stderr


def test_the_schema(folder):
    done = fettle(folder, "schema")
    assert done.returncode == 0
    assert json.loads(done.stdout) == json_schema()
