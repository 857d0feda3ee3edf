"""A call that waits for a yes, shown in a terminal: whole, and only shown, never obeyed."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from agents.text import printable
from agents.text.literal import literal, to_literal
from app.cli.terminal import say

if TYPE_CHECKING:
    from app.clone.ask_person import PersonAnswer
    from app.clone.run_folder import ResumeChoice
    from app.records.approvals import StoredApproval


def show_question(stored: StoredApproval) -> None:
    """Print the whole call, and why it takes a yes."""
    asking = stored.asking
    if asking is None:
        say(f"{stored.id}: its record is damaged, so nobody knows what was asked.")
        return
    shown = literal(asking.arguments)
    title = f"{stored.id}: {asking.tool}, for {place_of(stored)}, in the stage {asking.stage}"
    console = Console(stderr=True)
    if console.is_terminal:
        console.print(Panel(Text(shown.text), title=Text(printable(title)), padding=(1, 2)))
    else:
        say(f"{printable(title)}\n{shown.text}")
    say(printable(f"Why it asks: {to_literal(asking.reason)} (rule {asking.rule})"))
    say(f"It stands on commit {asking.head}.")
    if shown.escaped:
        say(f"Look twice: {shown.escaped} characters that nobody can see are written as escapes.")
    for letter in shown.letters:
        say(f"Look twice: {letter}.")


async def ask_here(stored: StoredApproval) -> PersonAnswer | None:
    """Ask whoever sits at the terminal; None when they would rather decide later."""
    show_question(stored)
    while True:
        say("Let exactly this run, once? yes, no, or later: ")
        match (await _read_line()).strip().lower():
            case "y" | "yes" if stored.asking is not None:
                return "approved", ""
            case "n" | "no":
                say("Why not, or what instead? The model reads it; it may be empty: ")
                return "denied", (await _read_line()).strip()
            case "l" | "later" | "":
                return None


async def choose_here() -> ResumeChoice:
    """Ask whoever sits at the terminal what becomes of a run that failed."""
    while True:
        say("A run of this very thing failed before. Go on there, or begin anew? go, new: ")
        match (await _read_line()).strip().lower():
            case "g" | "go" | "go on" | "":
                return "resume"
            case "n" | "new" | "anew":
                return "fresh"


async def _read_line() -> str:
    """Return the next line of standard input, without keeping Ctrl-C from being heard."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not line.done():
            line.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin, read)
    try:
        return await line
    finally:
        loop.remove_reader(sys.stdin)


def place_of(stored: StoredApproval) -> str:
    """Return what the run works on, as people call it."""
    return stored.repository + (f"#{stored.number}" if stored.number else "")
