"""The demo as people see it in the terminal: live progress, then the pull request and its story."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.markdown import Markdown
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from app.local.github.gitdir import GitDir
from app.local.model import LocalModel
from app.local.result import DemoResult
from app.local.scene import LABEL, Scene

_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_DONE, _RUNNING = re.compile(r"^- \[x\] (.*)"), re.compile(r"^- \[ \] \*\*(.*?)\*\*")


class TerminalView:
    """Speaks to people. `console` may be standard error, so that output stays clean."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._scene: Scene | None = None
        self._model: LocalModel | None = None

    def note(self, text: str) -> None:
        """Say one thing."""
        self._console.print(Text(text, style="dim"))

    def scene(self, scene: Scene, model: LocalModel | None) -> None:
        """Show the issue, and begin the live view."""
        self._scene, self._model = scene, model
        self._console.print(Rule(f"{scene.repository.full_name}: {scene.issue.title}"))
        self._console.print(Markdown(scene.issue.body))
        self._console.print(
            Text(f"\n{scene.maintainer.login} sets the label {LABEL}. {scene.page}\n", "bold")
        )
        self._live = Live(console=self._console, refresh_per_second=10, transient=False)
        self._live.start()

    def tick(self, seconds: float) -> None:
        """Show how far it is, as the comment on the issue tells it."""
        if self._live is not None:
            self._live.update(self._progress(seconds))

    async def result(self, scene: Scene, result: DemoResult) -> None:
        """Show the pull request, its diff, the timeline, the judge and the cost."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        for pull in result.pull_requests:
            await self._pull(scene, pull)
        self._console.print(_judged(result))
        self._console.print(_costs(result))
        self._console.print(Text(result.outcome, "bold"))

    def _progress(self, seconds: float) -> Group:
        lines = [_line(text) for text in self._told()]
        return Group(*(line for line in lines if line), Text(f"{seconds:5.1f} s  {self._turn()}"))

    def _told(self) -> list[str]:
        """Return the lines of the progress comment."""
        assert self._scene is not None
        comments = self._scene.issue.comments
        return comments[0].body.splitlines() if comments else []

    def _turn(self) -> str:
        if self._model is None or not self._model.requests:
            return ""
        asked = self._model.requests[-1]
        return f"model: answer {asked.number} ({asked.part or 'thinking'})"

    async def _pull(self, scene: Scene, pull: dict[str, Any]) -> None:
        where = f"{scene.page}/pull/{pull['number']}"
        title = f"Pull request #{pull['number']}: {pull['title']}"
        body = Markdown(_COMMENT.sub("", pull["body"]))
        self._console.print(Panel(body, title=title, subtitle=where))
        diff = await GitDir(scene.repository.gitdir).diff(pull["base"], pull["head"])
        self._console.print(Syntax(diff, "diff", theme="ansi_dark", word_wrap=True))
        commits = Table("Commit", "Message", title="Commits")
        for commit in pull["commits"]:
            commits.add_row(commit["sha"][:10], commit["message"].splitlines()[0])
        self._console.print(commits)


def _line(text: str) -> Text | None:
    if done := _DONE.match(text):
        return Text.assemble(("  done  ", "green"), done[1])
    if running := _RUNNING.match(text):
        return Text.assemble(("  now   ", "yellow"), running[1])
    return None


def _judged(result: DemoResult) -> Table:
    table = Table("", "Exit code", "Result", title="Upstream's own tests of the next release")
    for when, verdict in result.upstream_tests.items():
        if verdict is not None:
            style = "green" if verdict["exit_code"] == 0 else "red"
            table.add_row(when, Text(str(verdict["exit_code"]), style), verdict["summary"])
    return table


def _costs(result: DemoResult) -> Text:
    return Text(
        f"{result.seconds:.1f} s from label to pull request, {result.own_seconds:.1f} s of it"
        f" Fettle's own; {result.turns} model answers, ${result.cost_usd:.2f}",
        "dim",
    )
