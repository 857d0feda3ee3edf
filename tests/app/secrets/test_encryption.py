"""Texts at rest: nobody reads them in the file, keys are replaced, and none is missed by chance."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import lz4.frame
import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError

from agents.errors import ConfigError
from agents.ports import ApprovalRequest, Turn, Usage
from agents.run import Outcome
from app.config.settings import load_settings
from app.runs.engine import Engine
from app.secrets.encryption import LITERAL, OPEN, SEALED, Cipher
from app.store.database import Database
from app.store.deliveries import Arrival, Mark, claim, list_waiting, mark
from app.store.encryption.keys import find_outdated_workers, forget_others, list_workers
from app.store.encryption.reencrypt import AT_ONCE, reencrypt
from app.store.engine_tables import KEYS, TEXTS
from app.store.runs.approvals import StoredApprovals
from app.store.runs.history import History
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from app.store.runs.turns import StoredJournal
from app.store.tables import metadata, repositories
from tests.fakes.requests import build_resolve_issue

FIRST, SECOND = (Fernet.generate_key().decode() for _ in range(2))
WORD = "c4n4ry"
REQUEST = build_resolve_issue(title=WORD, body=WORD)
RUN = "0006000000000000-11111111-2222-3333-4444-555555555555"


@given(st.text())
def test_any_text_comes_back(text):
    for cipher in (OPEN, Cipher([FIRST])):
        assert cipher.decrypt(cipher.encrypt(text)) == text
    assert Cipher([FIRST]).decrypt(OPEN.encrypt(text)) == text, "written before there was a key"


@given(st.binary())
def test_any_frame_comes_back(data):
    frame = lz4.frame.compress(data)
    for cipher in (OPEN, Cipher([FIRST])):
        assert cipher.decrypt_bytes(cipher.encrypt_bytes(frame)) == frame
    assert Cipher([FIRST]).decrypt_bytes(frame) == frame


@pytest.mark.parametrize("text", [SEALED, f"{SEALED}x", LITERAL, f"{LITERAL}{SEALED}"])
def test_who_writes_like_us_reads_what_they_wrote(text):
    assert OPEN.decrypt(OPEN.encrypt(text)) == text
    assert Cipher([FIRST]).decrypt(OPEN.encrypt(text)) == text


def test_older_keys_open_and_the_newest_seals():
    both = Cipher([SECOND, FIRST])
    old = Cipher([FIRST]).encrypt(WORD)
    assert both.decrypt(old) == WORD
    assert not both.is_current(old)
    assert both.is_current(both.encrypt(WORD))
    with pytest.raises(ConfigError, match="was not given"):
        Cipher([SECOND]).decrypt(old)
    with pytest.raises(ConfigError, match="FETTLE_ENCRYPTION_KEYS"):
        OPEN.decrypt(old)


def test_settings_take_keys_and_nothing_else():
    given = {"ANTHROPIC_API_KEY": "sk", "FETTLE_DATA_DIR": "/nowhere"}
    found = load_settings({**given, "FETTLE_ENCRYPTION_KEYS": f"{SECOND},{FIRST}"}, serving=False)
    assert found.cipher.fingerprints == Cipher([SECOND, FIRST]).fingerprints
    assert not load_settings(given, serving=False).cipher
    for wrong in ("password", f"{FIRST},{FIRST}", f"{FIRST},,"):
        with pytest.raises(ConfigError) as error:
            load_settings({**given, "FETTLE_ENCRYPTION_KEYS": wrong}, serving=False)
        assert FIRST not in str(error.value)


# --- a database ---------------------------------------------------------------------------------


def open_database(url, *keys):
    database = Database(url, Cipher(keys))
    database.migrate("one")
    return database


async def fill(database):
    """Put the word wherever people, models and tools may put theirs."""
    store = Runs(database)
    body = json.dumps({"issue": WORD, "repository": {"id": 1}}).encode()
    arrivals = [Arrival(f"d{n}", f"{n}", "issues", "opened", 1, f"{n}", body, 1.0) for n in "12"]
    await database.write(lambda c: claim(c, arrivals))
    await database.write(lambda c: mark(c, [Mark("d2", "failed", WORD)]))
    await store.create(RUN, REQUEST)
    turn = Turn(kind="answer", stage="s/1", content=[{"type": "text", "text": WORD}], usage=Usage())
    await StoredJournal(database, RUN).append("s/1", 0, turn)
    asking = ApprovalRequest(
        call_id="c", session="s/1", stage="s/1", tool="bash", arguments={"command": WORD},
        rule="r", reason=WORD, head="0" * 40, days=1.0,
    )  # fmt: skip
    asked = await StoredApprovals(database).ask_once(RUN, asking)
    decided = {"verdict": "denied", "by": "mara", "by_id": 1, "via": "comment", "reason": WORD}
    await StoredApprovals(database).decide(asked.id, **decided)
    await StoredSteers(database).insert(
        RUN, "k", kind="remark", via="comment", by="mara", words=WORD
    )
    await store.record_end(RUN, Outcome(kind="comment", text=WORD))
    book = dict.fromkeys(("full_name", "former", "former_installations", "default_branch"), "")
    book |= dict.fromkeys(("installation_id", "private", "archived", "since", "labels_made"), 0)
    book |= {"private": False, "archived": False, "id": 9, "policy_problem": WORD}
    await database.write(lambda c: c.execute(insert(repositories).values(book)))
    return asked.id


async def read_all(database, asked):
    """Return all of it, as it is read."""
    history = History(database)
    [delivery] = await database.read(lambda c: list_waiting(c, limit=5))
    [turn] = await history.turns(RUN, content=True)
    approval = await StoredApprovals(database).get(asked)
    [steer] = await StoredSteers(database).list_after(RUN)
    run = await history.run(RUN)
    return [
        json.loads(delivery.body)["issue"],
        turn.content[0]["text"],
        *(approval.asking.arguments["command"], approval.asking.reason, approval.reason),
        *(steer.words, run.title, run.outcome.text),
        await database.read(lambda c: c.scalar(select(repositories.c.policy_problem))),
    ]


def raw(tmp_path):
    return b"".join(path.read_bytes() for path in tmp_path.glob("fettle.db*"))


async def test_it_is_in_no_byte_of_the_file_and_read_as_ever(sqlite_url, tmp_path):
    database = open_database(sqlite_url, FIRST)
    asked = await fill(database)
    assert await read_all(database, asked) == [WORD] * 9
    assert WORD.encode() not in raw(tmp_path)
    database.close()
    assert WORD.encode() not in raw(tmp_path)


async def test_what_was_plain_is_sealed_then_sealed_anew_then_plain(store_url, tmp_path):
    database = open_database(store_url)
    asked = await fill(database)
    database.close()
    for keys, to in (
        ([FIRST], Cipher([FIRST])),
        ([SECOND, FIRST], Cipher([SECOND, FIRST])),
        ([SECOND], OPEN),
    ):
        database = open_database(store_url, *keys)
        assert await read_all(database, asked) == [WORD] * 9
        assert await reencrypt(database, to) >= 10
        assert await reencrypt(database, to) == 0
        assert await database.compact()
        await database.write(lambda c, to=to: forget_others(c, to))
        if store_url.startswith("sqlite"):
            assert (WORD.encode() in raw(tmp_path)) is (to is OPEN)
        database.close()
    database = open_database(store_url)
    assert await read_all(database, asked) == [WORD] * 9
    database.close()


def test_without_the_key_it_does_not_start(sqlite_url):
    open_database(sqlite_url, FIRST).close()
    for keys in ((), (SECOND,)):
        database = Database(sqlite_url, Cipher(keys))
        with pytest.raises(ConfigError, match=Cipher([FIRST]).fingerprints[0]):
            database.migrate("one")
        database.close()
    open_database(sqlite_url, SECOND, FIRST).close()


async def test_a_server_that_goes_on_with_an_older_key_is_named(sqlite_url):
    open_database(sqlite_url, FIRST).close()
    newer = Database(sqlite_url, Cipher([SECOND, FIRST]))
    newer.migrate()
    assert await newer.read(lambda c: find_outdated_workers(c, newer.cipher)) == ["one"]
    newer.migrate("one")
    assert await newer.read(lambda c: find_outdated_workers(c, newer.cipher)) == []
    newer.close()


async def test_the_engine_seals_what_it_remembers(sqlite_url, tmp_path):
    async def conduct(run_id, request, steps):
        async def step():
            return {"value": f"{WORD}-step"}

        await steps.step("one/1", step)
        return {"said": f"{WORD}-output"}

    made = {"executor": "one", "cipher": Cipher([FIRST])}
    engine = Engine(sqlite_url, **made)
    await engine.launch(conduct)
    try:
        await engine.enqueue("r1", "lane", {"asked": f"{WORD}-input"})
        assert await engine.result("r1") == {"said": f"{WORD}-output"}
    finally:
        await engine.drain(1)
    assert WORD.encode() not in raw(tmp_path)
    database = open_database(sqlite_url, FIRST)
    [step] = await History(database).steps("r1")
    assert step.record == {"value": f"{WORD}-step"}
    assert await reencrypt(database, OPEN) >= 3
    database.close()
    for part in ("input", "output", "step"):
        assert f"{WORD}-{part}".encode() in raw(tmp_path)


async def test_a_long_record_of_the_engine_is_sealed_to_its_end(store_url):
    async def conduct(run_id, request, steps):
        async def step():
            return WORD

        for number in range(AT_ONCE + 5):
            await steps.step(f"one/{number}", step)

    engine = Engine(store_url, executor="one")
    await engine.launch(conduct)
    try:
        await engine.enqueue("r1", "lane", {"asked": WORD})
        await engine.result("r1")
    finally:
        await engine.drain(1)
    database = open_database(store_url, FIRST)
    assert await reencrypt(database, database.cipher) >= AT_ONCE + 6
    assert await reencrypt(database, database.cipher) == 0
    assert [step.record for step in await History(database).steps("r1")] == [WORD] * (AT_ONCE + 5)
    database.close()


async def test_what_fails_in_the_engine_says_nothing_of_what_was_asked(store_url):
    async def conduct(run_id, request, steps):
        return None

    engine = Engine(store_url, executor="one")
    await engine.launch(conduct)
    database = open_database(store_url)
    where = "" if store_url.startswith("sqlite") else "dbos."
    broken = text(f"ALTER TABLE {where}workflow_input RENAME TO gone")
    mended = text(f"ALTER TABLE {where}gone RENAME TO workflow_input")
    try:
        await database.write(lambda c: c.execute(broken))
        with pytest.raises(DBAPIError) as error:
            await engine.enqueue("r1", "lane", {"asked": WORD})
        assert WORD not in str(error.value)
        await database.write(lambda c: c.execute(mended))
    finally:
        await engine.drain(1)
        database.close()


def test_all_texts_of_the_engine_are_known(sqlite_url, tmp_path):
    """What it has beside them, Fettle does not use."""
    holding = {"inputs", "output", "error", "message", "value", "context"}
    unused = {"notifications", "workflow_events", "workflow_events_history", "streams"}
    with closing(sqlite3.connect(tmp_path / "fettle.db")) as connection:
        query = (
            "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c"
            " WHERE t.type = 'table'"
        )
        ours = set(metadata.tables)
        there = [row for row in connection.execute(query) if row[0] not in ours]
        texts = {(t, c) for t, c in there if c in holding and t not in unused}
        for table in unused:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert texts == {(table, column) for table, columns in TEXTS.items() for column in columns}
    assert KEYS.keys() == TEXTS.keys()


async def test_a_server_that_seals_nothing_is_named_as_well(store_url):
    open_database(store_url).close()
    keyed = Database(store_url, Cipher([FIRST]))
    keyed.migrate()
    assert await keyed.read(lambda c: find_outdated_workers(c, keyed.cipher)) == ["one"]
    keyed.migrate("one")
    assert await keyed.read(lambda c: find_outdated_workers(c, keyed.cipher)) == []
    await keyed.write(lambda c: forget_others(c, keyed.cipher))
    assert await keyed.read(list_workers) == ["one"]
    keyed.close()
