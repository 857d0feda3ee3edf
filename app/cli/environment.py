"""The commands `fettle doctor repository` and `fettle init`: what a repository gets here."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.errors import ConfigError
from agents.text import one_line
from app.cli.declaration import JsonObject
from app.cli.terminal import DONE, PERSON, say
from app.views.text import make_visible

if TYPE_CHECKING:
    from app.clone.environment import EnvironmentReport
    from app.config.settings import Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

FolderOfClone = Annotated[
    Path, typer.Argument(metavar="PATH", help="A clone; its newest commit is looked at.")
]
STYLES = {"no worse": "green", "unknown": "yellow", "worse": "bold red"}
WORDS = {"no worse": "can be told", "unknown": "cannot be told", "worse": "not the same twice"}
HEAD = """# What Fettle may do here, and how its work is checked; see `fettle policy schema`.
# These commands were found by `fettle init`, ran twice, and said the same both times.
"""
LEFT_OUT = "# This could not be told, and is not among them:\n"
UNCHECKED = "# None of them looks at these, so say here how they are checked:\n"
IN_IMAGE = "# They ran in the image {image}, which {named_by} names.\n"
_READY = (
    "A change that changes nothing is found no worse: changes can be called ready here, where"
    " these checks look."
)
_UNCHECKED = (
    "No check looks at these, so changes there stay drafts; `quality` in `.github/fettle.yml` can"
    " name commands that do:"
)
_MIND = (
    "It also lists, as comments, what no check looks at: name a command that does there, or changes"
    " pass unseen."
)
_NOT_READY = "Changes would stay drafts here, because this could not be told:"
_THERE = "`{path}` is there already. `fettle doctor repository` says what it would be made from."
_NOTHING = (
    "No check of this repository runs and says the same twice on this machine, so there is nothing"
    " to write. `fettle doctor repository {path}` says why."
)


def repository(path: FolderOfClone, *, json: JsonObject = False) -> None:
    """Set up a clone's repository, run its checks twice, and say what can be told by them."""
    report = _examine(path)
    if json:
        typer.echo(json_text.dumps(report.describe(), indent=2, ensure_ascii=False))
    else:
        _show(Console(), report)
    sys.exit(DONE if report.sound else PERSON)


def init(path: FolderOfClone) -> None:
    """Write `.github/fettle.yml` with the checks that can be told."""
    from agents.policy import POLICY_PATH

    file = path.expanduser() / POLICY_PATH
    if file.exists() or file.is_symlink():
        raise ConfigError(_THERE.format(path=POLICY_PATH))
    report = _examine(path)
    checks = [
        {"name": run.name, "run": run.command}
        for run in report.quality.runs
        if run.verdict == "no worse"
    ]
    if not checks:
        raise ConfigError(_NOTHING.format(path=path))
    file.parent.mkdir(exist_ok=True)
    image = report.setup.image
    head = HEAD + (IN_IMAGE.format(**image.model_dump()) if image and image.id else "")
    text = head + yaml.safe_dump({"quality": checks}, sort_keys=False, allow_unicode=True)
    untold, unchecked = report.quality.untold, report.list_unchecked()
    for title, listed in ((LEFT_OUT, untold), (UNCHECKED, unchecked)):
        if listed:
            text += title + "".join(f"# - {make_visible(one_line(each, 400))}\n" for each in listed)
    with file.open("x", encoding="utf-8") as new:
        new.write(text)
    typer.echo(make_visible(text).rstrip())
    say(f"Written to {file}. Commit it, and Fettle runs these and no others.")
    if untold:
        say("What could not be told stands in it as comments: mend that, or name other commands.")
    if unchecked:
        say(_MIND)
    sys.exit(DONE)


def _examine(path: Path) -> EnvironmentReport:
    from app.config.settings import load_settings

    settings, place = load_settings(serving=False), path.expanduser()
    if not place.is_dir():
        raise ConfigError(f"`{path}` is no folder here. Name a clone of the repository.")
    return asyncio.run(_examine_clone(settings, place))


async def _examine_clone(settings: Settings, place: Path) -> EnvironmentReport:
    from app.cli.progress import TerminalProgress
    from app.cli.terminal import redactor_of
    from app.clone.environment import examine_environment
    from app.clone.preconditions import start_at

    progress = TerminalProgress(Console(stderr=True))
    start = await start_at(place)
    try:
        report = await examine_environment(settings, redactor_of(settings), start, say, progress)
        progress.end("done")
    finally:
        progress.end("stopped")
    return report


def _show(console: Console, report: EnvironmentReport) -> None:
    """Print what was installed, what each check says, and what is missing with who can mend it."""
    setup = Table(title="Set-up", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("Command", "Exit code", "Seconds"):
        setup.add_column(heading)
    for done in report.setup.commands:
        setup.add_row(_plain(done.command), str(done.exit_code), f"{done.seconds:.1f}")
    checks = Table(title="Checks", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("Check", "Command", "Exit codes", "Tests", "A change's effect"):
        checks.add_column(heading)
    failing = report.quality.failing
    for before, now in report.quality.compared:
        verdict = "worse" if now in failing else now.verdict or "unknown"
        ran = now.failures.ran
        checks.add_row(
            _plain(now.name),
            _plain(now.command),
            f"{before.exit_code}, {now.exit_code}",
            "" if ran is None else str(ran),
            Text(WORDS[verdict], STYLES[verdict]),
        )
    for table in (setup, checks):
        if table.row_count:
            console.print(table)
    for line in (*report.describe_tools(), *report.setup.problems, *report.setup.notes):
        console.print(_plain(line), soft_wrap=True)
    if report.sound:
        console.print(Text(_READY, "bold green"), soft_wrap=True)
    else:
        unstable = (f"`{run.name}` is not stable" for run in failing)
        _list(console, _NOT_READY, (*report.quality.untold, *unstable))
    if unchecked := report.list_unchecked():
        _list(console, _UNCHECKED, unchecked)


def _list(console: Console, title: str, lines: Sequence[str]) -> None:
    console.print(Text(title, "bold yellow"), soft_wrap=True)
    for line in lines:
        console.print(_plain(f"- {line}"), soft_wrap=True)


def _plain(text: str) -> Text:
    return Text(make_visible(" ".join(text.split())))
