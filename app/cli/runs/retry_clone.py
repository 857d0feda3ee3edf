"""`fettle runs retry` on a clone: given in that clone, on the commit that the run began on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agents.errors import ConfigError
from app.cli.storage.databases import open_database

if TYPE_CHECKING:
    from app.cli.runs.find import FoundRun
    from app.clone.run_folder import ResumeChoice
    from app.config.settings import Settings

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed

CUT_SHORT = (
    "The run {short} was cut short or waits, so the same `fettle resolve` goes on with it. It is"
    " done from a stage on once it has ended."
)
ELSEWHERE = (
    "The run {short} was about another clone or another commit. Go to its clone, check out the"
    " commit that it began on, and give the command there."
)
LATER = (
    "A later run of the same failed too, and has what this one made. Name that one: `fettle runs`"
    " lists them."
)
NOT_KEPT = (
    "The run {short} ended well, so what it made is on a branch of the clone and nothing else of it"
    " is kept. Without --from it is done once more from the beginning."
)
OTHER_KIND = "The run {short} is about alerts. The same `fettle remediate` does it once more."


async def retry_clone(settings: Settings, found: FoundRun, stage: str, *, json: bool) -> int:
    """Do the run once more; one that failed goes on from the stage, or from where it failed.

    Raises ConfigError where it cannot be.
    """
    from app.cli.resolve.commands import work_in_clone
    from app.clone.preconditions import start_at
    from app.clone.run_folder import FAILED, find_newest_failed, key_of
    from app.store.runs import Runs

    short, folder = found.short, found.place.folder
    if found.run.kind != "resolve_issue":
        raise ConfigError(OTHER_KIND.format(short=short))
    if found.run.outcome is None:
        raise ConfigError(CUT_SHORT.format(short=short))
    with open_database(found.place) as database:
        last = await Runs(database).request(found.run.id)
    asked = last if isinstance(last, dict) else {}
    wish = (str(asked.get("title", "")), str(asked.get("body", "")))
    start = await start_at(Path())
    key = key_of(str(start.clone.git.gitdir), start.head.commit, *wish)
    if f"{key}-" not in folder.name:
        raise ConfigError(ELSEWHERE.format(short=short))
    failed = folder.name.startswith(FAILED)
    if stage and not failed:
        raise ConfigError(NOT_KEPT.format(short=short))
    if failed and find_newest_failed(folder.parent, key) != folder:
        raise ConfigError(LATER)
    again: ResumeChoice = "resume" if failed else "fresh"
    return await work_in_clone(settings, start, wish, again, stage=stage, json=json)
