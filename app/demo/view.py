"""Print the demo: the issue, live progress, the review, and the result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, Protocol

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from agents.errors import TransientError
from agents.ports import Reporter
from agents.text import printable
from app.demo.alerts.chapter import Chapter
from app.demo.alerts.view import alerts_found, alerts_mended
from app.demo.diff_text import diff_text
from app.demo.follow_runs import JUDGING, DemoFollower, store_of
from app.demo.result import DemoResult, ReviewResult
from app.demo.scene import LABEL, Scene
from app.demo.timeline import label_set_at, story_of
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.reviews import Review
from app.simulator.github.state.world import Pull
from app.simulator.model import LocalModel

LOOK_SECONDS = 0.03  # a stage may be over in a tenth of a second

_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class DemoProgress(Reporter, Protocol):
    """Shows how far the run is while it lasts."""

    def begin(self) -> None:
        """Begin to show."""
        ...

    def end(self, how: Literal["done", "failed", "stopped"] = "done") -> None:
        """Stop; again, it does nothing."""
        ...


class TerminalView:
    """Speaks to people. `console` may be standard error, so that output stays clean.

    `progress` makes one for each of the two runs.
    """

    def __init__(
        self, console: Console, progress: Callable[[Console], DemoProgress], *, stay: bool = False
    ) -> None:
        self._console = console
        self._make_progress = progress
        self._progress = progress(console)
        self._stay = stay
        self._following: asyncio.Task[None] | None = None
        self._seen = ""
        """The newest run that was followed."""

    def note(self, text: str) -> None:
        """Say one thing."""
        self._console.print(Text(f"{text}.", "dim"))

    def scene(self, scene: Scene, model: LocalModel | None) -> None:
        """Show the issue, and begin to follow the run."""
        print_ = self._console.print
        issue = scene.issue
        title = Text.assemble((f"#{issue.number} ", "dim"), (issue.title, "bold"))
        by = Text(f"{scene.repository.full_name}, opened by {issue.author.account.login}", "dim")
        print_()
        print_(Panel(Markdown(issue.body), title=title, subtitle=by, padding=(1, 2)))
        if self._stay:
            print_(Text(f"{scene.page}/issues/{issue.number}", "dim"))
        who = "A script answers as the model" if model else "The real model answers"
        print_(f"\n[bold]{scene.maintainer.login} sets the label [cyan]{LABEL}[/].[/] {who}.\n")
        self._begin(scene)

    def tick(self, seconds: float) -> None:
        """Leave the repainting to the progress itself."""

    async def review(self, scene: Scene, review: Review) -> None:
        """Show what the reviewer says, and begin to follow the run that addresses it."""
        await self._stop_following()
        self._progress.end("done")
        number, who = review.pull.issue.number, review.author.account.login
        self._console.print(f"\n[bold]{who} reviews the pull request #{number}.[/]\n")
        table = _table()
        for remark in review.remarks:
            place = f"{remark.thread.path}:{remark.thread.original_line}"
            table.add_row(Text(printable(place), "cyan"), Text(_words(remark.body)))
        self._console.print(table)
        self._console.print()
        self._progress = self._make_progress(self._console)
        self._begin(scene)

    async def alerts(self, chapter: Chapter) -> None:
        """Show the alerts, and begin to wait for what becomes of them."""
        await self._stop_following()
        self._progress.end("done")
        self._console.print(alerts_found(chapter))
        self._progress = self._make_progress(self._console)
        self._progress.begin()
        self._progress.stage_started("alerts/1", "A run for each of them")

    def show_alert_outcome(self, package: str, text: str) -> None:
        """Show what became of one of the alerts."""
        self._progress.stage_started(f"{package}/1", package)
        self._progress.stage_finished(f"{package}/1", text)

    async def result(self, scene: Scene, result: DemoResult, chapter: Chapter) -> None:
        """Show the pull request, its diff, the timeline, the judge and the cost."""
        await self._stop_following()
        self._progress.end("done" if result.pull_requests else "failed")
        for pull in result.pull_requests:
            await self._pull(scene, pull)
        if result.review is not None:
            self._section(f"Review by {result.review.reviewer}")
            self._console.print(_review(result.review))
        if result.alerts is not None:
            self._section("Alerts")
            self._console.print(alerts_mended(result.alerts))
        self._section("Timeline")
        self._console.print(await _timeline(scene, chapter.pulls()))
        self._section("Upstream's own tests of the next release")
        self._console.print(_tabulate_verdicts(result))
        self._section("Cost")
        self._console.print(_costs(result))
        self._console.print()
        self._console.print(self._end(scene, result))

    def close(self) -> None:
        """Leave the terminal as it was, whatever happened."""
        if self._following is not None:
            self._following.cancel()
        self._progress.end("stopped")

    # --- while it lasts -------------------------------------------------------------------------

    def _begin(self, scene: Scene) -> None:
        """Begin to follow the run that comes next."""
        self._progress.begin()
        self._following = asyncio.create_task(self._follow(scene, self._seen))

    async def _follow(self, scene: Scene, before: str) -> None:
        """Show the run that comes after that one; upstream's tests judge what comes of both."""
        database = store_of(scene)
        follower = DemoFollower(database, self._progress, after=before)
        try:
            outcome = None
            while outcome is None:
                with suppress(TransientError):  # the next look may do
                    outcome = await follower.look()
                self._seen = follower.run_id
                await asyncio.sleep(LOOK_SECONDS)
            if before and outcome.kind != "failed":
                self._progress.stage_started("judge/1", JUDGING)
        finally:
            database.close()

    async def _stop_following(self) -> None:
        """Let the follower see the end, which it does within two looks; then stop it."""
        if self._following is not None:
            await asyncio.wait({self._following}, timeout=1.0)
            self._following.cancel()

    # --- the end --------------------------------------------------------------------------------

    def _section(self, title: str) -> None:
        self._console.print()
        self._console.print(Rule(title, align="left", style="dim"))

    async def _pull(self, scene: Scene, pull: dict[str, Any]) -> None:
        kind = "Draft pull request" if pull["draft"] else "Pull request"
        title = Text.assemble((f"{kind} #{pull['number']} ", "dim"), (pull["title"], "bold"))
        body = Markdown(_COMMENT.sub("", pull["body"]))
        where = Text(f"{pull['head']} into {pull['base']}", "dim")
        self._console.print()
        self._console.print(Panel(body, title=title, subtitle=where, padding=(1, 2)))
        self._section("Commits")
        for commit in pull["commits"]:
            line = Text.assemble(
                (commit["sha"][:10], "yellow"), "  ", commit["message"].splitlines()[0]
            )
            self._console.print(line)
        self._section("Diff")
        diff = await GitDir(scene.repository.gitdir).diff(pull["base"], pull["head"])
        self._console.print(diff_text(diff), soft_wrap=not self._console.is_terminal)

    def _end(self, scene: Scene, result: DemoResult) -> Text:
        head = Text(result.outcome, "bold green" if result.as_promised else "bold red")
        kept = f"\nRepository, database and log are kept in {scene.github.world.root.parent}"
        if not self._stay:
            return Text.assemble(
                head, (kept, "dim"), ("\nTo see it in a browser: ", "dim"), "fettle demo --stay"
            )
        number = scene.pulls()[0].issue.number if scene.pulls() else scene.issue.number
        return Text.assemble(head, (kept, "dim"), f"\nLook at it: {scene.page}/pull/{number}")


