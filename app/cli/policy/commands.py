"""The command `fettle policy`; here `test`: what a change would have meant for past calls."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.errors import ConfigError, PolicyInvalid
from agents.policy import POLICY_PATH
from agents.text import one_line, printable
from app.cli.declaration import JsonObject, ManualGroup, add
from app.cli.policy.check import check, content_of, schema
from app.cli.terminal import DONE, FAILED

if TYPE_CHECKING:
    from app.cli.policy.replay import Compared, RecordedCall, ReplayedVerdict, Rulebook

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

SUBJECT = 60  # characters of a call in the table
LONGEST_POLICY = 1_000_000  # bytes
COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}
SIGNS = {
    "weaker": ("weaker", "bold red"),
    "stricter": ("stricter", "bold cyan"),
    "other rule": ("other rule", "cyan"),
    "same": ("", ""),
}
ORDER = ("weaker", "stricter", "other rule", "same")

policy = typer.Typer(
    cls=ManualGroup,
    name="policy",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@policy.callback()
def describe_group() -> None:
    """Take the name of what is to be done."""


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The policy.")] = Path(POLICY_PATH),
    *,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="FILE", help="The current policy.")
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="Take the calls of this run alone.")
    ] = None,
    calls: Annotated[
        Path | None,
        typer.Option("--calls", metavar="FILE", help="Take calls from a file, one JSON a line."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show calls, too, that are allowed as before.")
    ] = False,
    json: JsonObject = False,
) -> None:
    """Replay recorded calls."""
    from app.cli.policy.replay import calls_in, compare

    if run is not None and calls is not None:
        raise ConfigError("Name a run or a file of calls, not both.")
    new, old = asyncio.run(_rulebooks(file, file.absolute().parent, against))
    given = calls_in(calls) if calls is not None else asyncio.run(_read_recorded_calls(run))
    found, unusable = compare(given, old, new)
    weaker = sum(each.change == "weaker" for each in found)
    if json:
        typer.echo(json_text.dumps(_record(found, unusable, new, old), indent=2))
    else:
        _show(found, unusable, everything=everything)
    sys.exit(FAILED if weaker else DONE)


add(policy, replay, "Hold past calls against a changed policy.", name="test")
add(policy, check, "Say what is wrong with a policy, line by line.")
add(policy, schema, "Print the JSON schema, for editors.")

# --- what is tested -----------------------------------------------------------------------------


async def _rulebooks(file: Path, folder: Path, against: Path | None) -> tuple[Rulebook, Rulebook]:
    """Return the changed policy and the current one. Raises ConfigError."""
    from app.cli.policy.replay import Rulebook

    texts: list[tuple[bytes | None, str]] = [(_read_policy(file), str(file))]
    if against is not None:
        texts.append((_read_policy(against), str(against)))
    else:
        texts.append((await _read_committed(folder), f"HEAD:{POLICY_PATH}"))
    try:
        new, old = (Rulebook.parse(text, name) for text, name in texts)
    except PolicyInvalid as error:
        raise ConfigError(printable(str(error))) from error
    return new, old


def _read_policy(file: Path) -> bytes:
    text = content_of(file)
    if len(text) > LONGEST_POLICY:
        raise ConfigError(f"The policy `{file}` has more than 1 MB. Name a shorter file.")
    return text


async def _read_committed(folder: Path) -> bytes | None:
    """Return the policy that the folder's clone has committed; None for the defaults."""
    from app.git import GitObjects, UserClone

    try:
        clone = UserClone(folder)
        return await GitObjects(clone.git).show((await clone.head()).commit, POLICY_PATH)
    except ConfigError:
        return None


async def _read_recorded_calls(run: str | None) -> list[RecordedCall]:
    """Return the calls in this machine's databases. Raises ConfigError when there are none."""
    from app.cli.policy.replay import calls_of_session
    from app.cli.storage.databases import known_places, of_each
    from app.config.settings import load_settings
    from app.store.database import Database
    from app.store.runs import StoredJournal, recorded_sessions

    found: list[RecordedCall] = []

    async def read(database: Database) -> None:
        for run_id, session in await recorded_sessions(database, run):
            turns = await StoredJournal(database, run_id).turns(session)
            found.extend(calls_of_session(run_id, turns))

    await of_each(known_places(load_settings(serving=False)), read)
    if not found:
        whose = f"of the run `{run}`" if run else "of any run"
        raise ConfigError(
            f"No calls {whose} are recorded here. Name a file with `--calls`, or set"
            " FETTLE_DATA_DIR to where the server keeps its data."
        )
    return found


# --- what is told -------------------------------------------------------------------------------


def _record(
    found: list[Compared], unusable: int, new: Rulebook, old: Rulebook
) -> dict[str, object]:
    counts = {name: sum(each.change == name for each in found) for name in ("weaker", "stricter")}
    return {
        "policy": new.file,
        "against": old.file,
        "calls": len(found),
        **counts,
        "unusable": unusable,
        "verdicts": [each.record() for each in found],
    }


def _show(found: list[Compared], unusable: int, *, everything: bool) -> None:
    console = Console()
    shown = [each for each in found if everything or not _is_unchanged(each)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), header_style="bold")
    for name in ("", "verdict", "call", "by the rule"):
        table.add_column(name, overflow="fold")
    for each in sorted(shown, key=lambda each: ORDER.index(each.change)):
        table.add_row(Text(*SIGNS[each.change]), _verdict(each), _call(each), _rule(each.after))
    if shown:
        console.print(table)
    console.print(_summary(found, unusable), style="bold", highlight=False, soft_wrap=True)


def _verdict(each: Compared) -> Text:
    old, new = each.before.verdict.decision, each.after.verdict.decision
    was = f"{old} → " if old != new else ""
    return Text.assemble(was, (new, COLOURS[new]))


def _call(each: Compared) -> Text:
    stage = f" ({each.call.stage})" if each.call.stage else ""
    call = f"{each.call.tool}: {one_line(each.subject, SUBJECT)}{stage}"
    reason = each.after.verdict.reason
    return Text.assemble(printable(call), (f"\n{printable(reason)}" if reason else "", "dim"))


def _rule(said: ReplayedVerdict) -> Text:
    return Text.assemble(said.verdict.rule, (f"\n{said.file}:{said.line}", "dim"))


def _is_unchanged(each: Compared) -> bool:
    return each.change == "same" and each.after.verdict.decision == "allow"


def _summary(found: list[Compared], unusable: int) -> str:
    counts = {name: sum(each.change == name for each in found) for name in ORDER}
    left_out = f" {unusable} could not have run and are left out." if unusable else ""
    return (
        f"{len(found)} calls: {counts['weaker']} weaker, {counts['stricter']} stricter,"
        f" {counts['same'] + counts['other rule']} as before.{left_out}"
    )
