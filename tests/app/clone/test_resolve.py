"""`fettle resolve` as a person runs it: what it leaves, what it leaves alone, how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from agents.errors import Cancelled, ConfigError
from app.cli import main
from app.cli.declaration import read_page
from app.demo.case import load_case
from app.demo.folders import demo_folder
from app.demo.toolchain import make_toolchain
from tests.app.clone.conftest import (
    CALC,
    DOCS,
    GOOD,
    JUDGE,
    PLAN,
    TRIAGE,
    WORDS,
    git,
    make_clone,
    part,
)
from tests.patience import PATIENCE

HOOKS = """applypatch-msg commit-msg fsmonitor-watchman p4-changelist post-applypatch post-checkout
post-commit post-index-change post-merge post-receive post-rewrite post-update pre-applypatch
pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg
proc-receive push-to-checkout reference-transaction sendemail-validate update"""


def snapshot(clone):
    """Return all of a clone but objects and Fettle's own branches: bytes, mode, time of change."""
    found = {}
    for path in sorted(clone.rglob("*")):
        name = path.relative_to(clone).as_posix()
        ours = name.startswith((".git/objects/", ".git/refs/heads/bot", ".git/logs/refs/heads/bot"))
        if not ours and not path.is_dir():
            about = path.lstat()
            found[name] = (about.st_mode, about.st_mtime_ns, path.read_bytes())
    return found