def _table() -> Table:
    return Table.grid(padding=(0, 2))


def _words(text: str) -> str:
    """Return what somebody said in a thread, or the answer to it, as one line."""
    suggested = text.strip().removeprefix("```suggestion\n")
    if suggested != text.strip():
        return f"Suggests: {printable(suggested.removesuffix('```')).strip()}"
    return printable(" ".join(_LINK.sub(r"\1", text).replace("*", "").replace("`", "").split()))


def _review(review: ReviewResult) -> Table:
    """Return each thread with its answer, and what came of all."""
    table = _table()
    for thread in review.threads:
        how = "resolved" if thread.resolved else "open"
        table.add_row(
            Text(printable(f"{thread.path}:{thread.line}"), "cyan"),
            Text(how, "green" if thread.resolved else "dim"),
            Text(
                _words(thread.answer) or "without an answer", "" if thread.verdict else "bold red"
            ),
        )
    asked = f", {review.reviewer} is asked for another look" if review.asked_again else ""
    commits = "1 commit" if len(review.commits) == 1 else f"{len(review.commits)} commits"
    cost = f"{review.seconds:.1f} s, ${review.cost_usd:.2f} for {review.turns} model answers"
    table.add_row("", Text("in all", "dim"), Text(f"{commits} pushed{asked}; {cost}", "dim"))
    return table


async def _timeline(scene: Scene, more: Sequence[Pull]) -> Table:
    table = _table()
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    start = label_set_at(scene)
    for moment in await story_of(scene, more):
        seconds = (moment.at - start).total_seconds()
        table.add_row(
            "before" if seconds < 0 else f"{seconds:.0f} s", moment.who, Text(moment.what)
        )
    return table


def _tabulate_verdicts(result: DemoResult) -> Table:
    table = _table()
    for when, verdict in result.upstream_tests.items():
        if verdict is None:
            table.add_row(when, Text("not run", "dim"), "there is no pull request")
            continue
        good = verdict["exit_code"] == 0
        word = Text("green" if good else "red", "bold green" if good else "bold red")
        table.add_row(when, word, f"exit code {verdict['exit_code']}: {verdict['summary']}")
    return table


def _costs(result: DemoResult) -> Table:
    tokens = result.tokens
    written = tokens["cache_write_5m"] + tokens["cache_write_1h"]
    prompt = tokens["input"] + tokens["cache_read"] + written
    table = _table()
    table.add_row(
        "money",
        f"${result.cost_usd:.2f} for {result.turns} model answers, {prompt:,} tokens in"
        f" ({tokens['cache_read']:,} from cache), {tokens['output']:,} out",
    )
    table.add_row(
        "time",
        f"{result.seconds:.1f} s from label to pull request, {result.own_seconds:.1f} s of it"
        " Fettle's own; the rest was the model and the package's tests",
    )
    return table
