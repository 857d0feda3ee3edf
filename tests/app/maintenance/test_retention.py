"""After their time texts go and numbers stay; what waits for people is never touched."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess

import pytest
from sqlalchemy import insert, select, update

from agents.ports import FlakySighting, Turn, Usage
from agents.requests import request_of
from agents.run import Outcome
from app.git.locks import file_lock
from app.git.mirror.garbage_collect import mirror_ids, runs_kept
from app.git.mirror.mirror import Mirrors
from app.maintenance.retention import DAY, NAME, Retention
from app.runs.reaper import KEPT, kept_of
from app.store.database import Database
from app.store.deliveries import Arrival, Mark, claim, mark
from app.store.flaky_tests import StoredFlakyTests, read_flaky
from app.store.repository_rows import ids_in
from app.store.runs.history import History
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from app.store.schedule_leases import LogPosition, Sweeps
from app.store.tables import alert_looks, deliveries, installations, repositories, runs
from tests.fakes.requests import build_repository, build_resolve_issue

NOW = 1_800_000_000.0
WORD = "c4n4ry"
OLD, YOUNG, WAITING, GONE = (f"000600000000000{n}-{n}" for n in range(4))
IDS = {OLD: 9, YOUNG: 9, WAITING: 8, GONE: 7}
DAYS, REMOVED_DAYS = 90, 30


def request_for(repository_id):
    return build_resolve_issue(
        repository=build_repository(id=repository_id, name=f"lib{repository_id}"),
        title=WORD,
        body=WORD,
    )


async def run_of(database, run_id, *, age, ended=True):
    """Store a run with a turn, and the delivery that asked for it."""
    store = Runs(database)
    await store.create(run_id, request_for(IDS[run_id]))
    turn = Turn(
        kind="answer",
        stage="s/1",
        content=[{"type": "text", "text": WORD}],
        usage=Usage(),
        cost_usd=1.5,
    )
    await StoredJournal(database, run_id).append("s/1", 0, turn)
    seen = FlakySighting(command="pytest", name=f"{WORD} {run_id}")
    await StoredFlakyTests(database, run_id, IDS[run_id]).note([seen])
    if ended:
        await store.record_end(run_id, Outcome(kind="pull_request", text=WORD))
    else:
        await store.record_parked(run_id, "approval")
    body = json.dumps({"text": WORD, "repository": {"id": IDS[run_id]}}).encode()
    at = NOW - age * DAY
    arrival = Arrival(f"d{run_id}", run_id, "issues", "labeled", 1, run_id, body, at)
    await database.write(lambda c: claim(c, [arrival]))
    await database.write(lambda c: mark(c, [Mark(arrival.id, "dispatched")]))
    this = update(runs).where(runs.c.id == run_id)
    await database.write(lambda c: c.execute(this.values(updated_at=at)))


@pytest.fixture
async def database(store_url):
    made = Database(store_url)
    for run_id, age in ((OLD, 91), (YOUNG, 89), (GONE, 1)):
        await run_of(made, run_id, age=age)
    await run_of(made, WAITING, age=400, ended=False)
    yield made
    made.close()


@pytest.fixture
async def data(tmp_path, database):
    """A data folder with a mirror of each repository, and hidden refs of each run."""
    folder = tmp_path / "data"
    folder.mkdir()
    mirrors = Mirrors(folder / "mirrors", group=os.getegid())
    for run_id, ident in IDS.items():
        mirror = mirrors.open_mirror(ident)
        async with mirror.lock():
            made = await mirror.git.local("hash-object", "-w", "--stdin", stdin=WORD.encode())
        await mirror.keep(f"refs/fettle/runs/{run_id}/kept", made.decode().strip())
    await asyncio.to_thread(make_unused, mirrors.open_mirror(5))
    return folder


def make_unused(mirror):
    subprocess.run(["git", "init", "--bare", "--quiet", mirror.gitdir], check=True)
    for path in (mirror.gitdir, *mirror.gitdir.rglob("*")):
        os.utime(path, (NOW - 91 * DAY,) * 2)


async def sweep_old(database, data, *, days=DAYS, now=NOW):
    sweep = Retention(
        database,
        Mirrors(data / "mirrors", group=os.getegid()),
        data,
        Sweeps(database, "one"),
        days=days,
        removed_days=REMOVED_DAYS,
        clock=lambda: now,
    )
    await sweep.run()


async def bodies(database):
    query = select(deliveries.c.id, deliveries.c.body)
    return {row.id: row.body for row in await database.read(lambda c: c.execute(query).all())}


async def test_texts_go_and_numbers_stay(database, data):
    await sweep_old(database, data)
    history = History(database)
    old, young = await history.run(OLD), await history.run(YOUNG)
    assert (old.title, old.asked_by, old.answers, old.usd) == ("", "", 1, 1.5)
    again = request_of(await Runs(database).request(OLD))  # it can be asked for once more
    assert (again.repository.id, again.number, again.body) == (9, 7, "")
    assert (old.state, old.outcome.kind) == ("done", "pull_request")
    assert old.outcome.text == "What it said was deleted on 2027-01-15."
    assert await history.turns(OLD, content=True) == []
    assert (young.title, young.outcome.text, young.usd) == (WORD, WORD, 1.5)
    assert len(await history.turns(YOUNG, content=True)) == 1
    flaky = await database.read(lambda c: read_flaky(c, {9}))
    assert [each.name for each in flaky] == [f"{WORD} {YOUNG}"]
    assert set(await bodies(database)) == {f"d{YOUNG}", f"d{GONE}"}


async def test_what_waits_for_people_is_never_touched(database, data):
    await sweep_old(database, data, days=1)
    waiting = await History(database).run(WAITING)
    assert (waiting.state, waiting.title) == ("parked", WORD)
    mirrors = Mirrors(data / "mirrors", group=os.getegid())
    assert await runs_kept(mirrors.open_mirror(8)) == {WAITING}


async def test_mirrors_and_commits_nobody_needs_go(database, data):
    assert set(mirror_ids(data / "mirrors")) == {5, 7, 8, 9}
    await sweep_old(database, data)
    assert set(mirror_ids(data / "mirrors")) == {7, 8, 9}
    mirrors = Mirrors(data / "mirrors", group=os.getegid())
    assert await runs_kept(mirrors.open_mirror(9)) == {YOUNG}


async def test_a_delivery_is_known_as_long_as_github_may_bring_it_again(database, data):
    await sweep_old(database, data, days=1, now=NOW + DAY)
    left = await bodies(database)
    assert set(left) == {f"d{GONE}"}
    assert WORD.encode() not in left[f"d{GONE}"]
    again = Arrival(f"d{GONE}", "new", "issues", "labeled", 1, "x", b"{}", NOW)
    assert await database.write(lambda c: claim(c, [again])) == ["duplicate"]


async def test_a_repository_that_was_taken_off_is_forgotten_after_its_time(database, data):
    # Of the columns of others, whatever they hold.
    blank = {c.name: 0 if c.type.python_type is not str else "[]" for c in repositories.c}
    row = {name: value for name, value in blank.items() if not repositories.c[name].nullable}
    rows = [
        row | {"id": 7, "full_name": "octo/lib7", "removed_at": NOW - 31 * DAY},
        row | {"id": 8, "full_name": "octo/lib8", "removed_at": NOW - 31 * DAY},
        row | {"id": 9, "full_name": "octo/lib9", "removed_at": NOW - 29 * DAY},
    ]
    await database.write(lambda c: c.execute(insert(repositories), rows))
    await sweep_old(database, data)
    history = History(database)
    assert await history.run(GONE) is None
    assert await database.read(lambda c: read_flaky(c, {7})) == []
    assert await history.run(WAITING) is not None, "it is under way still"
    assert await history.run(YOUNG) is not None
    assert 7 not in set(mirror_ids(data / "mirrors"))
    query = select(repositories.c.id)
    assert set(await database.read(lambda c: c.scalars(query).all())) == {8, 9}


async def insert_suspended_and_gone(database):
    """Two installations: of one the App was shut out, from the other it was taken off."""
    of = {"account_id": 1, "account": "octo", "url": "", "permissions": "{}", "since": 1.0}
    long_ago = NOW - 31 * DAY
    both = [
        of | {"id": 1, "synced_at": 0.0, "suspended_at": long_ago, "removed_at": None},
        of | {"id": 2, "synced_at": 0.0, "suspended_at": None, "removed_at": long_ago},
    ]
    await database.write(lambda c: c.execute(insert(installations), both))
    blank = {c.name: 0 if c.type.python_type is not str else "[]" for c in repositories.c}
    row = {name: value for name, value in blank.items() if not repositories.c[name].nullable}
    rows = [
        row | {"id": 7, "installation_id": 1, "full_name": "octo/lib7", "removed_at": None},
        row | {"id": 8, "installation_id": 1, "full_name": "octo/lib8", "removed_at": None},
        row | {"id": 6, "installation_id": 2, "full_name": "octo/lib6", "removed_at": long_ago},
    ]
    await database.write(lambda c: c.execute(insert(repositories), rows))
    looks = [{"repository_id": ident, "at": 1.0, "next_at": 2.0} for ident in (6, 9)]
    await database.write(lambda c: c.execute(insert(alert_looks), looks))


async def test_of_a_suspended_installation_what_was_said_is_forgotten_and_the_books_stay(
    database, data
):
    await insert_suspended_and_gone(database)
    await sweep_old(database, data)
    history = History(database)
    assert await history.run(GONE) is None
    assert await history.run(WAITING) is not None, "it is under way still"
    read = [repositories.c.id, installations.c.id, alert_looks.c.repository_id]
    kept = [set(await database.read(lambda c, q=q: c.scalars(select(q)).all())) for q in read]
    assert kept == [{7, 8}, {1}, {9}]


async def test_runs_on_clones_go_with_the_rest_unless_a_command_is_at_work_on_them(database, data):
    for name in ("failed-old", "busy", "young"):
        folder = data / "clones" / name
        folder.mkdir(parents=True)
        (folder / "run.db").write_text(WORD)
        if name != "young":
            for path in (folder / "run.db", folder):
                os.utime(path, (NOW - 91 * DAY,) * 2)
    os.utime(data / "clones" / "young" / "run.db", (NOW - DAY,) * 2)
    async with file_lock(data / "clones" / "busy" / "lock"):
        os.utime(data / "clones" / "busy" / "lock", (NOW - 91 * DAY,) * 2)
        os.utime(data / "clones" / "busy", (NOW - 91 * DAY,) * 2)
        await sweep_old(database, data)
    assert {path.name for path in (data / "clones").iterdir()} == {"busy", "young"}


async def test_a_pass_a_day_and_none_for_good(database, data):
    await sweep_old(database, data, days=0)
    assert (await History(database).run(OLD)).title == WORD
    done = await Sweeps(database, "one").last_pass_at(NAME)
    await sweep_old(database, data, now=done + 0.5 * DAY)
    assert (await History(database).run(OLD)).title == WORD, "today one was made"
    assert kept_of(0) == kept_of(90) == KEPT
    assert kept_of(7).days == 7


def test_which_repositories_a_payload_is_about():
    assert ids_in({"repository": {"id": 3}, "issue": {"id": 9}}) == {3}
    assert ids_in({"repositories_removed": [{"id": 3}, {"id": 4}]}) == {3, 4}
    assert ids_in({"args": ["run", {"repository": {"id": 3}}], "kwargs": {}}) == {3}
    assert ids_in({"request": {"repository": {"id": 3}}}) == {3}
    for odd in (None, [], {"repository": "x"}, {"repository": {"id": True}}, {"args": [None]}):
        assert ids_in(odd) == set()


class Stuck:
    """A git that never ends."""

    async def local(self, *_args, **_more):
        await asyncio.sleep(60)


class SlowMirrors(Mirrors):
    """Of which one takes longer than a pass may."""

    def __init__(self, root, slow):
        super().__init__(root, group=os.getegid())
        self.looked_at, self._slow = [], slow

    def open_mirror(self, ident):
        self.looked_at.append(ident)
        mirror = super().open_mirror(ident)
        if ident == self._slow:
            mirror.git = Stuck()
        return mirror


async def test_a_pass_whose_time_is_up_is_gone_on_with_behind_where_it_was(database, data):
    mirrors, sweeps = SlowMirrors(data / "mirrors", slow=7), Sweeps(database, "one")

    def retention():
        options = {"days": DAYS, "removed_days": REMOVED_DAYS, "clock": lambda: NOW}
        return Retention(database, mirrors, data, sweeps, seconds=31.5, **options)

    await retention().run()
    assert list(dict.fromkeys(mirrors.looked_at)) == [5, 7, 8, 9]
    assert (mirrors.looked_at.count(5), mirrors.looked_at.count(7)) == (1, 2)
    assert await sweeps.last_pass_at(NAME) > 0
    assert await runs_kept(Mirrors(data / "mirrors", group=os.getegid()).open_mirror(9)) == {YOUNG}
    await sweeps.note(NAME, LogPosition(cursor="8"), ())  # as after a kill
    mirrors.looked_at.clear()
    await database.write(lambda c: c.exec_driver_sql("UPDATE sweeps SET done_at = 0"))
    await retention().run()
    assert mirrors.looked_at == [8, 9]
