"""`fettle token`: made for named repositories, listed without its secret, ended at once."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest
from sqlalchemy import insert

from app.store.audit import read_entries
from app.store.database import Database
from app.store.pages.tokens import PREFIX, ApiTokens
from app.store.tables import repositories

ROW = {
    "id": 7,
    "installation_id": 1,
    "full_name": "octo/Lib",
    "former": "[]",
    "former_installations": "[]",
    "default_branch": "main",
    "private": True,
    "archived": False,
    "since": 0.0,
    "labels_made": 0,
}


@pytest.fixture
def database(tmp_path, sqlite_tables):
    shutil.copy(sqlite_tables, tmp_path / "fettle.db")
    made = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    asyncio.run(made.write(lambda c: c.execute(insert(repositories).values(**ROW))))
    yield made
    made.close()


def test_a_token_is_made_listed_and_ended(fettle, database):
    made, secret, told = fettle("token", "new", "nightly", "--repository", "octo/lib")
    again, _, in_use = fettle("token", "new", "nightly", "--all")
    _, listed, _ = fettle("token", "list", "--json")
    _, table, _ = fettle("token", "list")
    found = asyncio.run(ApiTokens(database).find(secret.strip()))
    ended, _, _ = fettle("token", "end", "nightly")
    twice, _, gone = fettle("token", "end", "nightly")

    assert (made, again, ended, twice) == (0, 2, 0, 2)
    assert secret.startswith(PREFIX)
    assert "shown once" in told
    assert "There is a token `nightly`" in in_use
    [row] = json.loads(listed)
    assert (row["repositories"], row["rights"], row["used_at"]) == (["octo/Lib"], ["read"], None)
    assert "octo/Lib" in table
    assert secret.strip() not in listed + table
    assert (found.repositories, found.rights) == ({7}, {"read"})
    assert "There is no token `nightly`" in gone
    assert asyncio.run(ApiTokens(database).find(secret.strip())) is None
    acts = asyncio.run(database.read(lambda c: [each.act for each in read_entries(c)]))
    assert [(each["kind"], each["details"]["name"]) for each in acts] == [
        ("api_token.made", "nightly"),
        ("api_token.ended", "nightly"),
    ]
    assert secret.strip() not in json.dumps(acts)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "Say what it is for"),
        (("--all", "--repository", "octo/lib"), "Say what it is for"),
        (("--repository", "octo/other"), "not installed on `octo/other`"),
        (("--all", "--may", "approve"), "There is no right `approve`"),
        (("--all", "--days", "0"), "--days"),
    ],
)
def test_what_makes_no_sense_makes_no_token(fettle, database, args, words):
    code, said, why = fettle("token", "new", "nightly", *args)

    assert (code, said) == (2, "")
    assert words in " ".join(why.split())
    assert asyncio.run(ApiTokens(database).list_all()) == []


def test_without_a_server_it_says_what_to_do(fettle):
    code, _, why = fettle("token", "list")

    assert code == 2
    assert "Start `fettle serve` first" in " ".join(why.split())
