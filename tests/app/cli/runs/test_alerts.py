"""`fettle runs show` says what became of the alerts that a run was about."""

from __future__ import annotations

import asyncio
import json

import pytest

from agents.run import Outcome
from app.cli import main
from app.store.alerts.remediations import Remediations
from app.store.database import Database
from app.store.runs.runs import Runs
from tests.app.store.alerts.test_runs import request

RUN = "000660d62102a15a-bfb0ec9f"


async def loop_closed(url, *, fixed):
    database = Database(url)
    database.migrate()
    runs, remediations = Runs(database), Remediations(database)
    await runs.create(RUN, request(7))
    kept = {"cancelled": False, "commit": "c" * 40, "found": {7: "m", 8: "n"}}
    await remediations.remember(RUN, request(7), number=31, **kept)
    await runs.record_end(RUN, Outcome(kind="comment", text="Done."))
    await remediations.pull_closed(2**40, 31, merged=True)
    await remediations.alerts_closed(2**40, fixed)
    database.close()


@pytest.mark.parametrize(
    ("fixed", "ends"),
    [
        ({7}, ("merged", "merged, and GitHub is still to say that these are fixed: [8]")),
        ({7, 8}, ("fixed", "merged, and GitHub says that all of them are closed")),
    ],
)
def test_the_end_of_the_loop_is_shown(tmp_path, monkeypatch, capsys, fixed, ends):
    asyncio.run(loop_closed(f"sqlite:///{tmp_path / 'fettle.db'}", fixed=fixed))
    monkeypatch.setenv("FETTLE_DATA_DIR", str(tmp_path))
    for more in ([], ["--json"]):
        monkeypatch.setattr("sys.argv", ["fettle", "runs", "show", RUN, *more])
        with pytest.raises(SystemExit):
            main()
    text, _, record = capsys.readouterr().out.partition("{\n")
    state, said = ends
    assert said in text
    assert json.loads("{\n" + record)["alerts"]["state"] == state
