"""The demo as people see it: both runs followed live, then their story, in a terminal and a log."""

import asyncio
import io
import json
import time
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from sqlalchemy import text

from agents.ports import Usage
from agents.run import Outcome
from app.cli.progress import TerminalProgress
from app.demo.alerts.case import CASES, AlertCase, PreparedAlertCase
from app.demo.alerts.chapter import AlertOutcome, AlertsResult, Chapter
from app.demo.case import DemoCase, DemoCaseFile, UpstreamTests
from app.demo.diff_text import diff_text
from app.demo.follow_runs import DemoFollower, store_of
from app.demo.result import DemoCost, collect, collect_review
from app.demo.review_chapter import submit
from app.demo.review_points import ReviewPoint
from app.demo.scene import set_scene
from app.demo.timeline import story_of
from app.demo.upstream_tests import TestRun
from app.demo.view import TerminalView
from app.simulator.github import LocalGitHub
from app.simulator.github.accounts import Actor
from app.store.runs.runs import Runs
from tests.app.cli.runs.runs_scene import STEP, STEPS
from tests.fakes.reporter import RecordingReporter
from tests.fakes.requests import build_address_review, build_repository, build_resolve_issue
from tests.patience import PATIENCE

POINTS = (
    ReviewPoint(kind="suggestion", path="calc.py", line="a + b", words="{line}  # both"),
    ReviewPoint(kind="wish", path="*.txt", line="esc", words="Say *which* one, please."),
    ReviewPoint(kind="question", path="README*", line="", words="Why?"),
)
BOT_BRANCH = "bot/1-add"
COMMENT = """**At work on this.**

- [x] Fetch the default branch: at abc
- [x] Make the step and commit it (2): Cost \\$2
- [ ] **Plan the steps** … at work
"""


