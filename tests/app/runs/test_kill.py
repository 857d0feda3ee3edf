"""Kill -9 in the middle of load: what was acknowledged is on disk, and the next process has it."""

from __future__ import annotations

import random

import pytest

from app.store.database import Database
from app.store.deliveries import counts
from app.webhooks.inbox import Inbox
from tests.bench.webhooks.kill import kill_in_mid_load
from tests.bench.webhooks.processes import MADE_UP


@pytest.mark.parametrize("seed", range(3))
async def test_no_acknowledged_delivery_is_lost(tmp_path, seed):
    after = random.Random(seed).uniform(0.2, 0.8)
    killed = kill_in_mid_load(tmp_path, MADE_UP, after=after, connections=16)
    assert killed.acknowledged > 20
    assert killed.lost == 0
    assert killed.stored <= killed.acknowledged + 16  # those whose answer was still under way

    database = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    database.migrate()
    inbox = Inbox(database, limit=10)
    await inbox.open()
    states = await database.read(counts)
    database.close()
    assert inbox.depth == states.get("received", 0)
    assert set(states) <= {"received", "dispatched"}
