"""Runs, printed for people: everything is visible, nothing is obeyed by a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.text.literal import literal
from app.cli.terminal import say
from app.views.text import (
    cut,
    format_age,
    format_dollars,
    format_moment,
    make_visible,
    to_line,
)

MOST_WORDS = 100  # characters of a text in a table
MOST_ARGUMENTS = 50_000  # characters of a call, its escapes written out

STYLES = {
    "running": "cyan",
    "parked": "bold yellow",
    "waited": "yellow",
    "done": "green",
    "refused": "yellow",
    "failed": "bold red",
}
LIST = ("id", "for", "kind", "state", "stage", "age", "spent", "asked by", "outcome")
WIDE = 110  # columns of a terminal in which all of a table can be read
_SPARE = {"id": ("kind", "stage", "asked by"), "start": ("answers", "tokens", "cached")}
"""What a narrower one leaves out, by the first heading of the table."""
_STAGES = ("start", "stage", "state", "seconds", "answers", "spent", "tokens", "cached", "summary")
_ALERTS = {
    "over": "{found}; no pull request",
    "open": "{found}; pull request {pull_request} is open",
    "closed": "{found}; pull request {pull_request} was closed without a merge",
    "merged": "{found}; merged, and GitHub is still to say that these are fixed: {open}",
    "fixed": "{found}; merged, and GitHub says that all of them are closed",
}
_BLOCKS = {"thinking": "thinks", "text": "says"}

Cells = Sequence[str]


def show_list(runs: Sequence[dict[str, Any]], *, more: bool) -> None:
    """Print one line for each run."""
    now = time.time()
    if not runs:
        say("No run is kept here that fits.")
        return
    _table(LIST, [_row(run, now) for run in runs], state=3)
    if more:
        say(f"These are the newest {len(runs)}; --limit shows more.")


def show_run(run: dict[str, Any]) -> None:
    """Print all of a run."""
    for part in _head(run):
        typer.echo(part)
    typer.echo("\nStages (UTC)\n")
    _table(_STAGES, [_stage(each) for each in run["stages"]], state=2)
    if run["rules"]:
        typer.echo("\nWhat the gate said to its calls\n")
    for each in run["rules"]:
        typer.echo("  " + to_line(f"{each['calls']} {each['words']}", 300))
    if run["approvals"]:
        typer.echo("\nAsked")
    for approval in run["approvals"]:
        typer.echo("\n" + "\n".join(_approval(approval)))
    if "turns" in run:
        typer.echo("\nTurns")
    for turn in run.get("turns", ()):
        typer.echo("\n" + "\n".join(_turn(turn)))


# --- the parts ----------------------------------------------------------------------------------


def _row(run: dict[str, Any], now: float) -> Cells:
    return (
        run["short"],
        _place(run),
        run["kind"],
        run["state"],
        run["stage"] or "",
        format_age(now - run["created_at"]),
        format_dollars(run["usd"]),
        run["asked_by"],
        _describe_end(run),
    )


def _head(run: dict[str, Any]) -> Iterator[str]:
    at_stage = f", {run['stage']}" if run["stage"] and run["state"] in ("running", "parked") else ""
    where = ", on a clone" if run["clone"] else ""
    yield to_line(f"{_place(run)}: {run['title'] or '(no title)'}", 300)
    yield to_line(f"{run['kind']} {run['id']}, asked by {run['asked_by']}{where}", 300)
    yield to_line(
        f"{run['state']}{at_stage}; asked for {format_moment(run['created_at'])}, last heard of"
        f" {format_moment(run['updated_at'])}; {run['answers']} answers,"
        f" {format_dollars(run['usd'])}",
        300,
    )
    if outcome := run["outcome"]:
        yield f"\nOutcome: {to_line(outcome['kind'], 60)}"
        yield _indent(outcome["text"])
        yield from (_indent(outcome[name]) for name in ("url", "rule") if outcome[name])
    if alerts := run.get("alerts"):
        yield f"\nAlerts: {_ALERTS[alerts['state']].format(**alerts)}"


def _stage(stage: dict[str, Any]) -> Cells:
    share, spoke = stage["cache_read_share"], stage["answers"] > 0
    return (
        f"{datetime.fromtimestamp(stage['started_at'], UTC):%m-%d %H:%M:%S}",
        stage["stage"],
        stage["state"],
        f"{stage['seconds']:.1f}",
        str(stage["answers"]) if spoke else "",
        format_dollars(stage["usd"]) if spoke else "",
        f"{sum(stage['tokens'].values()):,}" if spoke else "",
        "" if share is None else f"{share:.0%}",
        stage["error"] or stage["summary"],
    )


def _approval(asked: dict[str, Any]) -> Iterator[str]:
    via = f", by {asked['decided_via']}" if asked["decided_via"] else ""
    used = f", used {format_moment(asked['used_at'])}" if asked["used_at"] else ""
    stage = f", in {asked['stage']}" if asked["stage"] else ""
    yield to_line(f"{asked['id']}: {asked['tool']}{stage}: {asked['standing']}{via}{used}", 300)
    if asked["damaged"]:
        yield _indent("The record is damaged: it no longer says what was asked.")
        return
    asked_at, rule = format_moment(asked["asked_at"]), asked["rule"]
    yield "  " + to_line(f"asked {asked_at}: {asked['why']} (rule {rule})", 600)
    if asked["reason"]:
        yield "  " + to_line(f"reason given: {asked['reason']}", 600)
    yield from _arguments(asked["arguments"])


def _turn(turn: dict[str, Any]) -> Iterator[str]:
    number = f"{turn['session']} #{turn['number']}"
    stage = f" for {turn['stage']}" if turn["stage"] != turn["session"] else ""
    cost = f", {turn['seconds']:.1f} s, {format_dollars(turn['usd'])}" if turn["tokens"] else ""
    yield to_line(f"{number}{stage}: {turn['kind']}, {format_moment(turn['at'])}{cost}", 300)
    if turn["content"] is None:
        yield "  The record is damaged: it no longer says what was said."
    for block in turn["content"] or ():
        yield from _block(block, turn["kind"])
    if diff := turn["diff"]:
        yield "  What it changed in the files:"
        yield _indent(diff["text"] or f"not shown: {diff['missing']}")


def _block(block: dict[str, Any], kind: str) -> Iterator[str]:
    if block["type"] == "tool_use":
        yield f"  calls {to_line(block['tool'], 130)}"
        yield from _arguments(block["arguments"])
    elif block["type"] == "tool_result":
        yield "  result, an error:" if block["is_error"] else "  result:"
        yield _indent(block["text"])
    else:
        told = _BLOCKS.get(block["type"], block["type"]) if kind == "answer" else "is told"
        yield f"  {to_line(told, 60)}:"
        yield _indent(block["text"])


def _arguments(arguments: Any) -> Iterator[str]:
    shown = cut(literal(arguments).text, MOST_ARGUMENTS)
    yield "\n".join(f"    {each}" for each in shown.split("\n"))


# --- the words ----------------------------------------------------------------------------------


def _table(headings: Cells, rows: Iterable[Cells], *, state: int) -> None:
    """Print a table, or for a program the same with tabs; `state` is the column with colours."""
    console = Console()
    if not console.is_terminal:
        for row in rows:
            typer.echo("\t".join(to_line(cell, 2 * MOST_WORDS) for cell in row))
        return
    console.print(fit_table(headings, rows, state=state, width=console.width))


def fit_table(headings: Cells, rows: Iterable[Cells], *, state: int, width: int) -> Table:
    """Return the table, without the columns that can be done without where the terminal is narrow.

    `width`: the terminal's columns.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    spare = () if width >= WIDE else _SPARE[headings[0]]
    shown = [number for number, heading in enumerate(headings) if heading not in spare]
    for number in shown:
        table.add_column(headings[number], no_wrap=number == 0, overflow="fold")
    for row in rows:
        cells = [Text(to_line(cell, MOST_WORDS)) for cell in row]
        cells[state].stylize(STYLES.get(row[state], ""))
        table.add_row(*(cells[number] for number in shown))
    return table


def _place(run: dict[str, Any]) -> str:
    """Return what it is about; of a package, also the issue on which people were asked."""
    asked = f" (#{run['number']})" if run["number"] and run["kind"] == "remediate_alert" else ""
    return f"{run['reference']}{asked}"


def _describe_end(run: dict[str, Any]) -> str:
    outcome = run["outcome"]
    return str(outcome["url"] or outcome["text"]) if outcome else ""


def _indent(text: str) -> str:
    return "\n".join(f"    {each}" for each in make_visible(text).split("\n"))
