"""Retry a run from a stage: keep what the earlier run did before it, do the rest anew.

The first thing that such a run does is to look what is still there, and to record it; from then on
it needs the earlier run no more. What people decided and answered meanwhile is kept with the stages
that it belongs to. What the kept answers of the model cost, the earlier run has paid.

A stage that failed through no fault of its conversation, such as a used-up credit, goes on with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog
from sqlalchemy import Connection, insert, select

from agents.errors import OUTSIDE, ConfigError, DayOver
from agents.ports import Json, Reporter, Steps, Usage
from agents.requests import Again, Frozen
from agents.run import RunState
from app.git import GitFailed, RunObjects, run_refs
from app.git.ref_names import tree_refs
from app.store.database import Database
from app.store.runs import GIVEN_UP, History, KeptStep
from app.store.tables import turns

STEP, TITLE = "again/1", "Take up an earlier run"
OWN = ("access/", "finish/", "again/")
"""Steps that each run does for itself."""
_OUTSIDE = {GIVEN_UP, DayOver.__name__, *(kind.__name__ for kind in OUTSIDE)}
"""What a stage failed with that had nothing to do with its conversation."""
_MINE = {"remark": "prompt"}
"""Kinds of turns that are stored under another kind.

A session counts the remarks that it has heard; those of the earlier run must not be among them.
"""

log = structlog.get_logger()


class KeptStages(Frozen):
    """What a run takes over from an earlier one."""

    steps: Mapping[str, Json] = {}
    """What its steps returned, by name; the last time, for what was done more than once."""
    stages: tuple[str, ...] = ()
    """The stage occurrences among them, like `implement/2`."""
    unfinished: str = ""
    """The one after them, where the run goes on with what was said in it; empty: it is anew."""
    summary: str
    """What is kept, or why nothing is, for people."""


class RetryFromStage:
    """Puts what an earlier run's steps returned in the place of the work of a run that retries it.

    `recover` brings what the earlier run made to this machine.
    """

    def __init__(
        self,
        steps: Steps,
        again: Again,
        run_id: str,
        *,
        database: Database,
        objects: RunObjects,
        recover: Callable[[], Awaitable[None]],
        reporter: Reporter,
    ) -> None:
        self._steps = steps
        self._again = again
        self._run_id = run_id
        self._database = database
        self._objects = objects
        self._mirror = objects.mirror
        self._recover = recover
        self._reporter = reporter
        self._kept: KeptStages | None = None

    async def replace_work(
        self, name: str, work: Callable[[], Awaitable[Json]]
    ) -> Callable[[], Awaitable[Json]]:
        """Return what gives the result of the earlier run's step; the work, if it has none."""
        if name.startswith(OWN):
            return work
        kept = await self._load_kept()
        if name not in kept.steps:
            return work

        async def take_up() -> Json:
            return kept.steps[name]

        return take_up

    async def replace_wait(
        self, name: str, over: Callable[[], Awaitable[bool]]
    ) -> Callable[[], Awaitable[bool]]:
        """Return what says at once that the wait is over, if the earlier run's is."""
        kept = await self._load_kept()
        return _at_once if name in kept.steps else over

    async def _load_kept(self) -> KeptStages:
        if self._kept is None:

            async def take_up() -> Json:
                return (await self._take_up()).model_dump(mode="json")

            self._kept = KeptStages.model_validate(
                await self._steps.step(STEP, take_up), extra="ignore"
            )
            self._reporter.stage_started(STEP, TITLE)
            self._reporter.stage_finished(STEP, self._kept.summary)
        return self._kept

    async def _take_up(self) -> KeptStages:
        try:
            return await self._read_earlier()
        except ConfigError as error:
            log.warning("earlier run cannot be read", reason=str(error))
            return _keep_nothing("its texts are sealed with a key that the server does not have")

    async def _read_earlier(self) -> KeptStages:
        history, stage = History(self._database), self._again.stage
        if await history.run(self._again.run_id) is None:
            return _keep_nothing("it is not known here any more")
        if await history.is_emptied(self._again.run_id):
            return _keep_nothing("what was said in it was deleted after its time")
        steps = await history.steps(self._again.run_id)
        if not steps:
            return _keep_nothing("nobody remembers what it did")
        if (kept := kept_of(steps, stage)) is None:
            return _keep_nothing(f"it never came to the stage {stage}")
        await self._recover()
        if missing := await self._keep_commits(kept):
            return _keep_nothing(f"its commit {missing[:12]} is not here any more")
        if kept.unfinished and not await self._keep_files(kept):
            kept = kept.model_copy(update={"unfinished": ""})
        stages = (*kept.stages, kept.unfinished) if kept.unfinished else kept.stages
        await self._database.write(lambda c: self._copy_turns(c, stages))
        log.info("earlier run taken up", earlier=self._again.run_id, stages=len(stages))
        goes_on = f", and goes on in {kept.unfinished}" if kept.unfinished else ""
        return kept.model_copy(update={"summary": f"{kept.summary}{goes_on}"})

    async def _keep_commits(self, kept: KeptStages) -> str | None:
        """Keep the commits that the stages left, for this run too; return one that is not here."""
        commits = _commits(kept)
        for commit in commits:
            if not await self._whole(commit, commits[0]):
                return commit
        for number, commit in enumerate(commits, 1):
            ref = f"{run_refs(self._run_id)}/commits/kept-{number}"
            await self._mirror.keep(ref, commit)
            if commit == commits[0]:
                await self._objects.note(ref, commit)
            else:
                await self._objects.record(ref, commit, beyond=commits[: number - 1])
        return None

    async def _keep_files(self, kept: KeptStages) -> bool:
        """Keep the files as the unfinished stage left them; return whether they are here."""
        marks = await History(self._database).turn_marks(self._again.run_id)
        trees = [mark.tree for mark in marks if mark.stage == kept.unfinished and mark.tree]
        commits = _commits(kept)
        if not trees or not commits:
            return not trees
        if not await self._whole(tree := trees[-1], commits[0]):
            return False
        ref = f"{tree_refs(self._run_id)}/{tree}"
        await self._mirror.keep(ref, tree)
        await self._objects.record(ref, tree, beyond=commits)
        return True

    async def _whole(self, commit: str, base: str) -> bool:
        """Return whether the commit or tree is here with all that it adds to the base."""
        if not await self._mirror.holds(commit):
            return False
        walk = ("rev-list", "--objects", "--quiet", commit, f"^{base}")
        try:
            await self._mirror.git.local(*walk)
        except GitFailed:
            return False
        return True

    def _copy_turns(self, connection: Connection, stages: Sequence[str]) -> None:
        """Copy what was said in these stages; done twice, as after a crash, it changes nothing."""
        mine = select(turns.c.session, turns.c.number).where(turns.c.run_id == self._run_id)
        there = {(row.session, row.number) for row in connection.execute(mine)}
        theirs = select(turns).where(
            turns.c.run_id == self._again.run_id, turns.c.stage.in_(stages)
        )
        free = {"run_id": self._run_id, "usage": Usage().model_dump_json(), "cost_usd": 0.0}
        rows = [
            dict(row) | free | {"kind": _MINE.get(row["kind"], row["kind"])}
            for row in connection.execute(theirs).mappings()
            if (row["session"], row["number"]) not in there
        ]
        if rows:
            connection.execute(insert(turns), rows)


