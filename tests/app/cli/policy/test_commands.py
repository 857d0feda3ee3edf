"""`fettle policy test`: what it explains, what counts as weaker, and how it ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agents.ports import Turn
from agents.tools.gate.rules import RULES, source_lines
from app.cli import main
from app.cli.policy.replay import RULES_FILE
from app.store.database import Database
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.app.git.conftest import git
from tests.fakes.requests import build_resolve_issue

POLICY = """\
ask:
  - {command: "make deploy*", reason: "It deploys."}

deny:
  - tool: bash
    path: "db/**"
"""
CALLS = [
    {"tool": "bash", "arguments": {"command": "make deploy-now"}, "stage": "implement/1"},
    {"tool": "bash", "arguments": {"command": "cd db && touch a"}, "stage": "implement"},
    {"tool": "bash", "arguments": {"command": "sudo make"}},
    {"tool": "write", "arguments": {"path": "a.py", "content": ""}, "capability": "read-only"},
    {"tool": "webfetch", "arguments": {"url": "https://a.example/b"}, "tainted": True},
    {"tool": "bash", "arguments": {"command": "pytest"}},
    {"tool": "shell", "arguments": {}},
]
REQUEST = build_resolve_issue(url="https://github.example/octo/lib/issues/7")


@pytest.fixture
def fettle(monkeypatch, capsys, tmp_path):
    """Return a function that runs `fettle policy test` in an empty place: exit code, output."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("FETTLE_DATA_DIR", str(data))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)

    def run(*args):
        monkeypatch.setattr("sys.argv", ["fettle", "policy", "test", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out + said.err

    return run


@pytest.fixture
def files(tmp_path):
    """Write the policy and the calls; return their paths."""
    policy, calls = tmp_path / "new.yml", tmp_path / "calls.jsonl"
    policy.write_text(POLICY)
    calls.write_text("\n".join(json.dumps(call) for call in CALLS))
    return policy, calls


def test_each_verdict_names_its_rule_with_file_and_line(fettle, files):
    policy, calls = files
    code, out = fettle(policy, "--calls", calls, "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["calls"], told["weaker"], told["stricter"], told["unusable"]) == (6, 0, 2, 1)
    after = [verdict["after"] for verdict in told["verdicts"]]
    assert [(each["decision"], each["rule"]) for each in after] == [
        ("ask", "policy/ask/1"),
        ("deny", "policy/deny/1"),
        ("deny", "privilege/raise"),
        ("deny", "stage/read-only"),
        ("ask", "web/unlisted"),
        ("allow", "default"),
    ]
    assert [(each["file"], each["line"]) for each in after[:2]] == [
        (str(policy), 2),
        (str(policy), 5),
    ]
    lines = [(each["file"], each["line"]) for each in after[2:]]
    assert lines == [(RULES_FILE, source_lines()[each["rule"]]) for each in after[2:]]
    assert [verdict["change"] for verdict in told["verdicts"]] == ["stricter"] * 2 + ["same"] * 4
    assert told["verdicts"][0]["before"]["rule"] == "default"


def test_every_rule_of_the_gate_has_its_line():
    text = (Path(__file__).parents[4] / RULES_FILE).read_text().splitlines()
    for rule in RULES:
        assert f'"{rule}"' in text[source_lines()[rule] - 1]


def test_people_get_a_table_with_the_changes_first(fettle, files):
    policy, calls = files
    code, out = fettle(policy, "--calls", calls)
    assert code == 0
    assert "bash: pytest" not in out
    assert out.index("make deploy-now") < out.index("sudo make")
    for part in ("allow → ask", "It deploys.", "policy/ask/1", "new.yml:2", "privilege/raise"):
        assert part in out
    assert "6 calls: 0 weaker, 2 stricter, 4 as before. 1 could not have run" in out
    assert "bash: pytest" in fettle(policy, "--calls", calls, "--all")[1]


def test_something_weaker_is_said_and_fails(fettle, files, tmp_path):
    policy, calls = files
    empty = tmp_path / "empty.yml"
    empty.write_text("")
    code, out = fettle(empty, "--against", policy, "--calls", calls)
    assert code == 1
    assert "2 weaker" in out
    assert "ask → allow" in out
    assert "deny → allow" in out


def test_the_current_policy_is_the_clones_committed_one(fettle, files, tmp_path):
    _, calls = files
    clone = tmp_path / "clone"
    (clone / ".github").mkdir(parents=True)
    file = clone / ".github" / "fettle.yml"
    file.write_text(POLICY)
    git(tmp_path, "init", "-q", str(clone))
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "first")
    assert "0 weaker, 0 stricter" in fettle(file, "--calls", calls)[1]
    file.write_text("protected_paths: []\n")
    code, out = fettle(file, "--calls", calls)
    assert (code, "2 weaker, 0 stricter" in out) == (1, True)


@pytest.mark.parametrize(
    ("policy", "calls", "words"),
    [
        ("ask: [{}]", "", "name at least one of `tool`"),
        ("ask: [", "", "is not YAML"),
        ("qualty: []", "", "`qualty`"),
        ("", '{"tool": "bash"}', "Line 1 of"),
        ("", '{"tool": "bash", "arguments": {}}\nno', "Line 2 of"),
        ("", '{"tool": "bash", "arguments": {}, "capability": "all"}', "Line 1 of"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(fettle, files, policy, calls, words):
    files[0].write_text(policy)
    files[1].write_text(calls)
    code, out = fettle(files[0], "--calls", files[1])
    assert code == 2
    assert words in out


def test_what_is_not_there_is_said_in_words(fettle, files, tmp_path):
    policy, calls = files
    assert fettle("none.yml", "--calls", calls)[0] == 2
    assert fettle(policy, "--calls", "none.jsonl")[0] == 2
    assert fettle(policy, "--calls", calls, "--run", "1")[0] == 2
    code, out = fettle(policy)
    assert code == 2
    assert "No calls of any run are recorded" in out
    assert not list((tmp_path / "data").iterdir()), "looking makes no database"


def call(name, **arguments):
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}


@pytest.fixture
def recorded(tmp_path):
    """Two runs in the server's database, as they were journalled."""

    async def store():
        database = Database(f"sqlite:///{tmp_path / 'data' / 'fettle.db'}")
        await asyncio.to_thread(database.migrate)
        for run in ("0001-a", "0002-b"):
            await Runs(database).create(run, REQUEST)
            journal = StoredJournal(database, run)
            turns = [
                Turn("prompt", "triage/1", [{"type": "text", "text": "Look."}]),
                Turn("answer", "triage/1", [call("write", path=f"{run}.py", content="")]),
                Turn("results", "triage/1", []),
                Turn("answer", "triage/1", [call("webfetch", url="https://a.example/b?c=d")]),
                Turn("results", "triage/1", []),
                Turn("answer", "triage/1", [call("webfetch", url="https://a.example/b?c=d")]),
                Turn("answer", "triage/1", [call("submit_triage", reasoning="")]),
                Turn("answer", "implement/1", [call("bash", command=f"make deploy # {run}")]),
            ]
            for number, turn in enumerate(turns):
                await journal.append("triage/1", number, turn)
        database.close()

    asyncio.run(store())


def test_the_calls_of_this_machines_runs_are_replayed(fettle, files, recorded):
    files[0].write_text(POLICY + "web: {hosts: [a.example]}\n")
    told = json.loads(fettle(files[0], "--json")[1])
    assert told["calls"] == 8
    assert {verdict["run"] for verdict in told["verdicts"]} == {"0001-a", "0002-b"}
    one = json.loads(fettle(files[0], "--run", "0001-a", "--json")[1])["verdicts"]
    assert [(v["stage"], v["capability"], v["tainted"], v["after"]["rule"]) for v in one] == [
        ("triage/1", "read-only", False, "stage/read-only"),
        ("triage/1", "read-only", False, "default"),
        ("triage/1", "read-only", True, "web/carries"),
        ("implement/1", "change", True, "policy/ask/1"),
    ]
    assert fettle(files[0], "--run", "0003-c")[0] == 2


def test_the_manual_says_all_there_is(fettle):
    code, out = fettle("--help")
    assert code == 0
    for part in ("Usage: fettle policy test", "Examples:", "Exit codes:", "--against FILE"):
        assert part in out
    assert max(map(len, out.splitlines())) <= 100
