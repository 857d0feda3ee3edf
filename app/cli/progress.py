"""How far a run is, in a terminal: a live checklist, or plain lines where nobody sees colours."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from agents.ports import Usage
from agents.text import plain_output
from app.views.text import make_visible

REPAINTS = 8  # a second
RESERVED = 6  # lines of a terminal that the checklist leaves free
LONGEST = 300  # characters of anything that a model or a repository wrote


StageEnding = Literal["done", "failed", "stopped"]
SIGNS = {"done": ("✓", "green"), "failed": ("✗", "bold red"), "stopped": ("■", "yellow")}


@dataclass
class ChecklistLine:
    """One stage of the checklist; seconds count from the start of the run."""

    key: str
    title: str
    began: float
    ended: float | None = None
    summary: str | None = None
    """None: not yet known."""
    how: StageEnding = "done"


@dataclass
class _Said:
    """A plain line, held back while `text` is not yet known, so that lines keep their order."""

    at: float
    text: str | None
    key: str = ""


@dataclass
class TerminalProgress:
    """The port `Reporter` in a terminal. It begins with the first stage at the latest."""

    console: Console
    lines: list[ChecklistLine] = field(default_factory=list)
    doing: str = ""
    totals: str = ""
    _began: float | None = None
    _over: bool = False
    _waits: bool = False
    _spinner: Spinner = field(default_factory=lambda: Spinner("dots", style="yellow"))
    _live: Live | None = None
    _said: list[_Said] = field(default_factory=list)

    # --- the port -------------------------------------------------------------------------------

    def stage_started(self, stage: str, title: str) -> None:
        """Show the stage as at work, and the one before it as over."""
        if self._over:
            return
        if self._line(stage):
            if self._waits:
                self._waits, self.doing = False, ""
                self._paint()
            return
        self.begin()
        self._settle()
        number = stage.rpartition("/")[2]
        title = title if number in {"", "1"} else f"{title} ({number})"
        self.lines.append(ChecklistLine(stage, title, self.seconds))
        self.doing = ""
        self._say(title)

    def stage_finished(self, stage: str, summary: str) -> None:
        """Show it as over, with what it came to."""
        line = self._line(stage)
        if self._over or line is None or line.summary is not None:
            return
        line.ended = line.ended or self.seconds
        line.summary = _one_line(summary)
        held = next((said for said in self._said if said.key == stage), None)
        if held is None:
            self._say(_summarize(line.summary))
        else:
            held.text = _summarize(line.summary)
            self._flush()

    def tool_called(self, stage: str, tool: str, subject: str) -> None:
        """Show which tool works on what."""
        if not self._over and self._line(stage):
            self.doing = _one_line(f"{tool} {subject}")
            self._say(f"  {self.doing}")

    def report_spending(self, usage: Usage, cost_usd: float, answers: int) -> None:
        """Show the totals so far."""
        tokens = sum(usage.model_dump().values())
        self.totals = f"{answers} model answers · {tokens:,} tokens · ${cost_usd:.2f}"

    def report_parked(self, stage: str, approvals: Sequence[str]) -> None:
        """Say what it waits for, and leave the screen to whoever asks, until the stage goes on."""
        if self._over or self._line(stage) is None:
            return
        self.doing = f"waiting for a decision: {', '.join(approvals)}"
        self._say(f"  {self.doing}")
        self._waits = True
        self._rub_out()

    def report_pause(self, stage: str, why: str) -> None:
        """Say what it waits for; nobody here can do anything about that."""
        if self._over or self._line(stage) is None:
            return
        self.doing = _one_line(f"waiting for {why}")
        self._say(f"  {self.doing}")
        self._waits = True

    # --- its place on the screen ----------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Return the time since the run began."""
        return time.monotonic() - self._began if self._began is not None else 0.0

    def begin(self) -> None:
        """Begin to show; the clock starts."""
        if self._began is not None:
            return
        self._began = time.monotonic()
        self._paint()

    def _paint(self) -> None:
        if self.console.is_terminal and self._live is None:
            self._live = Live(
                console=self.console,
                get_renderable=self._render,
                refresh_per_second=REPAINTS,
                transient=True,
            )
            self._live.start()

    def _rub_out(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def end(self, how: StageEnding = "done") -> None:
        """Leave the whole list on the screen, its last stage marked with how the run ended.

        Again, it does nothing.
        """
        if self._over:
            return
        self._over = True
        if self.lines:
            self.lines[-1].how = how
        self._settle()
        for said in self._said:
            said.text = said.text or _summarize("")
        if self._said and how != "done":
            self._said[-1].text = _summarize(how)
        self._flush()
        self._rub_out()
        if self.console.is_terminal and self._began is not None:
            self.console.print(self._checklist(self.lines))

    def announce_stop(self) -> None:
        """Say that it will stop soon."""
        self.end("stopped")
        self.console.print("Stopping at the next safe place. Ctrl-C again stops at once.")

    def _line(self, stage: str) -> ChecklistLine | None:
        return next((line for line in self.lines if line.key == stage), None)

    def _settle(self) -> None:
        """Note that the last stage is over, also when nobody has said yet what it came to."""
        if self.lines and self.lines[-1].ended is None:
            line = self.lines[-1]
            line.ended = self.seconds
            self._said.append(_Said(line.ended, None, line.key))

    # --- on a terminal --------------------------------------------------------------------------

    def _render(self) -> RenderableType:
        room = max(3, self.console.height - RESERVED)
        hidden = max(0, len(self.lines) - room)
        more = Text(f"  {hidden} stages before", "dim") if hidden else Text()
        return Group(
            *([more] if hidden else []), self._checklist(self.lines[hidden:]), self._foot()
        )

    def _checklist(self, lines: list[ChecklistLine]) -> Table:
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(width=3, justify="right")
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column(width=8, justify="right", style="dim")
        for line in lines:
            running = line.ended is None
            took = (self.seconds if line.ended is None else line.ended) - line.began
            words = Text(line.title, "bold" if running else "")
            if line.summary:
                words.append(f"  {line.summary}", "red" if line.how == "failed" else "dim")
            table.add_row(self._sign(line), words, f"{took:.1f} s")
        return table

    def _sign(self, line: ChecklistLine) -> RenderableType:
        return self._spinner if line.ended is None else Text(*SIGNS[line.how])

    def _foot(self) -> RenderableType:
        foot = Table.grid(padding=(0, 1))  # not to the edge: there, the ^C of Ctrl-C would wrap
        foot.add_column(width=3)
        foot.add_column(no_wrap=True, overflow="ellipsis")
        foot.add_row("", Text(self.doing or "…", "cyan dim"))
        foot.add_row(
            "", Text(" · ".join(filter(None, (f"{self.seconds:.0f} s", self.totals))), "dim")
        )
        return foot

    # --- in a log -------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._said.append(_Said(self.seconds, text))
        self._flush()

    def _flush(self) -> None:
        while self._said and self._said[0].text is not None:
            said = self._said.pop(0)
            if not self.console.is_terminal:
                line = f"{said.at:7.1f} s  {said.text}"
                self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _summarize(summary: str) -> str:
    return f"  -> {summary or 'done'}"


def _one_line(text: str) -> str:
    """Return text of others as one line that a terminal only shows, never obeys."""
    line = make_visible(" ".join(plain_output(text).split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
