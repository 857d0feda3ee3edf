"""Kill the server in the middle of load, and compare what it acknowledged with what it stored."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.bench.webhooks.load import Deliveries, load
from tests.bench.webhooks.processes import SECRET, FettleServer


@dataclass
class KillResult:
    """How it ended."""

    acknowledged: int
    stored: int
    lost: int


def kill_in_mid_load(
    folder: Path, payload: dict, *, after: float, connections: int, core: int | None = None
) -> KillResult:
    """Send to a new server, kill -9 it after so many seconds, and look into its database."""
    server = FettleServer("dispatching", folder, core)
    deliveries = Deliveries(payload, event="issues", secret=SECRET, path="/webhook")
    timer = threading.Timer(after, server.kill)
    timer.start()
    result = load(
        server.port, deliveries, seconds=after + 10, connections=connections, keep_ids=True
    )
    timer.join()
    server.stop()
    stored = stored_ids(folder / "fettle.db")
    lost = set(result.acknowledged) - stored
    return KillResult(len(result.acknowledged), len(stored), len(lost))


def stored_ids(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {row[0] for row in connection.execute("SELECT id FROM deliveries")}
