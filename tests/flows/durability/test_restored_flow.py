"""A server restored from a backup older than its crash loses nothing, and does nothing twice."""

from __future__ import annotations

import asyncio
import shutil
from datetime import UTC, datetime

from app.store.restore_recovery import Recoveries
from tests.flows.address.reviewed import (
    POLICY,
    Reviewed,
    edit,
    make_changes,
    sort,
    word_update,
)
from tests.flows.approvals.test_approval_commands import questions
from tests.flows.conftest import CALC, CHECKED, LABEL, PATIENCE
from tests.flows.durability.test_kept import FILES as KEPT
from tests.flows.durability.test_kept import ISSUE, fettle
from tests.flows.durability.test_kept import story as asking
from tests.flows.scripted import usual

FILES = CALC | {".github/fettle.yml": POLICY}


def story():
    return usual(
        sort(["t1"], [("r1", "question")]),
        make_changes(edit("return a + b", "return b + a")),
        word_update(("t1", "fixed", 1)),
    )


async def restore(place):
    """Lose all that the server had, put its backup back, and wait until all has come again."""
    await place.server.kill()
    shutil.rmtree(place.server.data)
    bare = {"FETTLE_PRIVATE_KEY_FILE": ""}
    code, said = await fettle(place, "restore", str(backup_of(place)), **bare)
    assert code == 0, said
    assert "deliver again all that arrived after the backup" in said
    await place.server.start(place.app)
    await wait_for_recovery(place)
    return said


async def wait_for_recovery(place):
    database = place.database()
    async with asyncio.timeout(PATIENCE):
        while await Recoveries(database).find_pending() is not None:
            await asyncio.sleep(0.1)


def backup_of(place):
    return place.server.data.parent / "fettle.tgz"


async def back_up(place):
    code, said = await fettle(place, "backup", str(backup_of(place)))
    assert code == 0, said


def read_all(place, at):
    """Return all that people have before them."""
    return {
        "pulls": [(pull.issue.title, pull.head_sha, pull.issue.body) for pull in place.pulls()],
        "issue": [comment.body for comment in place.issue.comments],
        "pull request": [comment.body for comment in at.pull.issue.comments],
        "threads": [[remark.body for remark in thread.remarks] for thread in at.pull.threads],
        "reactions": [reaction.content for reaction in place.issue.reactions],
        "pushes": len(place.repository.pushes),
    }


async def test_what_was_done_after_the_backup_is_found_and_not_done_twice(make_place):
    async with make_place(files=FILES, script=story(), FETTLE_SWEEP_SECONDS="2") as place:
        await back_up(place)
        await _do_half(place)
        await place.say("mara", "/bot cancel")
        await place.wait_until(
            lambda: any("no run is under way" in said for said in place.comments())
        )
        at = Reviewed(place, place.pulls()[0])
        await at.review("mara", "Why not sum()?", ("calc.py", 2, "The other way round."))
        await place.all_over("done", "done")
        await place.github.webhooks.wait_until_settled()
        before, answers, branches = read_all(place, at), len(place.model.requests), place.branches()
        ids = [run.id for run in await place.runs()]

        await restore(place)
        assert [run.id for run in await place.all_over("done", "done")] == ids
        await place.github.webhooks.wait_until_settled()
        assert read_all(place, at) == before
        assert len(place.pulls()) == 1
        assert await place.branches() == await branches
        assert len(place.model.requests) == answers, "nothing is paid twice"
        assert LABEL in place.labels()

        await at.review("mara", "And now?")
        await place.wait_until(lambda: len(place.model.requests) > answers)
        told = await at.prompts()
        assert ("And now?" in told, "Why not sum()?" in told) == (True, False)


async def _do_half(place):
    """What is half done when all is lost is done once, and the same comment says so."""
    await place.label_and_kill(6)
    await restore(place)
    assert (await place.wait_for_end()).kind == "pull_request"
    assert len(place.pulls()) == 1
    [comment] = place.comments()
    assert "**Done.**" in comment
    assert len(await place.runs()) == 1


async def test_what_waited_in_the_backup_and_was_decided_since_is_over(make_place):
    more = {"FETTLE_SWEEP_SECONDS": "2"}
    async with make_place(files=KEPT, issue=ISSUE, script=asking(), **more) as place:
        await place.label()
        _, [ident] = await questions(place)
        run_id = await place.wait_for_parked()
        await back_up(place)
        await place.say("mara", f"/bot deny {ident} not so")
        await place.ends("pull_request")
        at, answers = Reviewed(place, place.pulls()[0]), len(place.model.requests)
        await place.github.webhooks.wait_until_settled()
        before = read_all(place, at)

        await restore(place)
        assert [run.id for run in await place.all_over("done")] == [run_id]
        await place.github.webhooks.wait_until_settled()
        assert read_all(place, at) == before
        assert len(place.model.requests) == answers


async def test_a_postgresql_that_other_tools_put_back_is_told_so_and_catches_up(
    make_place, postgresql
):
    """The copy is made as a snapshot of a disk is, while the server is stopped."""
    url, more = postgresql.database(), {"FETTLE_SWEEP_SECONDS": "2"}
    async with make_place(CHECKED, FETTLE_DATABASE_URL=url, **more) as place:
        await place.server.stop()
        copy, now = postgresql.database(f"TEMPLATE {url.rpartition('/')[2]}"), datetime.now(UTC)
        code, said = await fettle(place, "backup", str(backup_of(place)))
        assert (code, "pg_dump" in said) == (2, True), said
        code, said = await fettle(place, "restore", str(backup_of(place)))
        assert (code, "`fettle restore --since TIME`" in said) == (2, True), said
        await place.server.start(place.app)
        code, said = await fettle(place, "restore", "--since", "2026-01-01")
        assert (code, "A server is at work" in said) == (2, True), said
        await place.label()
        await place.ends("pull_request")
        [run], answers = await place.all_over("done"), len(place.model.requests)

        await place.server.kill()
        place.server.more["FETTLE_DATABASE_URL"] = copy
        assert await place.runs() == []
        code, said = await fettle(place, "restore", "--since", f"{now:%Y-%m-%d %H:%M:%S}")
        assert code == 0, said
        await place.server.start(place.app)
        await wait_for_recovery(place)
        assert [each.id for each in await place.all_over("done")] == [run.id]
        assert (len(place.pulls()), len(place.comments())) == (1, 1)
        assert len(place.model.requests) == answers
