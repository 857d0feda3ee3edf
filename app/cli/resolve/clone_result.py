"""The result of a run on a clone, shown: rendered on a terminal, as Markdown anywhere else."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from agents.text import printable
from app.clone.result import CloneResult


def show(result: CloneResult) -> None:
    """Print it."""
    console = Console()
    if not console.is_terminal:
        typer.echo(result.text)
        return
    style = {0: "bold green", 1: "bold red"}.get(result.exit_code, "bold yellow")
    console.print(Text(result.headline, style))
    pull = result.outcome.pull_request
    if pull is not None:
        console.print(Panel(Markdown(pull.body), title=Text(pull.title), padding=(1, 2)))
    for note in result.notes:
        console.print(Markdown(note))
    if result.branch:
        console.print(_branch(result, result.branch))
    console.print(Markdown(result.reference))


def _branch(result: CloneResult, branch: str) -> Table:
    table = Table.grid(padding=(0, 2))
    for sha, subject in result.commits:
        table.add_row(Text(sha[:10], "yellow"), Text(printable(subject)))
    table.add_row()
    table.add_row("look at it", Text(f"git log -p --reverse {result.base[:10]}..{branch}", "bold"))
    table.add_row("take it", Text(f"git merge {branch}", "bold"))
    table.add_row("drop it", Text(f"git branch -D {branch}", "bold"))
    return table
