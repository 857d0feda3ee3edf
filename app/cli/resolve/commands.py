"""The command `fettle resolve`: an issue on GitHub, or a wish for a clone on this machine."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from agents.errors import Cancelled, ConfigError
from app.cli.declaration import JsonAtEnd
from app.cli.terminal import PERSON, say, stop_event

if TYPE_CHECKING:
    from app.clone.preconditions import CloneStart
    from app.clone.run_folder import ResumeChoice
    from app.config.settings import Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

LARGEST_ISSUE = 1_000_000  # bytes


def resolve(
    what: Annotated[
        str,
        typer.Argument(
            metavar="ISSUE|PATH",
            help="OWNER/REPO#25, the issue's address, a repository with 25 behind it; or a clone.",
        ),
    ],
    more: Annotated[
        str | None,
        typer.Argument(
            metavar="[NUMBER|WISH]",
            help="The issue's number; or for a clone, what to do, its first line being the title.",
        ),
    ] = None,
    *,
    issue: Annotated[
        Path | None,
        typer.Option(
            "--issue",
            metavar="FILE",
            help="For a clone: a file that says what to do; - for standard input.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="In a clone: go on with the run of this that failed.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="In a clone: begin anew, whatever is there already.")
    ] = False,
    json: JsonAtEnd = False,
) -> None:
    """Resolve an issue."""
    if resume and fresh:
        raise ConfigError("--resume goes on and --fresh begins anew: give one of them.")
    again: ResumeChoice | None = "resume" if resume else "fresh" if fresh else None
    sys.exit(asyncio.run(_resolve(what, more, issue, again, json=json)))


async def _resolve(
    what: str, more: str | None, issue: Path | None, again: ResumeChoice | None, *, json: bool
) -> int:
    from app.config.settings import load_settings
    from app.operator.issue_reference import issue_named

    settings = load_settings(serving=False)
    known = settings.repositories
    named = issue_named(what, more, github_url=settings.github_url, repositories=known)
    if named is None:
        return await _begin_in_clone(
            settings, _find_folder(what), _read_wish(what, more, issue), again, json=json
        )
    if issue is not None:
        raise ConfigError(f"`{named}` is an issue on GitHub; --issue is for clones.")
    if again is not None:
        raise ConfigError(
            f"`{named}` is an issue on GitHub; --{again} is for clones. `fettle runs retry` has a"
            " run on an issue done once more, with --from from a stage on."
        )
    settings = load_settings()
    # These take seconds: a mistake is told before.
    from app.cli.resolve.work_on_issue import work_on
    from app.operator.issue_request import Wanted

    return await work_on(settings, Wanted(named), json=json)


# --- in a clone ---------------------------------------------------------------------------------


def _read_wish(what: str, words: str | None, file: Path | None) -> tuple[str, str]:
    """Return title and text of what is to be done in a clone."""
    from agents.text import split_title

    if words is not None and file is not None:
        raise ConfigError("Say what to do in words, or with --issue in a file: not both.")
    if file is not None:
        return _read_issue(file)
    if words is None:
        raise ConfigError(
            f"Say what to do in `{what}`: in words behind it, or with --issue in a file. For an"
            " issue on GitHub, write OWNER/REPO#25."
        )
    title, body = split_title(words)
    if not title:
        raise ConfigError("The wish has no words in its first line.")
    return title, body


def _find_folder(what: str) -> Path:
    """Return the folder that is meant: a slip of the pen must not mean the one around it."""
    path = Path(what)
    if not path.expanduser().exists():
        raise ConfigError(
            f"`{what}` is no folder here. Name a clone, or an issue like OWNER/REPO#25."
        )
    return path


async def _begin_in_clone(
    settings: Settings, path: Path, wish: tuple[str, str], again: ResumeChoice | None, *, json: bool
) -> int:
    from app.clone.preconditions import start_at

    return await work_in_clone(settings, await start_at(path), wish, again, json=json)


async def work_in_clone(
    settings: Settings,
    start: CloneStart,
    asked: tuple[str, str],
    again: ResumeChoice | None,
    *,
    stage: str = "",
    json: bool,
) -> int:
    """Do what is asked for in a clone, and tell what came of it; return the exit code.

    `stage`: from which one on a run of it that failed is done again; empty: from where it failed.
    """
    from app.cli.progress import TerminalProgress  # these take seconds: a mistake is told before
    from app.cli.resolve.clone_result import show
    from app.cli.runs.approval_prompt import ask_here, choose_here
    from app.cli.terminal import redactor_of
    from app.clone.ask_person import CloneWaits
    from app.clone.resolve import resolve_clone
    from app.clone.run import CloneRequest

    progress = TerminalProgress(Console(stderr=True))
    stop = stop_event(progress.announce_stop)
    try:
        seated = sys.stdin.isatty()
        wish = CloneRequest(
            *asked,
            say,
            progress,
            ask_here if seated else None,
            again=again,
            choose=choose_here if seated else None,
            stage=stage,
        )
        done = await resolve_clone(settings, redactor_of(settings), start, wish, stop)
        progress.end("failed" if done.exit_code == 1 else "done")
    except CloneWaits as waits:
        typer.echo(waits.json() if json else waits.text)
        return PERSON
    except Cancelled as stopped:
        say(str(stopped))
        raise
    finally:
        progress.end("stopped")
    if json:
        typer.echo(done.json())
    else:
        show(done)
    return done.exit_code


def _read_issue(file: Path) -> tuple[str, str]:
    """Return the issue's title and text. Raises ConfigError, for the person who wrote it."""
    from agents.text import split_title

    name = "standard input" if str(file) == "-" else f"`{file}`"
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        title, body = split_title(data.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"The issue cannot be read from {name}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"The issue in {name} is not UTF-8 text. Save it as UTF-8.") from error
    if not title:
        raise ConfigError(f"The issue in {name} has no title. Write it into the first line.")
    if len(data) > LARGEST_ISSUE:
        raise ConfigError(f"The issue in {name} has {len(data) / 1e6:.1f} MB. Name a shorter text.")
    return title, body
