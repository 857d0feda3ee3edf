"""The command `fettle doctor`: what this machine can do, proven instead of assumed."""

from __future__ import annotations

import asyncio
import json as json_text
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from app.cli.declaration import ManualGroup, add
from app.cli.environment import repository
from app.cli.terminal import DONE, PERSON
from app.doctor.finding import Diagnosis

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.sandbox.select import BackendTrial

# ruff: noqa: PLC0415 - `--help` imports nothing that takes long

doctor = typer.Typer(
    cls=ManualGroup,
    name="doctor",
    add_completion=False,
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,
)
STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}

Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Ask each model for one token, without asking you.")
]


@doctor.callback()
def checks(
    ctx: typer.Context,
    *,
    yes: Yes = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Run every check, unless one of them is named."""
    if ctx.invoked_subcommand is not None:
        return
    findings = _examine(yes=yes, quiet=json)
    healthy = all(each.level != "failed" for each in findings)
    if json:
        found = {"healthy": healthy, "findings": [asdict(each) for each in findings]}
        typer.echo(json_text.dumps(found, indent=2))
    else:
        _print_findings(Console(), findings)
    sys.exit(DONE if healthy else PERSON)


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
    from app.config.settings import load_settings
    from app.doctor.sandboxes import attack

    settings = load_settings(serving=False)
    tried, chosen = asyncio.run(attack(settings, everything=everything))
    if json:
        typer.echo(json_text.dumps(_facts(tried, chosen), indent=2, ensure_ascii=False))
    else:
        _show(Console(), settings, tried, chosen)
    sys.exit(DONE if chosen else PERSON)


add(doctor, sandbox, "Try to break out of the sandbox.")
add(doctor, repository, "Set up a repository, and see what its checks can tell.")


def _examine(*, yes: bool, quiet: bool) -> list[Diagnosis]:
    """Return what every check found, without secrets in it and without what nobody can see."""
    from app.cli.terminal import redactor_of
    from app.config.settings import process_environment, read_settings
    from app.doctor.run_all import examine
    from app.views.text import make_visible

    reading = read_settings()
    logging.disable(logging.CRITICAL)  # the table says it all, in its own words
    allowed = yes or (not quiet and _may_ask_models(reading.settings))
    environ = process_environment()
    found = asyncio.run(examine(reading, environ, ask_models=allowed))
    redactor = redactor_of(reading.settings)

    def clean(text: str) -> str:
        return make_visible(redactor.clean(" ".join(text.split())))

    return [
        Diagnosis(clean(each.about), each.level, clean(each.said), clean(each.remedy))
        for each in found
    ]


def _may_ask_models(settings: Settings) -> bool:
    from app.config.model_access import asked_models, can_ask
    from app.doctor.models import price_text

    if not can_ask(settings) or not sys.stdin.isatty():
        return False
    names = ", ".join(asked_models(settings))
    return typer.confirm(f"Ask {names} for one word each ({price_text(settings)})?", err=True)


def _print_findings(console: Console, findings: Sequence[Diagnosis]) -> None:
    table = Table("Check", "Result", "What was found", box=None, padding=(0, 2, 0, 0))
    for each in findings:
        said = Text(each.said, overflow="fold")  # no link or path is cut
        if each.remedy:
            said.append(f"\n→ {each.remedy}", style="bold" if each.level == "failed" else "")
        table.add_row(Text(each.about), Text(each.level, style=STYLES[each.level]), said)
    console.print(table)
    counts = {level: sum(each.level == level for each in findings) for level in STYLES}
    console.print()
    console.print(", ".join(f"{count} {level}" for level, count in counts.items() if count))


def _show(
    console: Console, settings: Settings, tried: Sequence[BackendTrial], chosen: str | None
) -> None:
    from app.sandbox.select import REFUSED, describe_alternatives

    for each in tried:
        console.print(_describe(each))
        console.print()
    if chosen is not None:
        console.print(Text(f"Agents run in: {chosen}", style="bold"))
        return
    console.print(Text(REFUSED, style="bold red"))
    for words in describe_alternatives(settings):
        console.print(words, markup=False, highlight=False)


def _describe(tried: BackendTrial) -> Group:
    """Return a backend's table, and below it what people should know."""
    report = tried.report
    level = tried.sandbox.level if tried.sandbox else "unavailable"
    heading = Text(f"{report.backend} ({level}, {report.seconds:.2f} s): ", style="bold")
    heading.append("held" if report.held else "failed", style=_style(report.held))
    words = [Text(f"Likely cause: {report.cause}")] if report.cause else []
    words += [Text(f"Remedy: {report.remedy}")] if report.remedy else []
    words += [Text(f"Note: {note}") for note in report.notes]
    return Group(heading, _table(tried), *(Padding(line, (0, 2)) for line in words))


def _table(tried: BackendTrial) -> Table:
    table = Table("Attack", "Result", "Detail", box=None, padding=(0, 2), pad_edge=True)
    for probe in tried.report.probes:
        result = Text("held" if probe.held else "failed", style=_style(probe.held))
        table.add_row(Text(probe.name), result, Text(probe.detail, overflow="fold"))
    return table


def _style(held: bool) -> str:
    return "green" if held else "bold red"


def _facts(tried: Sequence[BackendTrial], chosen: str | None) -> dict[str, Any]:
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
