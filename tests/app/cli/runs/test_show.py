"""Looking at runs: what is listed and shown, what is left out, and that nothing is changed."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from agents.ports import Ruling
from app.cli.runs.find import shorten
from tests.app.cli.runs.runs_scene import RunStore, answer, call, prompt, results
from tests.app.git.conftest import git, make_repository, write_files
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[4]
RUN, OTHER = "000660d62102a15a-bfb0ec9f", "000660d62102b15a-77b0aa01"
KEY = "sk-not-a-pattern-0123456789"
TOKEN = "ghs_" + "a1B2" * 10
EVIL = f"\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u200b {KEY} {TOKEN}\r\nSubject: x"
MOVES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]")


@pytest.fixture
def fettle(fettle):
    return partial(fettle, ANTHROPIC_API_KEY=KEY)


def show_run(fettle, *args):
    """Return the JSON of `fettle runs show`."""
    code, out, err = fettle("runs", "show", *args, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


# --- the list -------------------------------------------------------------------------------------


def test_the_newest_run_comes_first(fettle, store):
    store.run(OTHER, turns=[prompt("p"), answer(), answer()])
    store.run(RUN, state="running")
    code, out, err = fettle("runs")
    assert (code, err) == (0, "")
    first, second = [line.split("\t") for line in out.splitlines()]
    names = ["ada/parse#3", "resolve_issue"]
    assert first[:5] == ["000660d62102a", *names, "running", "implement/1"]
    assert re.fullmatch(r"\d+ s", first[5])
    assert first[6:] == ["$0.00", "mara", ""]
    assert second[:4] == ["000660d62102b", *names, "done"]
    assert second[6:] == ["$0.50", "mara", "It done."]


def test_states_repository_and_number_narrow_it(fettle, store):
    other = {"owner": "Grace", "name": "nav_y", "id": 9, "default_branch": "main"}
    store.run("aaaaaaaa1", state="parked")
    store.run("bbbbbbbb2", state="failed")
    made = store.run("cccccccc3", state="queued")
    assert made is None
    store.sql(
        f"UPDATE runs SET repository = '{other['owner']}/{other['name']}' WHERE id = 'cccccccc3'"
    )

    def ids(*args):
        code, out, _ = fettle("runs", "--json", *args)
        assert code == 0
        return [each["id"] for each in json.loads(out)]

    assert ids() == ["cccccccc3", "bbbbbbbb2", "aaaaaaaa1"]
    assert ids("--state", "parked") == ["aaaaaaaa1"]
    assert ids("--state", "parked", "--state", "failed") == ["bbbbbbbb2", "aaaaaaaa1"]
    assert ids("--repository", "ADA/parse") == ["bbbbbbbb2", "aaaaaaaa1"]
    assert ids("--repository", "nav_y") == ["cccccccc3"]
    assert ids("--repository", "navxy") == ids("--repository", "%") == []
    assert ids("--limit", "1") == ["cccccccc3"]
    assert "newest 2; --limit shows more" in fettle("runs", "--limit", "2")[2]
    assert "more" not in fettle("runs", "--limit", "3")[2]
    assert fettle("runs", "--state", "lost")[0] == 2
    assert fettle("runs", "--state", "done") == (0, "", "No run is kept here that fits.\n")


def test_runs_on_clones_are_listed_and_failed_ones_too(fettle, store, tmp_path):
    store.run(RUN)
    for name, state in (("abc-1", "parked"), ("failed-def-2", "failed")):
        folder = tmp_path / "clones" / name
        folder.mkdir(parents=True)
        RunStore(f"sqlite:///{folder / 'run.db'}").run(name.removeprefix("failed-"), state=state)
    listed = json.loads(fettle("runs", "--json")[1])
    assert [(each["id"], each["clone"]) for each in listed] == [
        ("def-2", True),
        ("abc-1", True),
        (RUN, False),
    ]
    assert show_run(fettle, "def")["outcome"]["kind"] == "failed"


def test_one_that_cannot_be_read_does_not_hide_the_others(fettle, store, tmp_path):
    store.run(RUN)
    folder = tmp_path / "clones" / "abc-1"
    folder.mkdir(parents=True)
    sqlite3.connect(folder / "run.db").close()
    (folder / "run.db").touch()
    code, out, err = fettle("runs")
    assert (code, out.count("\n")) == (0, 1)
    assert f"The database of `{folder}` cannot be read" in err
    assert fettle("runs", "--database", str(folder / "run.db"))[0] == 2


def test_without_a_database_it_says_so_and_makes_none(fettle, tmp_path):
    for args in (("runs",), ("runs", "show", "x")):
        code, _, err = fettle(*args)
        assert (code, "FETTLE_DATA_DIR" in err) == (2, True)
        elsewhere = {"FETTLE_DATABASE_URL": f"sqlite:///{tmp_path / 'other.db'}"}
        assert fettle(*args, **elsewhere)[0] == 2
    assert list(tmp_path.iterdir()) == []


# --- which run is meant ---------------------------------------------------------------------------


def test_any_beginning_that_no_other_run_shares_will_do(fettle, store):
    store.run(RUN)
    store.run(OTHER)
    assert show_run(fettle, RUN[:13].upper())["id"] == RUN
    assert show_run(fettle, OTHER)["id"] == OTHER
    code, out, err = fettle("runs", "show", "000660d6")
    assert (code, out) == (2, "")
    assert "2 runs" in err
    assert "000660d62102a, 000660d62102b" in err


def test_an_id_that_is_none_names_what_is_near(fettle, store):
    store.run(RUN)
    code, out, err = fettle("runs", "show", "00066\x1b[2Jd9")
    assert (code, out) == (2, "")
    assert "no run `00066\\x1b[2jd9`" in err
    code, _, err = fettle("runs", "show", "000660d7")
    assert (code, "Near it: 000660d6." in err) == (2, True)
    assert "Near" not in fettle("runs", "show", "zzzz")[2]


def test_ids_are_as_short_as_they_can_be():
    assert shorten(["abcdefghij", "abcdefgxyz", "k"]) == {
        "abcdefghij": "abcdefgh",
        "abcdefgxyz": "abcdefgx",
        "k": "k",
    }
    ids = ["a" * 12, "a" * 11 + "b", "a" * 9 + "c" * 3]
    short = shorten(ids)
    for one in ids:
        assert [each for each in ids if each.startswith(short[one])] == [one]


# --- all of one run -------------------------------------------------------------------------------


def test_the_timeline_comes_from_the_turns_when_nothing_else_is_left(fettle, store):
    told = [prompt("p"), answer(call(command="ls")), results("a.py"), answer()]
    store.run(RUN, turns=told)
    [stage] = show_run(fettle, RUN)["stages"]
    assert (stage["stage"], stage["state"], stage["answers"]) == ("implement/1", "said", 2)
    assert stage["usd"] == 0.5
    assert stage["tokens"]["cache_read"] == 1200
    assert stage["cache_read_share"] == 0.75
    assert abs(stage["started_at"] - time.time()) < 60


def test_the_engine_tells_of_stages_without_a_conversation(fettle, store):
    store.run(RUN, state="parked", turns=[prompt("p"), answer(call(command="ls"))])
    store.sql("UPDATE runs SET stage = 'stage/implement/1~1'")
    store.sql("UPDATE turns SET created_at = 1012")
    store.steps(
        RUN,
        ("access/1", 1000, 1001, {"refusal": None}),
        ("stage/prepare/1", 1001, 1004, {"summary": f"at {EVIL}", "standing": {"start": "b" * 40}}),
        ("stage/measure_base/1", 1004, 1009.5, {"error": "no such check"}),
        ("stage/implement/1", 1010, 1013, {"parked": ["k3f9x2"]}),
        ("approval/implement/1/1", 1013, 5000, None),
        ("stage/implement/1~1", 5000, 5002, {"parked": ["q8d2aa"]}),
    )
    code, out, _ = fettle("runs", "show", RUN)
    rows = [line.split("\t") for line in out.splitlines() if "\t" in line]
    assert code == 0
    assert [row[1:4] for row in rows] == [
        ["access/1", "done", "1.0"],
        ["prepare/1", "done", "3.0"],
        ["measure_base/1", "failed", "5.5"],
        ["implement/1", "parked", "5.0"],
    ]
    assert rows[3][4:8] == ["1", "$0.25", "850", "75%"]
    assert rows[2][8] == "no such check"
    assert not MOVES.search(out.replace("\t", "").replace("\n", ""))
    assert KEY not in out


def test_a_run_that_has_only_begun_shows_where_it_is(fettle, store):
    store.run(RUN, state="running")
    [stage] = show_run(fettle, RUN)["stages"]
    assert (stage["stage"], stage["state"], stage["seconds"]) == ("implement/1", "running", 0)


def test_what_the_gate_said_is_shown_by_rule(fettle, store):
    allowed, refused = Ruling("allow", "default"), Ruling("deny", "network/none")
    said = [results("x", ruling=each) for each in (allowed, refused, allowed)]
    store.run(RUN, turns=said)
    _, text, _ = fettle("runs", "show", RUN)
    assert "\n  1 refused by the rule network/none\n  2 allowed: no rule objects\n" in text
    _, told, _ = fettle("runs", "show", RUN, "--json")
    assert [each["calls"] for each in json.loads(told)["rules"]] == [1, 2]


def test_what_was_asked_is_shown_with_who_decided_it(fettle, store):
    store.run(RUN, state="running")
    used, denied, waits = (store.ask(RUN, call_id=name) for name in ("c1", "c2", "c3"))
    store.decide(used, verdict="approved", by="mara", by_id=8, via="button")
    store.use(used)
    store.decide(denied, verdict="denied", by="ada", by_id=None, via="terminal", reason="keep it")
    _, out, _ = fettle("runs", "show", RUN)
    assert re.search(
        rf"{used}: bash, in implement/2: was approved by mara on .* UTC, by button, used .* UTC\n"
        r"  asked .* UTC: It throws commits away. \(rule shell/history\)\n"
        r"    command:\n        git reset --hard HEAD~1\n",
        out,
    )
    assert re.search(rf"{denied}: .*was denied by ada on .*, by terminal\n", out)
    assert "  reason given: keep it\n" in out
    assert re.search(rf"{waits}: .*waits for an answer until", out)
    found = {each["id"]: each for each in show_run(fettle, RUN)["approvals"]}
    assert found[used]["used_at"] > found[used]["asked_at"]
    assert (found[denied]["decided_via"], found[denied]["reason"]) == ("terminal", "keep it")
    assert [found[each]["decided_by_id"] for each in (used, denied)] == [8, None]


# --- turns ----------------------------------------------------------------------------------------


def test_turns_show_what_was_said_called_and_told(fettle, store):
    long = "x" * 5_000
    store.run(
        RUN,
        turns=[
            prompt("Make it so."),
            answer({"type": "text", "text": "I will."}, call("write", path="a.py", content=long)),
            results("Written."),
            answer(call("mcp_many", texts=[long] * 9)),
            results(long, error=True),
            answer({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}),
        ],
    )
    _, out, _ = fettle("runs", "show", RUN, "--turns")
    assert "implement/1 #0: prompt" in out
    assert "  is told:\n    Make it so.\n" in out
    assert "  says:\n    I will.\n  calls write\n" in out
    assert "  result, an error:\n    xxx" in out
    assert "  thinks:\n    Hm.\n" in out
    assert "    path:\n        a.py\n    content:\n        xxx" in out
    assert out.count("[1000 more characters]") == 2
    assert re.search(r"\[33\d\d\d more characters\]", out)
    assert len(out) < 25_000
    assert "c2ln" not in out
    assert "turns" not in show_run(fettle, RUN)


def test_a_damaged_record_is_said_to_be(fettle, store):
    store.run(RUN, turns=[prompt("p"), answer()])
    store.ask(RUN)
    store.sql("UPDATE turns SET content = '[{', usage = 'x' WHERE number = 1")
    store.sql("UPDATE turns SET content = '[1]' WHERE number = 0")
    store.sql("UPDATE runs SET request = '[', outcome = '{}'")
    store.sql("UPDATE approvals SET arguments = '{}'")
    code, out, _ = fettle("runs", "show", RUN, "--turns")
    assert code == 0
    assert out.count("damaged") == 3
    assert show_run(fettle, RUN)["outcome"] is None


def test_nothing_that_strangers_write_reaches_the_terminal_or_gives_a_secret_away(fettle, store):
    near = "x" * 3_990 + TOKEN  # where the text is cut, its token must not be cut in two
    store.run(
        RUN,
        state="failed",
        title=EVIL,
        outcome=EVIL,
        turns=[
            prompt(EVIL, stage=f"implement/1{EVIL[:40]}"),
            answer({"type": EVIL}, {"type": "text", "text": EVIL}, call(EVIL, **{EVIL: [EVIL]})),
            results(EVIL),
            answer(call("bash", command="y" * 13_000, more=["y" * 13_000, EVIL], evil=EVIL)),
            answer(call("bash", evil=EVIL, more=["y" * 13_000])),
            results([{"type": "text", "text": EVIL}, {"type": EVIL}]),
            prompt(near),
        ],
    )
    store.sql("UPDATE runs SET state = 'running'")
    ident = store.ask(RUN, tool="bash", arguments={EVIL: EVIL}, reason=EVIL, rule=EVIL[:100])
    store.decide(ident, verdict="denied", by="m\x1b[2J", by_id=1, via="comment", reason=EVIL)
    store.sql("UPDATE runs SET asked_by = 'b\x1b[2Jb', repository = 'a\u202e/b'")

    for args in (
        ("runs",),
        ("runs", "--json"),
        ("runs", "show", RUN, "--turns"),
        ("runs", "show", RUN, "--turns", "--json"),
    ):
        code, out, err = fettle(*args)
        assert (code, err) == (0, "")
        assert not MOVES.search(out), args
        for secret in (KEY, TOKEN, TOKEN[:10]):
            assert secret not in out, args
    assert "\\x1b]0;owned\\x07" in fettle("runs", "show", RUN, "--turns")[1]


def test_a_terminal_gets_only_the_escapes_that_are_ours(store, tmp_path):
    store.run(RUN, state="failed", title=EVIL, outcome=EVIL, turns=[prompt(EVIL), answer()])
    fettle = f"{shlex.quote(sys.executable)} -m app"
    shell = f"stty cols 200; {fettle} runs; {fettle} runs show {RUN}"
    done = subprocess.run(
        ["script", "-qec", shell, "/dev/null"],
        env={**os.environ, "FETTLE_DATA_DIR": str(tmp_path), "ANTHROPIC_API_KEY": KEY},
        cwd=ROOT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=True,
    )
    colours = re.compile(r"\x1b\[[0-9;]*m")
    assert colours.search(done.stdout)
    assert "owned" in done.stdout
    assert not MOVES.search(colours.sub("", done.stdout).replace("\r\n", "\n"))
    assert KEY not in done.stdout


# --- what turns changed ---------------------------------------------------------------------------


@pytest.fixture
def changed(store, tmp_path):
    """A run whose turns changed files twice, and the mirror that has them."""
    source, mirror = tmp_path / "source", tmp_path / "mirrors" / "2.git"
    base = make_repository(source, {"a.py": "one\n"})
    trees = []
    for text in ("two\n", f"three {TOKEN} \x1b[2J\u202e\n"):
        write_files(source, {"a.py": text})
        git(source, "commit", "-qam", "next")
        trees.append(git(source, "rev-parse", "HEAD^{tree}"))
    mirror.parent.mkdir()
    git(source, "clone", "-q", "--bare", str(source), str(mirror))
    git(mirror, "update-ref", f"refs/fettle/runs/{RUN}/base", base)
    told = [results("1", tree=trees[0]), results("2", tree=trees[0]), results("3", tree=trees[1])]
    store.run(RUN, turns=[prompt("p"), *told])
    return mirror, base, trees


def diffs(fettle):
    return [turn["diff"] for turn in show_run(fettle, RUN, "--turns")["turns"]]


def test_each_turn_shows_what_it_changed(fettle, changed):
    mirror, base, trees = changed
    before = sorted(path for path in mirror.rglob("*"))
    none, first, same, second = diffs(fettle)
    assert none is None
    assert same is None
    assert (first["from"], first["to"]) == (base, trees[0])
    assert "-one\n+two\n" in first["text"]
    assert (second["from"], second["to"]) == (trees[0], trees[1])
    assert "+three [redacted] " in second["text"]
    _, out, _ = fettle("runs", "show", RUN, "--turns")
    assert "    -two\n    +three [redacted] \\x1b[2J\\u202e\n" in out
    assert sorted(path for path in mirror.rglob("*")) == before


def test_a_state_that_git_has_dropped_is_said_to_be_gone(fettle, changed, store):
    mirror, _, _ = changed
    store.sql(f"UPDATE turns SET tree = '{'d' * 40}' WHERE number = 3")
    _, first, _, second = diffs(fettle)
    assert first["text"]
    assert (second["text"], "no longer kept" in second["missing"]) == (None, True)
    store.sql("UPDATE turns SET tree = '--output=x' WHERE number = 3")
    assert "not the full id" in diffs(fettle)[3]["missing"]

    git(mirror, "update-ref", "-d", f"refs/fettle/runs/{RUN}/base")
    assert "before it" in diffs(fettle)[1]["missing"]
    mirror.rename(mirror.with_name("9.git"))
    assert "not on this machine" in diffs(fettle)[1]["missing"]
    assert "not shown: the mirror" in fettle("runs", "show", RUN, "--turns")[1]


def test_when_the_hidden_ref_is_gone_the_engine_may_know_the_base(fettle, changed, store):
    mirror, base, _ = changed
    git(mirror, "update-ref", "-d", f"refs/fettle/runs/{RUN}/base")
    store.steps(RUN, ("stage/prepare/1", 1000, 1001, {"standing": {"start": base}}))
    assert "-one\n+two\n" in diffs(fettle)[1]["text"]


# --- nothing is changed ---------------------------------------------------------------------------


def test_looking_changes_nothing(fettle, store, tmp_path):
    store.run(RUN, state="parked", turns=[prompt("p"), answer()])
    store.ask(RUN, days=0.0000001)
    time.sleep(0.05)

    def dump():
        connection = sqlite3.connect(tmp_path / "fettle.db")
        try:
            return list(connection.iterdump())
        finally:
            connection.close()

    before = dump()
    fettle("runs")
    fettle("runs", "show", RUN, "--turns")
    assert dump() == before


def test_postgresql_as_well(fettle, postgresql):
    url = postgresql.database()
    RunStore(url.replace("postgresql://", "postgresql+psycopg://")).run(
        RUN, turns=[prompt(EVIL), answer(call(command="ls"))]
    )
    settings = {"FETTLE_DATABASE_URL": url}
    assert fettle("runs", "--repository", "Parse", **settings)[1].startswith(
        "000660d6\tada/parse#3"
    )
    code, out, _ = fettle("runs", "show", "000660d6", "--turns", **settings)
    assert (code, "implement/1\tsaid" in out, "calls bash" in out) == (0, True, True)
    assert not MOVES.search(out.replace("\t", ""))


def test_options_stand_behind_what_they_are_for(fettle, store):
    store.run(RUN)
    code, _, err = fettle("runs", "--json", "show", RUN)
    assert (code, "behind the command" in err) == (2, True)


@pytest.mark.parametrize("args", [(), ("show",)])
def test_the_manual(fettle, args):
    code, out, _ = fettle("runs", *args, "--help")
    assert code == 0
    assert "Examples:" in out
    assert "Exit codes:" in out
