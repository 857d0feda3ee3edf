"""The pictures of the pages for the README: taken here, and never older than what they show.

What the pages said and looked like when the pictures were taken is kept as a hash beside them.
Where it differs, `make pictures` takes them anew.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest
from sqlalchemy import update

from agents.ports import Ruling
from agents.run import Outcome
from app.store.runs import Runs
from app.store.tables import approvals, runs, turns
from tests.app.cli.runs.runs_scene import answer, call, prompt, results
from tests.app.pages.browser.conftest import logged_in_tab

pytestmark = pytest.mark.asyncio(loop_scope="package")
ROOT = Path(__file__).parents[4]
PICTURES = {"now": "/", "run": "/runs/0001-parse"}
HASH = ROOT / "deploy" / "pages.sha256"
WRITES = "FETTLE_PICTURES"
"""The variable with which they are kept."""
BEGAN = 1_790_000_000.0
SIZE = {"width": 1_100, "height": 620}
_RANDOM = re.compile(
    r'name="(csrf|once)" value="[0-9a-f]+"|\?after=[0-9.-]+|/approvals/\w+|>\w{6}<'
    r"|Fettle [\w.+-]+ ·"
)
LOOKED = (
    prompt("Why does `parse_size('1.5 GB')` return 1?", stage="triage_issue/1"),
    answer(call(command="grep -rn parse_size src"), stage="triage_issue/1"),
)
WORKED = (
    prompt("Make step 1 of 2."),
    answer(call("edit_file", path="src/parse.py")),
    results("written", ruling=Ruling("allow", "default")),
    answer(call(command="pytest -q tests/test_parse.py")),
    results("14 passed in 0.31s", ruling=Ruling("allow", "default")),
)


async def store_scene(pages):
    """Store a morning's work, at moments that are the same each time."""
    await pages.run("0001-parse", title="parse_size() drops the fraction")
    await pages.work("0001-parse", "triage_issue/1", LOOKED)
    await pages.work("0001-parse", "implement/1", WORKED)
    await pages.run("0002-cache", *WORKED, state="parked", number=8, title="Cache grows for ever")
    asked = {"command": "pip install cachetools==8.0.1"}
    await pages.ask("0002-cache", arguments=asked, reason="It is not in the lock file.")
    await pages.run("0003-docs", *WORKED, number=5, title="Say how to set the time zone")
    text = "Opened pull request #6: Say how to set the time zone."
    outcome = Outcome(kind="pull_request", text=text, url="https://github.com/ada/parse/pull/6")
    await Runs(pages.database).record_end("0003-docs", outcome)

    def set_times(connection):
        connection.execute(update(runs).values(created_at=BEGAN, updated_at=BEGAN + 300))
        moment = BEGAN + 20 + 15 * turns.c.number
        connection.execute(update(turns).values(created_at=moment))
        later = update(turns).where(turns.c.session == "implement/1")
        connection.execute(later.values(created_at=moment + 60))
        waits = {"asked_at": BEGAN, "expires_at": BEGAN + 9e8}
        connection.execute(update(approvals).values(**waits))

    await pages.database.write(set_times)


async def test_the_pictures_show_the_pages_as_they_are(pages, chromium, tmp_path):
    await store_scene(pages)
    digest, folder = hashlib.sha256(), ROOT / "deploy" if os.environ.get(WRITES) else tmp_path
    async with (
        pages.serve() as served,
        logged_in_tab(chromium, pages, served, viewport=SIZE, color_scheme="light") as tab,
    ):
        for name, path in PICTURES.items():
            await tab.goto(path)
            digest.update(_RANDOM.sub("", await tab.content()).encode())
            await tab.screenshot(path=folder / f"page-{name}.png")
        style = await tab.request.get("/static/style.css")
        digest.update(await style.body())
    if os.environ.get(WRITES):
        HASH.write_text(f"{digest.hexdigest()}\n")

    assert all((folder / f"page-{name}.png").stat().st_size > 10_000 for name in PICTURES)
    assert digest.hexdigest() == HASH.read_text().strip(), "`make pictures` takes them anew"