def kept_of(steps: Sequence[KeptStep], stage: str) -> KeptStages | None:
    """Return what is taken over of these: all before the stage, and before what was not finished.

    `stage` is a name, for its first occurrence, or an occurrence like `implement/2`. None when the
    run ended without ever coming there.
    """
    last = {_name(step): step.record for step in steps}
    kept: dict[str, Json] = {}
    for step in steps:
        name = _name(step)
        occurrence = name.removeprefix("stage/") if name.startswith("stage/") else ""
        asked = stage in (occurrence, occurrence.partition("/")[0])
        if occurrence and (asked or not _is_done(last[name])):
            unfinished = occurrence if _may_go_on(last[name]) else ""
            break
        if not name.startswith(OWN):
            kept[name] = _without_time(last[name])
    else:
        return None
    stages = tuple(name.removeprefix("stage/") for name in kept if name.startswith("stage/"))
    number = "one stage" if len(stages) == 1 else f"{len(stages)} stages"
    return KeptStages(
        steps=kept, stages=stages, unfinished=unfinished, summary=f"kept {number} of it"
    )


def _keep_nothing(why: str) -> KeptStages:
    return KeptStages(summary=f"{why}, so all is done anew")


def _name(step: KeptStep) -> str:
    """Return what is done by the step, whether for the first time or once more."""
    return step.name.partition("~")[0]


def _is_done(record: Json) -> bool:
    if not isinstance(record, dict) or "standing" not in record:
        return False
    return not (record.get("error") or record.get("parked") or record.get("paused_until"))


def _may_go_on(record: Json) -> bool:
    """Return whether a stage failed for what has nothing to do with what was said in it."""
    return isinstance(record, dict) and record.get("error_kind") in _OUTSIDE


def _without_time(record: Json) -> Json:
    """Return a stage's record without the time that it took: another run worked on it."""
    if not isinstance(record, dict) or not isinstance(standing := record.get("standing"), dict):
        return record
    return {**record, "standing": {**standing, "worked": 0.0}}


def _commits(kept: KeptStages) -> list[str]:
    """Return the commits that the stages left behind, each once."""
    found: dict[str, None] = {}
    for name in (f"stage/{occurrence}" for occurrence in kept.stages):
        record: Any = kept.steps[name]
        standing = RunState.model_validate(record["standing"], extra="ignore")
        commits = (standing.trunk, standing.base, standing.start, standing.head)
        found |= dict.fromkeys(commit for commit in commits if commit)
    return list(found)


async def _at_once() -> bool:
    return True
