"""The command `fettle demo`: the story told in a terminal."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import Annotated

import typer
from rich.console import Console

from app.cli.declaration import JsonAtEnd
from app.cli.progress import TerminalProgress
from app.cli.terminal import DONE, FAILED, STOPPED, say, stop_event

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick


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


async def _demo(*, json: bool, stay: bool, script: bool, port: int) -> int:
    from app.demo.story import Demo
    from app.demo.view import TerminalView

    console = Console(stderr=json)
    async with AsyncExitStack() as stack:
        real = None if script or json else _real_model(console)
        view = TerminalView(console, TerminalProgress, stay=stay)
        stack.callback(view.close)
        shown = await Demo(view, stack, real, port=port, pages=stay).run()
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
