"""The command `fettle doctor`: what this machine can do, proven instead of assumed."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from app.cli import manual
from app.cli.screen import DONE, PERSON

if TYPE_CHECKING:
    from app.sandbox.base import ProbeReport
    from app.sandbox.choose import Tried
    from app.settings import Settings

# ruff: noqa: PLC0415 - `--help` imports nothing that takes long

doctor = typer.Typer(
    cls=manual.FettleManual,
    help=manual.DOCTOR,
    short_help="Check this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@doctor.callback()
def checks() -> None:
    """Take the name of a check."""


@doctor.command(
    help=manual.DOCTOR_SANDBOX,
    short_help="Try to break out of the sandbox.",
    cls=manual.Manual,
)
def sandbox(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Try every backend, also those that nobody asked for.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of tables.")
    ] = False,
) -> None:
    """Attack the sandbox and show what held."""
    from app.settings import load_settings

    settings = load_settings(serving=False)
    tried, chosen = asyncio.run(_attack(settings, everything=everything))
    if json:
        typer.echo(json_text.dumps(_facts(tried, chosen), indent=2, ensure_ascii=False))
    else:
        _show(Console(), settings, tried, chosen)
    sys.exit(DONE if chosen else PERSON)


async def _attack(settings: Settings, *, everything: bool) -> tuple[list[Tried], str | None]:
    """Return what each backend came to, and the name of the one that agents would run in."""
    from app.sandbox.choose import BACKENDS, try_backend, wanted

    tried: list[Tried] = []
    chosen: str | None = None
    asked = wanted(settings)
    for name in (*asked, *(n for n in BACKENDS if everything and n not in asked)):
        if chosen is not None and not everything:
            break
        tried.append(await try_backend(name, settings))
        if chosen is None and name in asked and tried[-1].chosen is not None:
            chosen = name
    return tried, chosen


def _show(console: Console, settings: Settings, tried: Sequence[Tried], chosen: str | None) -> None:
    from app.sandbox.choose import REFUSED, otherwise

    for each in tried:
        console.print(_about(each))
        console.print()
    if chosen is not None:
        console.print(Text(f"Agents run in: {chosen}", style="bold"))
        return
    console.print(Text(REFUSED, style="bold red"))
    for words in otherwise(settings):
        console.print(words, markup=False, highlight=False)


def _about(tried: Tried) -> Group:
    """Return a backend's table, and below it what people should know."""
    report = tried.report
    level = tried.sandbox.level if tried.sandbox else "unavailable"
    heading = Text(f"{report.backend} ({level}, {report.seconds:.2f} s): ", style="bold")
    heading.append("held" if report.held else "failed", style=_style(report.held))
    words = [Text(f"Likely cause: {report.cause}")] if report.cause else []
    words += [Text(f"Remedy: {report.remedy}")] if report.remedy else []
    words += [Text(f"Note: {note}") for note in report.notes]
    return Group(heading, _table(report), *(Padding(line, (0, 2)) for line in words))


def _table(report: ProbeReport) -> Table:
    table = Table("Attack", "Result", "Detail", box=None, padding=(0, 2), pad_edge=True)
    for probe in report.probes:
        result = Text("held" if probe.held else "failed", style=_style(probe.held))
        table.add_row(Text(probe.name), result, Text(probe.detail))
    return table


def _style(held: bool) -> str:
    return "green" if held else "bold red"


def _facts(tried: Sequence[Tried], chosen: str | None) -> dict[str, Any]:
    backends = [
        {
            "name": each.report.backend,
            "level": each.sandbox.level if each.sandbox else None,
            "held": each.report.held,
            "seconds": round(each.report.seconds, 3),
            "cause": each.report.cause,
            "remedy": each.report.remedy,
            "notes": list(each.report.notes),
            "probes": [
                {"name": probe.name, "held": probe.held, "detail": probe.detail}
                for probe in each.report.probes
            ],
        }
        for each in tried
    ]
    return {"chosen": chosen, "backends": backends}