def make_hostile(clone, marker):
    """Have everything in the clone that git might ever run write the marker."""
    evil = clone / ".git" / "evil"
    evil.write_text(f"#!/bin/sh\necho $0 >> {marker}\ncat\n")
    evil.chmod(0o755)
    for hook in HOOKS.split():
        (clone / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\necho {hook} >> {marker}\n")
        (clone / ".git" / "hooks" / hook).chmod(0o755)
    runs = """core.fsmonitor core.sshCommand core.pager core.editor core.askPass core.gitProxy
        core.alternateRefsCommand credential.helper diff.external gpg.program gpg.ssh.program
        sequence.editor uploadpack.packObjectsHook filter.evil.clean filter.evil.smudge
        filter.evil.process diff.evil.command diff.evil.textconv merge.evil.driver
        remote.origin.uploadpack alias.rev-parse alias.pack-objects"""
    values = {
        **dict.fromkeys(runs.split(), str(evil)),
        "core.hooksPath": str(clone / ".git" / "hooks"),
        "commit.gpgSign": "true",
        "filter.evil.required": "true",
        "remote.origin.url": f"ext::{evil}",
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
        "protocol.file.allow": "always",
    }
    included = clone / ".git" / "more-config"
    for name, value in values.items():
        git(clone, "config", "--file", str(included), name, value)
    git(clone, "config", "include.path", str(included))
    (clone / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")


async def test_a_real_bug_in_a_clone_of_which_nothing_but_a_branch_changes(bench):
    cache = demo_folder() / "cache"
    cache.mkdir(exist_ok=True)
    case, toolchain = await asyncio.gather(load_case("parse", cache), make_toolchain(cache))
    clone = make_clone(bench.place / "parse", source=case.before)
    git(clone, "branch", "other")
    (clone / "parse.py").write_text("half a thought\n")
    (clone / "README.rst").write_text("staged\n")
    git(clone, "add", "README.rst")
    (clone / "new.txt").write_text("not known to git\n")
    marker = bench.place / "marker"
    make_hostile(clone, marker)
    before = snapshot(clone)
    await bench.play(case.script)

    issue = bench.issue(f"# {case.title}\n\n{case.body}")
    where = {"FETTLE_TOOLCHAINS": str(toolchain)}
    done = await bench.call(bench.place, "resolve", clone, "--issue", issue, "--json", **where)

    assert done.code == 0, done.err
    told = done.json
    assert snapshot(clone) == before
    assert not marker.exists(), marker.read_text()
    assert told["outcome"] == "pull_request"
    assert told["branch"].startswith("bot/accept-short-fractions-")
    assert told["base"] == _plain_git(clone, "rev-parse", "main")
    assert told["title"] == "Accept one to six digits for %f"
    assert "### How it was verified" in told["body"]
    assert told["draft"] is False
    assert told["comments"] == []
    assert told["kept"] is None
    assert told["quality"] == [
        {
            "check": "tests",
            "command": "python3 -m pytest -q",
            "exit_code_before": 0,
            "exit_code_after": 0,
            "passed": True,
        }
    ]
    assert told["cost"]["turns"] == len(bench.model.requests)
    assert told["cost"]["usd"] > 0
    assert told["cost"]["tokens"]["output"] > 0
    commits = _plain_git(clone, "log", "--reverse", "--format=%H %s", f"main..{told['branch']}")
    assert commits.splitlines() == [f"{c['sha']} {c['subject']}" for c in told["commits"]]
    assert len(told["commits"]) == 3
    assert bench.list_folders() == []
    # Progress is for people, in lines that a log can keep.
    assert "\x1b" not in done.err
    assert "-> tests passed" in done.err
    assert "edit parse.py" in done.err


def _plain_git(clone, *args):
    """Run git with the clone's hostile settings overridden."""
    evil = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat")
    settings = [word for setting in evil for word in ("-c", setting)]
    return git(clone, *settings, *args)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root works in clones of others")
async def test_the_clone_of_somebody_else_with_a_detached_head_in_a_closed_home(bench):
    home = bench.place / "home"
    home.mkdir()
    clone = make_clone(home / "calc", CALC)
    git(clone, "checkout", "-q", "--detach")
    subprocess.run(["chown", "-R", "12345:12345", str(home)], check=True)
    home.chmod(0o700)
    before = snapshot(clone)
    await bench.play(GOOD)

    done = await bench.resolve(clone / "sub")

    assert done.exit_code == 0, done.text
    assert snapshot(clone) == before
    assert [run.command for run in done.quality.runs] == ["python3 -B check.py"]
    branch = clone / ".git" / "refs" / "heads" / done.branch
    assert branch.stat().st_uid == 12345
    strangers = [p for p in (clone / ".git").rglob("*") if p.lstat().st_uid != 12345]
    assert strangers == []
    assert "no branch checked out" in bench.told[0]


async def test_a_shallow_clone_with_a_linked_work_tree(bench, calc):
    (calc / "calc.py").write_text(CALC["calc.py"] + "\n\nTWO = 2\n")
    git(calc, "commit", "-qam", "second")
    shallow, linked = bench.place / "shallow", bench.place / "linked"
    git(bench.place, "clone", "-q", "--depth=1", f"file://{calc}", str(shallow))
    git(shallow, "worktree", "add", "-q", "-b", "topic", str(linked))
    before = snapshot(shallow)
    await bench.play(GOOD)

    done = await bench.resolve(linked)

    assert done.exit_code == 0, done.text
    assert snapshot(shallow) == before
    assert done.text.startswith("# Add without one too many\n\n### Why\n")
    assert done.outcome.pull_request.base == "topic"
    fixed = git(shallow, "show", f"{done.branch}:calc.py")
    assert fixed.startswith("def add(a, b):\n    return a + b\n")
    git(shallow, "fsck", "--connectivity-only")
    assert bench.list_folders() == []


async def test_checks_that_fail_afterwards_make_a_draft_and_exit_code_2(bench, calc):
    worse = part(
        "# Implement step 1 of 1",
        {"edit": {"path": "calc.py", "old": "a + b + 1", "new": "a + b + 2"}},
        {"submit_step": {"summary": "Changed the sum.", "tried": "Nothing."}},
    )
    give_up = part("# Fix the checks", {"submit_fix": {"summary": "I do not know why it fails."}})
    draft = part("# Write the draft pull request", {"submit_pull_request": WORDS})
    await bench.play((TRIAGE, PLAN, worse, JUDGE, DOCS, give_up, draft))

    done = await bench.resolve(calc)

    assert done.exit_code == 2, done.text
    told = json.loads(done.json())
    assert told["draft"] is True
    assert [(c["exit_code_before"], c["passed"]) for c in told["quality"]] == [(0, False)]
    assert git(calc, "rev-parse", told["branch"]) == told["commits"][-1]["sha"]


async def test_a_question_is_told_and_leaves_no_branch(bench, calc):
    ask = part(
        "# Triage",
        {
            "submit_triage": {
                "decision": "ask",
                "kind": "question",
                "reasoning": "Nobody says what should come out.",
                "detail": "What should `add(1, 1)` give?",
            }
        },
    )
    asked = {
        "question": "What should `add(1, 1)` give?",
        "why": "It decides the whole change.",
        "otherwise": "I would take it to be two.",
    }
    words = {"questions": [asked], "approaches": [], "recommendation": "", "reason": ""}
    await bench.play((ask, part("# Write the comment", {"submit_comment": words})))

    done = await bench.resolve(calc)

    assert done.exit_code == 2
    assert "What should `add(1, 1)` give?" in done.text
    assert "then start again" in done.text
    assert git(calc, "branch", "--list", "bot/*") == ""
    assert bench.list_folders() == []


async def test_people_may_commit_while_it_works_and_may_be_careful_with_modes(bench, calc):
    before = os.umask(0o077)
    model = await bench.play(GOOD)
    base = git(calc, "rev-parse", "HEAD")

    async def commit(asked):
        if asked.number == 4:
            git(calc, "commit", "-q", "--allow-empty", "-m", "meanwhile")

    model.on_request(commit)
    try:
        done = await bench.resolve(calc)
    finally:
        os.umask(before)

    assert done.exit_code == 0, done.text
    assert done.base == base
    assert len(done.commits) == 1
    assert git(calc, "merge-base", "main", done.branch) == base


async def test_a_model_without_room_is_told_while_it_lasts(bench, calc):
    model = await bench.play(GOOD)
    model.fail_next("rate_limit", retry_after=21)  # longer than a call waits
    stop = asyncio.Event()
    resolving = asyncio.create_task(bench.resolve(calc, stop=stop))
    async with asyncio.timeout(PATIENCE):
        while "waiting for the model's server, until" not in bench.shown.getvalue():
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    assert not resolving.done(), "that is nothing for which a person has to come"
    stop.set()
    with pytest.raises(Cancelled):
        await resolving
    [kept] = bench.list_folders()
    assert (kept / "run.db").exists()


async def test_no_key_and_no_other_server(bench, calc):
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is not set"):
        await bench.resolve(calc)
    assert bench.list_folders() == []


async def test_a_refused_key_and_a_model_without_a_price_are_told_before_any_work(bench, calc):
    await bench.play(GOOD)
    bench.model.keys = frozenset({"another"})
    refused = await bench.resolve(calc)
    bench.model.keys = frozenset()
    unknown = await bench.resolve(calc, FETTLE_MODEL_FAST="house-model")

    assert (refused.exit_code, unknown.exit_code) == (2, 2)
    assert "Check ANTHROPIC_API_KEY" in refused.outcome.text
    assert "`house-model`" in unknown.outcome.text
    assert (bench.model.requests, bench.list_folders()) == ([], [])


async def test_ctrl_c_stops_and_the_same_command_goes_on_without_asking_twice(bench, calc):
    model = await bench.play(GOOD, latency=0.3)
    before = snapshot(calc)
    running = await bench.start(calc, "--issue", bench.issue(), "--json")
    async with asyncio.timeout(PATIENCE):
        while len(model.requests) < 4:
            await asyncio.sleep(0.02)
    with pytest.raises(ConfigError, match="Another `fettle` command is at work"):
        await bench.resolve(calc)
    running.send_signal(signal.SIGINT)
    stopped = await bench.end(running)

    assert stopped.code == 130
    assert stopped.out == ""
    [kept] = bench.list_folders()
    assert str(kept) in stopped.err
    assert "-> stopped" in stopped.err
    assert "Traceback" not in stopped.err
    assert snapshot(calc) == before

    (calc / "calc.py").write_text("edited meanwhile\n")
    done = await bench.resolve(calc)
    assert done.exit_code == 0, done.text
    assert bench.told[0].startswith("Going on with the interrupted run")
    answered = [asked.prefix for asked in model.requests if asked.answered]
    assert len(answered) == len(set(answered)), "an answer was paid for twice"
    assert done.spent[2] == len(answered)
    assert bench.list_folders() == []


@pytest.fixture
def mistaken(bench, calc, monkeypatch, capsys):
    """Return a function that runs the command in this process, and returns its code and words."""

    def run(*args, **settings):
        chosen = {"FETTLE_DATA_DIR": str(bench.data), "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
        for name in [n for n in os.environ if n.startswith(("FETTLE_", "ANTHROPIC_"))]:
            monkeypatch.delenv(name)
        for name, value in {**chosen, **settings}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.argv", ["fettle", "resolve", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert said.out == ""
        assert bench.list_folders() == []
        return ended.value.code, said.err

    return run


def test_a_path_without_a_clone(bench, mistaken):
    folder = bench.place / "folder"
    folder.mkdir()
    code, said = mistaken(folder, "--issue", bench.issue())
    assert (code, said) == (2, f"`{folder}` is not in a git repository. Name a clone.\n")


def test_a_path_that_is_not_there_is_not_the_clone_around_it(bench, calc, mistaken):
    for path in (bench.place / "nowhere", calc / "nowhere"):
        code, said = mistaken(path, "--issue", bench.issue())
        assert (code, f"`{path}` is no folder here." in said) == (2, True)


def test_a_repository_without_commits(bench, mistaken):
    folder = bench.place / "empty"
    folder.mkdir()
    git(folder, "init", "-q")
    code, said = mistaken(folder, "--issue", bench.issue())
    assert (code, "nothing checked out" in said) == (2, True)


def test_a_repository_with_other_names_for_objects(bench, mistaken):
    folder = bench.place / "sha256"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    code, said = mistaken(folder, "--issue", bench.issue())
    assert (code, "SHA-256" in said) == (2, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "No such file"),
        ("", "has no title"),
        (" \n\n", "has no title"),
        ("#\n\nno words\n", "has no title"),
        (b"Umlaut: \xfc\n", "is not UTF-8"),
        ("long\n" + "x" * 1_000_001, "1.0 MB"),
    ],
)
def test_an_issue_that_cannot_be_read(bench, calc, mistaken, text, words):
    file = bench.place / "nothing.md" if text is None else bench.issue(text)
    code, said = mistaken(calc, "--issue", file)
    assert code == 2
    assert words in said
    assert str(file) in said


def test_settings_that_are_wrong(bench, calc, mistaken):
    code, said = mistaken(calc, "--issue", bench.issue(), FETTLE_MODELL="x")
    assert (code, "Did you mean FETTLE_MODEL?" in said) == (2, True)


def test_a_data_folder_that_cannot_be_written(bench, calc, mistaken):
    code, said = mistaken(calc, "--issue", bench.issue(), FETTLE_DATA_DIR="/proc/fettle")
    assert (code, "Set FETTLE_DATA_DIR to a folder of your own." in said) == (2, True)


def test_nobody_says_what_to_do(calc, bench, mistaken):
    code, said = mistaken(calc)
    assert (code, "--issue" in said, "OWNER/REPO#25" in said) == (2, True, True)
    code, said = mistaken(calc, "Mend it", "--issue", bench.issue())
    assert (code, "not both" in said) == (2, True)
    assert mistaken(calc, " ")[0] == 2


async def test_the_wish_in_words(bench, calc):
    await bench.play(GOOD)
    wish = "It adds one too many\n\nIt gives 3."
    done = await bench.call(bench.place, "resolve", calc, wish, "--json")
    assert done.code == 0, done.err
    assert done.json["outcome"] == "pull_request"
    assert bench.list_folders() == []


def test_the_manual_tells_what_the_result_holds():
    named = " ".join(term for term, _ in read_page("fettle resolve").sections["The JSON object"])
    source = (Path(__file__).parents[3] / "app" / "clone" / "result.py").read_text()
    told = source.partition("about = {")[2].partition("\n        }")[0]
    keys = [line.split('"')[1] for line in told.splitlines() if line.startswith('            "')]
    assert keys
    assert set(named.replace(",", "").split()) == set(keys)
