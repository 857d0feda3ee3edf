"""Deciding at the machine: what is shown, what is decided, and how the command ends."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pwd
import sqlite3
import threading
import time

import pytest
from rich.console import Console

from app.cli.progress import TerminalProgress
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from tests.app.commands.answering_scene import RUN, make_asking
from tests.app.github.approvals.test_action_text import REQUEST
from tests.patience import PATIENCE

ME = pwd.getpwuid(os.getuid()).pw_name
ASKED = {"command": "git reset --hard HEAD~1\nrm \u202ex", "timeout": 60}


class ApprovalStore:
    """A database with what waits in it."""

    def __init__(self, url):
        self.url = url

    def execute(self, work):
        async def run_work():
            database = Database(self.url)
            try:
                await asyncio.to_thread(database.migrate)
                return await work(StoredApprovals(database), Runs(database))
            finally:
                database.close()

        return asyncio.run(run_work())

    def ask(self, call_id="c1", run=RUN, **changes):
        async def work(stored, runs):
            await runs.create(run, REQUEST)
            return (await stored.ask_once(run, make_asking(call_id, arguments=ASKED, **changes))).id

        return self.execute(work)

    def get(self, ident):
        async def work(stored, _runs):
            return await stored.get(ident)

        return self.execute(work)

    def decide(self, ident, **more):
        async def work(stored, _runs):
            await stored.decide(ident, **more)

        return self.execute(work)


@pytest.fixture
def store(tmp_path):
    return ApprovalStore(f"sqlite:///{tmp_path / 'fettle.db'}")


def test_it_shows_the_whole_call_and_decides_on_a_yes(fettle, store):
    ident = store.ask()
    code, _, err = fettle("approve", ident, typed="y\n")

    assert code == 0
    assert "bash, for ada/parse#3, in the stage implement/2" in err
    assert "    git reset --hard HEAD~1\n    rm \\u202ex\n" in err
    assert "It throws commits away. (rule shell/history)" in err
    assert "Look twice: 1 characters" in err
    assert "Approved. The run goes on by itself" in err
    stored = store.get(ident)
    assert (stored.state, stored.decided_by, stored.decided_via) == ("approved", ME, "terminal")


@pytest.mark.parametrize("typed", ["n\n", "\n"])
def test_anything_but_a_yes_decides_nothing(fettle, store, typed):
    ident = store.ask()
    code, _, err = fettle("approve", ident, typed=typed)
    assert code == 1
    assert "Nothing was decided." in err
    assert store.get(ident).state == "waiting"


def test_without_a_terminal_it_wants_to_be_told_yes(fettle, store):
    ident = store.ask()
    code, _, err = fettle("approve", ident)
    assert code == 2
    assert "--yes" in err
    assert store.get(ident).state == "waiting"
    assert fettle("approve", ident.upper(), "--yes")[0] == 0
    assert store.get(ident).state == "approved"


def test_a_denial_takes_its_reason_from_the_words(fettle, store):
    ident = store.ask()
    code, _, err = fettle("deny", ident, "keep", "the history", "--yes")
    assert code == 0
    assert "Denied. The run goes on" in err
    assert (store.get(ident).state, store.get(ident).reason) == ("denied", "keep the history")


def test_the_name_is_the_systems_whatever_the_variables_say(fettle, store):
    ident = store.ask()
    fettle("approve", ident, "--yes", USER="mara", LOGNAME="mara", USERNAME="mara")
    assert store.get(ident).decided_by == ME


def test_the_first_answer_counts(fettle, store):
    ident = store.ask()
    store.decide(ident, verdict="denied", by="mara", by_id=8, via="comment")
    before = store.get(ident)
    code, _, err = fettle("approve", ident, "--yes")
    assert code == 1
    assert "was denied by mara on" in err
    assert fettle("deny", ident, "--yes")[0] == 0  # it is so already
    assert store.get(ident) == before


def test_what_expired_stays_so(fettle, store):
    ident = store.ask(days=0.000001)
    time.sleep(0.1)
    code, _, err = fettle("approve", ident, "--yes")
    assert code == 1
    assert "expired on" in err
    assert store.get(ident).state == "expired"


def test_an_id_that_is_none_is_said_to_be(fettle, store):
    store.ask()
    code, _, err = fettle("approve", "no\x1b[2Jpe", "--yes")
    assert code == 1
    assert "no approval `no\\x1b[2jpe`" in err.lower()
    assert "fettle approvals" in err


def test_a_damaged_record_can_only_be_denied(fettle, store, tmp_path):
    ident = store.ask()
    with sqlite3.connect(tmp_path / "fettle.db") as connection:
        connection.execute("UPDATE approvals SET arguments = '{}'")
    connection.close()
    code, _, err = fettle("approve", ident, "--yes")
    assert code == 1
    assert "damaged" in err
    assert fettle("deny", ident, "--yes")[0] == 0
    assert store.get(ident).state == "denied"


def test_the_list(fettle, store):
    first, second, done = store.ask("c1"), store.ask("c2"), store.ask("c3")
    store.decide(done, verdict="denied", by="mara", by_id=8, via="comment")
    code, out, err = fettle("approvals")
    assert (code, err) == (0, "")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:2] for row in rows] == [[first, "ada/parse#3"], [second, "ada/parse#3"]]
    assert rows[0][2].startswith("bash: command: git reset --hard HEAD~1 rm \\u202ex timeout")
    assert rows[0][3].endswith("UTC")

    listed = json.loads(fettle("approvals", "--json")[1])
    assert [each["id"] for each in listed] == [first, second]
    assert listed[0]["asking"]["arguments"] == ASKED
    for ident in (first, second):
        store.decide(ident, verdict="approved", by="mara", by_id=8, via="comment")
    assert fettle("approvals") == (0, "", "Nothing waits for a decision.\n")


def test_runs_on_clones_wait_in_databases_of_their_own(fettle, store, tmp_path):
    store.ask("c1")
    (tmp_path / "clones" / "abc-1").mkdir(parents=True)
    clone = ApprovalStore(f"sqlite:///{tmp_path / 'clones' / 'abc-1' / 'run.db'}")
    ident = clone.ask("c2", run="abc-1")
    assert ident in fettle("approvals")[1]
    code, _, err = fettle("approve", ident, "--yes")
    assert code == 0
    assert "same `fettle resolve` once more" in err
    assert clone.get(ident).state == "approved"


def test_a_database_can_be_named(fettle, tmp_path):
    other = ApprovalStore(f"sqlite:///{tmp_path / 'other.db'}")
    ident = other.ask()
    assert fettle("approve", ident, "--yes", "--database", str(tmp_path / "other.db"))[0] == 0
    assert other.get(ident).state == "approved"
    code, _, err = fettle("approvals", "--database", str(tmp_path / "none.db"))
    assert (code, "is no file" in err) == (2, True)


def test_looking_makes_no_database(fettle, tmp_path):
    code, _, err = fettle("approvals")
    assert code == 2
    assert "FETTLE_DATA_DIR" in err
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_another_version_says_what_to_do(fettle, tmp_path):
    sqlite3.connect(tmp_path / "fettle.db").close()
    (tmp_path / "fettle.db").touch()
    code, _, err = fettle("approvals")
    assert code == 2
    assert "Starting the server" in err


def test_it_waits_for_the_server_to_finish_its_write(fettle, store, tmp_path):
    ident = store.ask()
    held, free = threading.Event(), threading.Event()

    def server():
        connection = sqlite3.connect(tmp_path / "fettle.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        held.set()
        free.wait(PATIENCE)
        time.sleep(0.5)
        connection.execute("COMMIT")
        connection.close()

    serving = threading.Thread(target=server)
    serving.start()
    assert held.wait(PATIENCE)
    free.set()
    assert fettle("approve", ident, "--yes")[0] == 0
    serving.join()
    assert store.get(ident).state == "approved"


def test_postgresql_as_well(fettle, postgresql):
    url = postgresql.database()
    other = ApprovalStore(url.replace("postgresql://", "postgresql+psycopg://"))
    ident = other.ask()
    assert ident in fettle("approvals", FETTLE_DATABASE_URL=url)[1]
    assert fettle("approve", ident, "--yes", FETTLE_DATABASE_URL=url)[0] == 0
    assert other.get(ident).state == "approved"


# --- while a run on a clone shows its progress ----------------------------------------------------


def test_a_run_that_waits_leaves_the_screen_to_the_question():
    console = Console(file=io.StringIO(), width=80, height=20, force_terminal=True)
    progress = TerminalProgress(console)
    progress.stage_started("implement/1", "Make the step")
    progress.report_parked("implement/1", ["k3f9x2"])
    assert progress._live is None
    progress.stage_started("implement/1", "Make the step")
    assert progress._live is not None
    progress.end()
    progress.report_parked("implement/1", ["k3f9x2"])
    assert progress._live is None
    assert console.file.getvalue().count("Make the step") >= 1


def test_in_a_log_it_says_what_it_waits_for():
    progress = TerminalProgress(Console(file=io.StringIO(), width=80))
    progress.stage_started("implement/1", "Make the step")
    progress.report_parked("implement/1", ["k3f9x2", "q8d2aa"])
    progress.stage_started("implement/1", "Make the step")
    progress.end()
    said = [line.partition(" s  ")[2] for line in progress.console.file.getvalue().splitlines()]
    assert said == ["Make the step", "  waiting for a decision: k3f9x2, q8d2aa", "  -> done"]