@pytest.fixture
async def scene(tmp_path):
    """The scene of the demo with a package of two lines, and the store beside it."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "calc.py").write_text("def add(a, b):\n    return a + b + 1\n")
    (tmp_path / "fettle").mkdir()
    github = await LocalGitHub.start(tmp_path / "github")
    about = DemoCaseFile(
        package="calc",
        version="1",
        fixed="2",
        issue="",
        script="",
        review="",
        review_script="",
        judge=UpstreamTests(take=(), command="true"),
    )
    source = tmp_path / "source"
    unused = Path("unused")
    case = DemoCase(about, "It adds one", "Too *much*.", unused, source, source, POINTS, unused)
    yield await set_scene(github, case, "http://127.0.0.1:9/webhook", "secret")
    await github.stop()


@pytest.fixture
def store(scene):
    database = store_of(scene)
    database.migrate()
    yield database
    database.close()


REQUEST = build_resolve_issue(
    repository=build_repository(id=1, owner="octo-org", name="calc"), number=1
)


async def resolve(scene):
    """Do on GitHub what a run does: react, comment, commit, push, open the pull request."""
    await scene.set_label()
    app = scene.github.world.apps[scene.app.app_id]
    bot = Actor(app.bot, app)
    parts = scene.github.parts
    parts.issues.react(scene.issue, bot, "eyes")
    parts.issues.comment(scene.issue, bot, COMMENT)
    await scene.github.commit(
        scene.repository,
        {"calc.py": "def add(a, b):\n    return a + b\n", "new.txt": "esc \x1b[31m\n"},
        author=app.bot,
        message="Step 1/1: Add",
        branch=BOT_BRANCH,
    )
    return await parts.pulls.open(
        scene.repository,
        bot,
        title="Add without one",
        body="### Why\n\nIt was one too many.\n<!-- fettle run=1 -->",
        head=BOT_BRANCH,
        base="main",
    )


async def address(scene, review, *, silent=0):
    """Do on GitHub what a run does with a review; some threads stay without an answer."""
    app, pull = scene.github.world.apps[scene.app.app_id], review.pull
    bot, head, reviews = Actor(app.bot, app), pull.head_sha, scene.github.parts.reviews
    files = {"calc.py": "def add(a, b):\n    return a + b  # both\n"}
    await scene.github.commit(
        scene.repository, files, author=app.bot, message="Apply it", branch=BOT_BRANCH
    )
    for remark in review.remarks[silent:]:
        text = "<!-- fettle run=2 key=thread-fixed -->\n**Fixed** in [`abc`](http://127.0.0.1/c)."
        reviews.reply(remark.thread, bot, text)
        reviews.resolve(remark.thread, bot, resolved=True)
    reviews.request(pull, review.author.account, bot)
    scene.github.parts.issues.comment(pull.issue, bot, "<!-- fettle run=2 key=ledger -->\nAll.")
    outcome = Outcome(kind="comment", text="Addressed the review.")
    return await collect_review(scene, review, head, outcome, DemoCost(4.5, {}, Usage(), 0.1, 2))


async def mend_alert(scene, tmp_path):
    """Do on GitHub what a run does about an alert."""
    case = AlertCase.model_validate(
        yaml.safe_load((CASES / "sqlparse" / "alert.yml").read_text("utf-8"))
    )
    chapter = Chapter(
        [PreparedAlertCase(case, {case.manifest: "sqlparse==0.4.4\n"})], made_up=False
    )
    await chapter.set(scene, tmp_path)
    await chapter.begin(scene)
    app, github = scene.github.world.apps[scene.app.app_id], scene.github
    branch = "bot/deps-sqlparse"
    await github.commit(
        chapter.repository, {case.manifest: "sqlparse==0.5.0\n"},
        author=app.bot, message="Update sqlparse", branch=branch,
    )  # fmt: skip
    await github.parts.pulls.open(
        chapter.repository, Actor(app.bot, app),
        title="Update sqlparse", body="", head=branch, base="main",
    )  # fmt: skip
    return chapter


def alerts(before="RecursionError", after="SQLParseError", tokens=0):
    exploit = {"before": before, "after": after, "safe": "SQLParseError"}
    one = AlertOutcome(
        "sqlparse", "GHSA-2m57-hf25-phgg", "py/requirements.txt", 1, "Update sqlparse",
        "requirements.txt alone", exploit, tokens, "Opened pull request #1",
    )  # fmt: skip
    return AlertsResult([one], made_up=False, seconds=7.25, cost_usd=0.0)


async def finish(scene, review=None, alerts=None):
    """Gather the result."""
    verdicts = (TestRun(1, "1 failed"), TestRun(0, "1 passed"))
    outcome = Outcome(kind="pull_request", text="Opened pull request #2: Add without one")
    usage = Usage(input=10, output=5, cache_read=100)
    spending = DemoCost(9.5, {}, usage, 0.17, 3)
    return await collect(scene, outcome, spending, verdicts, review=review, alerts=alerts)


# --- following ----------------------------------------------------------------------------------


async def test_the_newest_run_is_followed_to_its_end(store):
    heard = RecordingReporter()
    follower = DemoFollower(store, heard)
    assert await follower.look() is None
    runs = Runs(store)
    await runs.create("run", REQUEST)
    await runs.record_stage("run", "stage/prepare/1")
    assert await follower.look() is None
    assert heard.calls_of("stage_started") == [("prepare/1", "Fetch the default branch")]
    await runs.record_end("run", Outcome(kind="comment", text="Done."))
    assert (await follower.look()).text == "Done."


async def test_the_second_run_is_waited_for_and_shown_in_its_own_words(store):
    runs = Runs(store)
    await runs.create("run", REQUEST)
    await runs.record_end("run", Outcome(kind="pull_request", text="Opened."))
    heard = RecordingReporter()
    follower = DemoFollower(store, heard, after="run")
    assert await follower.look() is None
    assert heard.calls == []
    await runs.create(
        "second", build_address_review(repository=REQUEST.repository, number=1, review_id=3)
    )
    await runs.record_stage("second", "stage/implement/1")
    assert await follower.look() is None
    assert heard.calls_of("stage_started") == [("implement/1", "Make the changes")]
    await runs.record_end("second", Outcome(kind="comment", text="Addressed."))
    assert (await follower.look()).text == "Addressed."


# --- the end ------------------------------------------------------------------------------------


async def test_the_story_is_what_the_local_github_recorded(scene):
    review = await submit(scene, await resolve(scene), POINTS)
    await asyncio.sleep(1 - time.time() % 1)  # commits know no more than the second they are of
    await address(scene, review, silent=2)
    told = [(moment.who, moment.what) for moment in await story_of(scene)]
    assert told[:2] == [("jonas", "opened the issue #1"), ("mara", "set the label bot:resolve")]
    assert told[2:] == [
        ("fettle[bot]", "reacted to the issue with eyes"),
        ("fettle[bot]", "began to report in a comment on the issue"),
        ("fettle[bot]", "committed: Step 1/1: Add"),
        ("fettle[bot]", "opened the pull request #2"),
        ("ola", "reviewed it: 3 threads"),
        ("fettle[bot]", "committed: Apply it"),
        ("fettle[bot]", "answered in the thread at calc.py:2"),
        ("fettle[bot]", "asked ola for another look"),
        ("fettle[bot]", "summed it up in a comment on the pull request"),
    ]


async def test_the_result_is_as_promised_when_no_thread_stays_without_an_answer(scene):
    review = await submit(scene, await resolve(scene), POINTS)
    assert [(r.thread.path, r.thread.original_line, r.body) for r in review.remarks] == [
        ("calc.py", 2, "```suggestion\n    return a + b  # both\n```"),
        ("new.txt", 1, "Say *which* one, please."),
        ("calc.py", 2, "Why?"),
    ]

    some = await address(scene, review, silent=1)
    assert not some.whole
    assert not (await finish(scene, some)).as_promised
    assert not (await finish(scene)).as_promised, "there was no review"

    every = await address(scene, review)
    result = await finish(scene, every)
    assert result.as_promised
    told = json.loads(result.json())["review"]
    assert (told["reviewer"], told["summary"].splitlines()[-1]) == ("ola", "All.")
    assert told["threads"][1] == {
        "path": "new.txt",
        "line": 1,
        "asked": "Say *which* one, please.",
        "verdict": "fixed",
        "answer": "**Fixed** in [`abc`](http://127.0.0.1/c).",
        "resolved": True,
    }
    assert [commit["message"].strip() for commit in told["commits"]] == ["Apply it"]
    assert told["asked_again"]


async def record(store, name, value):
    """Keep what the engine keeps of a step."""
    row = {"run": "run", "number": 1, "name": name, "start": 1000, "end": 2000}
    await store.write(lambda c: c.execute(text(STEPS)))
    output = json.dumps({"value": value})
    await store.write(lambda c: c.execute(text(STEP), {**row, "output": output}))


async def test_it_is_as_promised_only_when_no_attack_works_and_no_token_was_spent(scene):
    review = await address(scene, await submit(scene, await resolve(scene), POINTS))
    assert (await finish(scene, review, alerts())).as_promised
    for wrong in (
        alerts(after="RecursionError"), alerts(after=""), alerts(before="SQLParseError"),
        alerts(tokens=1), AlertsResult([], made_up=False, seconds=1.0, cost_usd=0.0),
    ):  # fmt: skip
        assert not (await finish(scene, review, wrong)).as_promised
    told = json.loads((await finish(scene, review, alerts())).json())["alerts"]["mended"]
    assert told[0]["exploit"]["after"] == "SQLParseError"


async def show(scene, store, console, *, stay=False):
    """Show the whole demo of a run that is over when people begin to look."""
    await Runs(store).create("run", REQUEST)
    await Runs(store).record_stage("run", "stage/prepare/1")
    view = TerminalView(console, TerminalProgress, stay=stay)
    view.note("Fetching")
    view.scene(scene, None)
    pull = await resolve(scene)
    async with asyncio.timeout(PATIENCE):
        while "Fetch the default branch" not in console.file.getvalue():
            await asyncio.sleep(0.01)
    await record(store, "stage/prepare/1", {"summary": "at abc"})
    await Runs(store).record_end("run", Outcome(kind="pull_request", text="Opened."))
    view.tick(1.0)
    review = await submit(scene, pull, POINTS)
    await view.review(scene, review)
    addressed = await address(scene, review, silent=1)
    chapter = await mend_alert(scene, scene.github.world.root)
    await view.alerts(chapter)
    view.show_alert_outcome("sqlparse in octo-org/tools", "Opened pull request #1: Update sqlparse")
    await view.result(scene, await finish(scene, addressed, alerts()), chapter)
    view.close()
    return console.file.getvalue()


async def test_a_log_gets_plain_lines_and_everything_is_told(scene, store):
    shown = await show(scene, store, Console(file=io.StringIO(), width=100))
    assert "\x1b" not in shown
    assert "\r" not in shown
    for words in (
        "#1 It adds one",
        "mara sets the label bot:resolve",
        " s  Fetch the default branch",
        "   -> at abc",
        "Pull request #2 Add without one",
        "It was one too many.",
        "Step 1/1: Add",
        "-    return a + b + 1",
        "+    return a + b",
        "opened the pull request #2",
        "ola reviews the pull request #2.",
        "Suggests: return a + b  # both",
        "Review by ola",
        "Fixed in abc.",
        "without an answer",
        "1 commit pushed, ola is asked for another look",
        "GitHub finds a vulnerable package in octo-org/tools.",
        "sqlparse < 0.5.0, high, in py/requirements.txt",
        "A run for each of them",
        "   -> Opened pull request #1: Update sqlparse",
        "requirements.txt alone",
        "the attack, before",
        "SQLParseError",
        "1 alert in 7.2 s, $0.00 for 0 tokens",
        "opened the pull request #1 in tools",
        "exit code 1: 1 failed",
        "exit code 0: 1 passed",
        "$0.17 for 3 model answers, 110 tokens in",
        "9.5 s from label to pull request",
        "fettle demo --stay",
        str(scene.github.world.root.parent),
    ):
        assert words in shown, words
    assert "fettle run=1" not in shown
    assert shown.count("Fetch the default branch") == 1, "a log is no place to repaint"


async def test_a_terminal_gets_colours_and_nothing_of_others_that_acts(scene, store):
    console = Console(file=io.StringIO(), width=100, height=30, force_terminal=True)
    shown = await show(scene, store, console, stay=True)
    assert "\x1b[32m" in shown
    assert "esc \\x1b[31m" in shown
    assert f"{scene.page}/pull/2" in shown
    assert shown.endswith("\x1b[0m\n") or shown.rstrip().endswith("/pull/2")
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h"), "the cursor is back"


async def test_without_a_pull_request_it_says_so(scene, store):
    console = Console(file=io.StringIO(), width=100)
    view = TerminalView(console, TerminalProgress)
    verdicts = (TestRun(1, "1 failed"), None)
    outcome = Outcome(kind="failed", text="The server stopped.")
    result = await collect(scene, outcome, DemoCost(1.0, {}, Usage(), 0.0, 0), verdicts)
    await view.result(scene, result, Chapter([], made_up=False))
    shown = console.file.getvalue()
    assert "there is no pull request" in shown
    assert "The server stopped." in shown


def test_a_long_diff_is_cut_and_says_by_how_much():
    added = "".join(f"+line {number}\n" for number in range(500))
    diff = (
        "diff --git a/big.txt b/big.txt\nnew file mode 100644\n"
        f"index {'0' * 40}..{'1' * 40}\n--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,500 @@\n{added}"
    )
    lines = diff_text(diff.rstrip("\n"), longest=20).plain.splitlines()
    assert len(lines) == 21
    assert lines[0] == "big.txt  +500 -0  added"
    assert lines[-1] == "... 482 more lines"
