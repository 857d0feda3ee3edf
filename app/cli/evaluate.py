"""The command `fettle eval`: cases tried and judged, as a table or as JSON."""

from __future__ import annotations

import asyncio
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.errors import ConfigError
from agents.text import printable
from app.cli.declaration import JsonAtEnd
from app.cli.terminal import PERSON, say

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.evaluation.evaluate import EvaluationPlan
    from app.evaluation.result import CaseResult, Evaluation

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

SIGNS = {"solved": ("yes", "green"), "not solved": ("no", "bold red"), "broken": ("?", "yellow")}
COLUMNS = ("case", "solved", "cost", "turns", "minutes", "from cache", "draft", "why")
TEXTS = ("case", "solved", "draft", "why")


def evaluate(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A case, or a folder of cases.")
    ] = None,
    *,
    case: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="NAME", help="Only this case; may be given again."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, max=100, help="Attempts at each case.")] = 1,
    at_once: Annotated[
        int, typer.Option("--jobs", min=1, max=64, help="Attempts at the same time.")
    ] = 1,
    script: Annotated[
        bool, typer.Option("--script", help="Let the local model answer, from each case's script.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend money without asking.")] = False,
    json: JsonAtEnd = False,
) -> None:
    """Evaluate cases."""
    from app.config.settings import load_settings
    from app.evaluation.case import find_cases
    from app.evaluation.evaluate import EvaluationPlan, Evaluator

    settings = load_settings(serving=False)
    with resources.as_file(resources.files("app.evaluation") / "cases") as shipped:
        found = find_cases(folder or shipped, tuple(case or ()))
        plan = EvaluationPlan(found, repeat=repeat, at_once=at_once, scripted=script)
        if not script and not _may_spend(plan, settings, yes=yes):
            sys.exit(PERSON)
        done = asyncio.run(Evaluator(settings, plan, say).run())
    Console(stderr=json).print(_table(done))
    if json:
        typer.echo(done.json())
    sys.exit(done.exit_code)


def _may_spend(plan: EvaluationPlan, settings: Settings, *, yes: bool) -> bool:
    """Say what it would cost, and ask. Raises ConfigError when there is nobody or no model."""
    from app.config.model_access import can_ask

    if not can_ask(settings):
        raise ConfigError(
            "There is no way to a model. Set ANTHROPIC_API_KEY, or let the local model answer with"
            " `--script`."
        )
    attempts = len(plan.cases) * plan.repeat
    most = attempts * settings.run_budget_usd
    cases = "1 case" if len(plan.cases) == 1 else f"{len(plan.cases)} cases"
    each = "" if plan.repeat == 1 else f", {plan.repeat} attempts at each"
    say(
        f"{cases}{each}, with {settings.model} and {settings.model_fast}: up to"
        f" ${settings.run_budget_usd:.2f} an attempt, ${most:.2f} at the very most."
    )
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError("Nobody is here to be asked whether to spend that. Say `--yes`.")
    return typer.confirm("Go on?", default=False, err=True)


# --- the table ----------------------------------------------------------------------------------


def _table(done: Evaluation) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in COLUMNS:
        least = max(len(result.case) for result in done.results) if name == "case" else None
        justify: Literal["left", "right"] = "left" if name in TEXTS else "right"
        table.add_column(name, justify=justify, overflow="fold", min_width=least)
    several = any(result.attempt > 1 for result in done.results)
    for result in done.results:
        name = f"{result.case} {result.attempt}" if several else result.case
        table.add_row(name, *_row(result))
    table.add_section()
    total = done.total()
    table.add_row(
        "total",
        f"{done.solved}/{len(done.results)}",
        *_numbers(total["usd"], total["turns"], total["seconds"], total["cache_read_share"]),
        str(total["drafts"]),
        "",
        style="bold",
    )
    return table


def _row(result: CaseResult) -> list[Text | str]:
    why = [*result.why]
    if result.failed_stage:
        why.append(f"failed in the stage: {result.failed_stage}")
    if result.failing_checks:
        why.append(f"checks fail: {', '.join(result.failing_checks)}")
    if result.denied:
        why.append(f"calls that wanted a person's yes: {result.denied}")
    if result.state != "solved" and result.kept:
        why.append(f"kept in {result.kept}")
    return [
        Text(*SIGNS[result.state]),
        *_numbers(result.usd, result.turns, result.seconds, result.cache_read_share),
        {True: "yes", False: "no", None: "-"}[result.draft],
        Text(printable("\n".join(why)).replace("\\n", "\n")),
    ]


def _numbers(usd: float, turns: int, seconds: float, cached: float | None) -> list[str]:
    shown = "-" if cached is None else f"{cached:.1%}"
    return [f"${usd:.2f}", str(turns), f"{seconds / 60:.1f}", shown]
