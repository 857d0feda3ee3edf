"""The command `fettle`: reads like a manual, exits with a code that means something."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown

from agents.errors import ConfigError, FettleError
from app.redaction import Redactor
from app.settings import Settings, load_settings


MANUAL = """
Fettle turns a labelled issue into a pull request that passes the repository's checks.

Start with `fettle demo`: it needs no GitHub and no key. `fettle serve` runs the server of your
GitHub App; its settings are environment variables that begin with FETTLE_ (see deploy/env.example).
`fettle resolve` does the same work on a local clone and leaves a branch.

Exit codes: 0 done, 1 failed, 2 a person has to act (a setting, an answer).
"""

cli = typer.Typer(
    help=MANUAL,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)
errors = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="End with one JSON object on standard output.")]


def main() -> None:
    """Run the command; a mistake of the operator ends in plain words and exit code 2."""
    try:
        cli()
    except ConfigError as error:
        errors.print(str(error), markup=False, highlight=False)
        sys.exit(2)
    except FettleError as error:
        errors.print(f"Failed: {error}", markup=False, highlight=False)
        sys.exit(1)


@cli.command()
def serve() -> None:
    """Serve webhooks and work on what they ask for, until SIGTERM or Ctrl-C."""
    from app.logging import configure_logging  # noqa: PLC0415 - keeps `--help` fast
    from app.wiring import serve as serving  # noqa: PLC0415 - the same

    settings = load_settings()
    redactor = secrets_of(settings)
    configure_logging(style=settings.log_format, level=settings.log_level, cleaner=redactor)
    asyncio.run(_until_signalled(lambda stop: serving(settings, redactor, stop)))


@cli.command()
def demo(
    *,
    json: Json = False,
    stay: Annotated[
        bool, typer.Option("--stay", help="Keep the local GitHub up for your browser.")
    ] = False,
    script: Annotated[
        bool, typer.Option("--script", help="Use the scripted model without asking.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of the local GitHub; 0 takes any.")] = 0,
) -> None:
    """Watch a real bug of a real package become a pull request, on this machine alone."""
    sys.exit(asyncio.run(_demo(json=json, stay=stay, script=script, port=port)))


@cli.command()
def resolve(
    path: Annotated[Path, typer.Argument(help="A clone; it is only read, a branch is added.")],
    issue: Annotated[
        Path, typer.Option("--issue", help="A text file: first line the title, then the issue.")
    ],
    *,
    json: Json = False,
) -> None:
    """Resolve an issue on a local clone: leaves a branch with the commits, and the PR's text.

    Needs ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL of any server that speaks the Messages API.
    Your checkout, your index and your other branches are left alone.
    """
    sys.exit(asyncio.run(_resolve(path, issue, json=json)))


# --- what the commands do -----------------------------------------------------------------------


def secrets_of(settings: Settings) -> Redactor:
    """Return a redactor that knows every secret among the settings."""
    values = [settings.anthropic_api_key, settings.private_key, *settings.webhook_secrets]
    if settings.app_id is not None:
        values.append(settings.credentials.private_key)
    return Redactor(value.get_secret_value() for value in values if value is not None)


async def _until_signalled(work: Callable[[asyncio.Event], Awaitable[object]]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await work(stop)


async def _demo(*, json: bool, stay: bool, script: bool, port: int) -> int:
    from app.local.demo import Demo  # noqa: PLC0415 - keeps `--help` fast
    from app.local.view import TerminalView  # noqa: PLC0415 - the same

    console = Console(stderr=json)
    async with AsyncExitStack() as stack:
        real = None if script or json else _real_model(console)
        shown = await Demo(TerminalView(console), stack, real, port=port).run()
        if json:
            print(shown.json())
        if stay:
            console.print("The pages stay up until you press Ctrl-C.", style="bold")
            await _until_signalled(lambda stop: stop.wait())
    return 0 if shown.as_promised else 1


def _real_model(console: Console) -> dict[str, str] | None:
    """Ask whether to use the real model when there is a key for it; None means the script."""
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


async def _resolve(path: Path, issue: Path, *, json: bool) -> int:
    from app.clone import resolve_clone  # noqa: PLC0415 - keeps `--help` fast
    from app.local.case import read_issue  # noqa: PLC0415 - the same

    settings = load_settings(serving=False)
    console = Console(stderr=json)
    title, body = read_issue(issue.read_text("utf-8"))
    done = await resolve_clone(settings, secrets_of(settings), path, title, body, console)
    if json:
        print(done.json())
    else:
        console.print(Markdown(done.text))
    return done.exit_code
