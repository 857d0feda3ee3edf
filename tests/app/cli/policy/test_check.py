"""`fettle policy check` and `schema`, as somebody types them."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from agents.policy.schema import json_schema
from tests.flows.forked import call_fettle


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which somebody stands."""
    (tmp_path / ".github").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_valid_policy(fettle, folder):
    (folder / ".github/fettle.yml").write_text("budget: {usd: 3}\n")
    code, out, err = fettle("policy", "check")
    assert (code, out) == (0, "")
    assert "is valid" in err


def test_each_fault_is_a_line_that_editors_can_follow(fettle, folder):
    (folder / ".github/fettle.yml").write_text("budgt: 1\nwho:\n  role: \x1b[2Jx\n")
    (folder / "new.yml").write_text("budgt: 1\nwho:\n  role: x\n")
    code, out, _ = fettle("policy", "check", "new.yml")
    assert code == 1
    assert out.splitlines() == [
        "new.yml:1:1: `budgt` is not a key of the policy. Did you mean `budget`?",
        "new.yml:3:9: `who.role` has to be 'write', 'maintain' or 'admin'",
    ]
    code, out, _ = fettle("policy", "check")
    assert code == 1
    assert "\x1b" not in out


def test_for_programs(fettle, folder):
    (folder / "new.yml").write_text("budget:\n  usd: 0\n")
    code, out, _ = fettle("policy", "check", "new.yml", "--json")
    told = json.loads(out)
    assert (code, told["valid"]) == (1, False)
    assert [(each["line"], each["column"]) for each in told["faults"]] == [(2, 8)]


def test_a_name_and_a_link_that_would_not_be_read(fettle, folder):
    (folder / ".github/fettle.yaml").write_text("{}")
    assert "has to be called" in fettle("policy", "check", ".github/fettle.yaml")[1]
    (folder / "real.yml").write_text("{}")
    (folder / ".github/fettle.yml").symlink_to(folder / "real.yml")
    assert "symbolic link" in fettle("policy", "check")[1]


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_there_is_no_valid_one(fettle):
    assert fettle("policy", "check")[0] == 2


@pytest.mark.parametrize("command", ["check", "test"])
@pytest.mark.parametrize("what", ["pipe", "endless"])
def test_what_never_ends_is_not_read(folder, command, what):
    """A process of its own can be ended."""
    path = folder / ".github/fettle.yml"
    os.mkfifo(path) if what == "pipe" else path.symlink_to("/dev/zero")
    called = call_fettle("policy", command, environment=dict(os.environ), folder=folder)
    code, out, said = asyncio.run(called)
    assert (code, out) == (2, "")
    assert "is no file, so nothing is read from it" in said


def test_the_schema(fettle):
    code, out, _ = fettle("policy", "schema")
    assert code == 0
    assert json.loads(out) == json_schema()
