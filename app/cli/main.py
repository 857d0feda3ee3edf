"""The commands. Each imports what it needs when it runs, so that `--help` is quick."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console

from app.cli import deliveries, evaluate
from app.cli import wait_for_app as waiting
from app.cli.doctor import doctor
from app.cli.exit_codes import DONE, FAILED, STOPPED, say, stop_event
from app.cli.help.page import ManualGroup
from app.cli.options import JsonAtEnd, add
from app.cli.policy.commands import policy
from app.cli.progress import TerminalProgress
from app.cli.remediate import commands as remediate
from app.cli.resolve import commands as resolve
from app.cli.resolve import pulls
from app.cli.runs import approve
from app.cli.runs import list as runs
from app.cli.safe_text import redactor_of
from app.cli.setup import register_app as setup
from app.cli.setup import rotate
from app.cli.storage import commands as stored
from app.cli.storage import purge as forget

# ruff: noqa: PLC0415 - see above

cli = typer.Typer(
    cls=ManualGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fettle {version('fettle')}")
        raise typer.Exit


@cli.callback()
def fettle(
    *,
    _: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def serve() -> None:
    """Serve webhooks until told to stop."""
    from app.config.settings import AppNotConfigured, load_settings

    try:
        settings = load_settings()
    except AppNotConfigured as nothing:
        waiting.for_app(nothing)
        settings = load_settings()

    from app.observability.logging import (
        configure_logging,  # these take seconds: a mistake is told before
    )
    from app.wiring.serve import serve as serving

    redactor = redactor_of(settings)
    configure_logging(style=settings.log_format, level=settings.log_level, cleaner=redactor)

    async def until_stopped() -> None:
        await serving(settings, redactor, stop_event())

    asyncio.run(until_stopped())


def demo(
    *,
    json: JsonAtEnd = False,
    stay: Annotated[
        bool, typer.Option("--stay", help="Keep the local GitHub up for your browser.")
    ] = False,
    script: Annotated[
        bool, typer.Option("--script", help="Use the scripted model without asking.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the local GitHub; 0 takes any.")
    ] = 0,
) -> None:
    """Show the demo."""
    try:
        sys.exit(asyncio.run(_demo(json=json, stay=stay, script=script, port=port)))
    except KeyboardInterrupt:
        say("Stopped. The server and the local GitHub are down.")
        sys.exit(STOPPED)


add(cli, serve, "Run the server of your GitHub App.")
add(cli, demo, "Watch a real bug become a pull request.")
setup.register(cli)
rotate.register(cli)
stored.register(cli)
forget.register(cli)
resolve.register(cli)
pulls.register(cli)
remediate.register(cli)
approve.register(cli)
deliveries.register(cli)
evaluate.register(cli)
cli.add_typer(doctor, name="doctor")
cli.add_typer(policy, name="policy")
cli.add_typer(runs.runs, name="runs")


# --- what they do -------------------------------------------------------------------------------


async def _demo(*, json: bool, stay: bool, script: bool, port: int) -> int:
    from app.demo.story import Demo
    from app.demo.view import TerminalView

    console = Console(stderr=json)
    async with AsyncExitStack() as stack:
        real = None if script or json else _real_model(console)
        view = TerminalView(console, TerminalProgress, stay=stay)
        stack.callback(view.close)
        shown = await Demo(view, stack, real, port=port).run()
        if json:
            typer.echo(shown.json())
        if stay:
            console.print("The pages stay up until you press Ctrl-C.", style="bold")
            await stop_event().wait()
    return DONE if shown.as_promised else FAILED


def _real_model(console: Console) -> dict[str, str] | None:
    """Ask whether to use the real model when there is a key for it; None means the script."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    if settings.anthropic_api_key is None or not sys.stdin.isatty():
        return None
    question = (
        f"ANTHROPIC_API_KEY is set. Use the real model ({settings.model}, about a dollar)"
        " instead of the script?"
    )
    if not typer.confirm(question, default=False):
        return None
    console.print("Using the real model.")
    chosen = {"ANTHROPIC_API_KEY": settings.anthropic_api_key.get_secret_value()}
    if settings.anthropic_base_url:
        chosen["ANTHROPIC_BASE_URL"] = settings.anthropic_base_url
    return chosen
