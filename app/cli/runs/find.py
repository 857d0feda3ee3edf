"""Find the one run that somebody means by the beginning of its id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from agents.errors import ConfigError
from app.cli.storage.databases import RunDatabase, list_places, of_each, open_database
from app.cli.terminal import say
from app.views.text import to_line

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.store.runs import KeptRun

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

SHORTEST = 8  # characters of a shown id
MOST_NEAR = 5


@dataclass(frozen=True)
class FoundRun:
    """A run, where it is kept, and as much of its id as tells it from all others."""

    run: KeptRun
    place: RunDatabase
    short: str


async def find(settings: Settings, file: Path | None, ident: str) -> FoundRun | None:
    """Return the run that is meant; None when that is unclear, which people are told.

    Raises ConfigError when there is no database to look in.
    """
    from app.store.runs import History

    told = await of_each(list_places(settings, file), lambda database: History(database).ids())
    where = {ident: place for place, ids in told for ident in ids}
    run_id = _choose(ident.strip().lower(), list(where))
    if run_id is None:
        return None
    with open_database(where[run_id]) as database:
        run = await History(database).run(run_id)
    if run is None:
        raise ConfigError("That run was removed just now.")
    return FoundRun(run, where[run_id], shorten(where)[run_id])


def shorten(ids: Iterable[str]) -> dict[str, str]:
    """Return for each id its shortest beginning that no other has."""
    ordered = sorted(set(ids))
    lengths = dict.fromkeys(ordered, SHORTEST)
    for one, other in pairwise(ordered):
        pairs = zip(one, other, strict=False)
        shared = 1 + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        lengths[one] = max(lengths[one], shared)
        lengths[other] = max(lengths[other], shared)
    return {each: each[:length] for each, length in lengths.items()}


def _choose(ident: str, ids: list[str]) -> str | None:
    """Return the id that is meant; None when that is unclear, which people are then told."""
    meant = [each for each in ids if each.lower().startswith(ident)]
    exact = [each for each in meant if each.lower() == ident]
    if len(exact or meant) == 1:
        return (exact or meant)[0]
    called, short = to_line(ident, 100), shorten(ids)
    if meant:
        named, more = _list_near(meant, short)
        say(f"{len(meant)} runs have an id that begins with `{called}`: {named}{more}.")
        return None
    begins = {each[: max(len(ident), SHORTEST)].lower(): each for each in ids}
    near = [begins[each] for each in get_close_matches(ident, begins, MOST_NEAR, 0.6)]
    named, _ = _list_near(near, short)
    hint = f" Near it: {named}." if near else ""
    say(f"There is no run `{called}`.{hint} `fettle runs` lists them.")
    return None


def _list_near(ids: list[str], short: dict[str, str]) -> tuple[str, str]:
    named = ", ".join(to_line(short[each], 100) for each in ids[:MOST_NEAR])
    return named, f" and {len(ids) - MOST_NEAR} more" if len(ids) > MOST_NEAR else ""
