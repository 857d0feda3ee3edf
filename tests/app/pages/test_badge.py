"""The badge: numbers of public repositories for everybody, and of others for nobody."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from sqlalchemy import insert, update

from agents.run import Outcome
from app.pages.people import PageAccess
from app.store.ended_pulls import EndedPulls
from app.store.runs import Runs
from app.store.tables import repositories
from handlers.notifications import PullClosed
from tests.app.cli.runs.runs_scene import answer
from tests.app.github.approvals.test_action_text import REQUEST
from tests.fakes.pull_requests import build_pull_request

ROW = {
    "id": REQUEST.repository.id,
    "installation_id": 1,
    "full_name": REQUEST.repository.full_name,
    "former": "[]",
    "former_installations": "[]",
    "default_branch": "main",
    "private": False,
    "archived": False,
    "since": 0.0,
    "labels_made": 0,
}
BADGE = f"/r/{REQUEST.repository.full_name}/badge.svg"


class NoPeople:
    """People may come in; nobody does."""


@pytest.fixture
async def known(pages):
    """A public repository with a pull request that was merged, one closed, and one open."""
    await pages.database.write(lambda c: c.execute(insert(repositories).values(ROW)))
    for number in (1, 2, 3):
        ident = f"000660d62102000{number}-aaaaaaaa"
        await pages.run(ident, answer())
        pull = build_pull_request(number, title="<script>")
        outcome = Outcome(kind="pull_request", text="Opened.", pull_request=pull)
        await Runs(pages.database).record_end(ident, outcome)
    for number, merged in ((1, True), (2, False)):
        closed = PullClosed(
            installation_id=1, repository=REQUEST.repository, number=number, merged=merged
        )
        await EndedPulls(pages.database).note(closed)
    return pages


async def test_everybody_sees_the_numbers_of_a_public_repository(known):
    async with known.serve(access=PageAccess(NoPeople())) as browser:
        name = REQUEST.repository.full_name.upper()
        got, text = await browser.get(f"/r/{name}/badge.svg")
    assert (got.status, got.content_type) == (200, "image/svg+xml")
    assert got.headers["Cache-Control"] == "max-age=300"
    assert got.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "default-src 'none'" in got.headers["Content-Security-Policy"]
    label = ET.fromstring(text).attrib["aria-label"]
    assert label == "fettle: 1 merged · 1 open · $0.75"


@pytest.mark.parametrize("change", [{"private": True}, {"removed_at": 1.0}])
async def test_nobody_sees_those_of_others(known, change):
    await known.database.write(lambda c: c.execute(update(repositories).values(**change)))
    async with known.serve(access=PageAccess(NoPeople())) as browser:
        assert (await browser.get(BADGE))[0].status == 404
        assert (await browser.get("/r/octo/unknown/badge.svg"))[0].status == 404
        assert (await browser.get("/r/octo/unknown/%3Cscript%3E/badge.svg"))[0].status != 200


async def test_where_pages_are_for_operators_badges_are_too(known):
    async with known.serve() as browser:
        got, _ = await browser.get(BADGE)
    assert (got.status, got.headers["Location"]) == (303, f"/login?next={BADGE}")
