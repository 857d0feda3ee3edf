"""GitHub's own descriptions judge what Fettle asks of it when people answer approvals."""

from __future__ import annotations

import pytest

from app.store.database import Database
from tests.app.commands.answering_scene import open_pulled
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures


@pytest.fixture
def database(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    made.migrate()
    yield made
    made.close()


async def test_what_is_asked_and_sent_fits_githubs_description(
    scene, database, aiohttp_server, rest_referee, webhook_referee
):
    office = await open_pulled(scene, database, aiohttp_server)
    before = len(scene.server.requests)
    first, second = await office.ask("c1"), await office.ask("c2")
    await office.say("bob", f"/bot approve {first}")
    await office.say("mallory", f"/bot approve {second}")
    [check] = [c for c in scene.repository.check_runs.values() if c.external_id == second]
    await scene.server.press_button(scene.repository, check, "Deny", scene.people["bob"])

    assert [await office.state(each) for each in (first, second)] == ["approved", "denied"]
    asked = scene.server.requests[before:]
    assert {("POST", "check-runs"), ("PATCH", "check-runs")} <= {
        (each.method, part) for each in asked for part in each.path.split("/")
    }
    assert rest_referee.problems(asked) == []
    assert webhook_referee.problems(scene.server.webhooks.log) == []
