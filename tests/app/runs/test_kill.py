"""Kill -9 in the middle of load: what was acknowledged is on disk, and the next process has it."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.store.database import Database
from app.store.deliveries import counts
from app.webhooks.inbox import Inbox

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return SimpleNamespace(
        kill_in_mid_load=importlib.import_module("webhooks_kill").kill_in_mid_load,
        payload=importlib.import_module("webhooks_processes").MADE_UP,
    )


@pytest.mark.parametrize("seed", range(3))
async def test_no_acknowledged_delivery_is_lost(bench, tmp_path, seed):
    after = random.Random(seed).uniform(0.2, 0.8)
    killed = bench.kill_in_mid_load(tmp_path, bench.payload, after=after, connections=16)
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
