"""Numbers for Prometheus that come from what is stored, as somebody reads them."""

from __future__ import annotations

import re
import time

from sqlalchemy import insert

from app.store.tables import missed, remediations, runs, sweeps, turns, workers

RUN = {
    "lane": "l",
    "kind": "resolve_issue",
    "request": "{}",
    "installation_id": 1,
    "repository_id": 9,
    "repository": "o/r",
    "number": 1,
    "asked_by": "x",
    "created_at": 1.0,
}
TURN = {
    "run_id": "a",
    "session": "s/1",
    "stage": "s",
    "kind": "answer",
    "content": "[]",
    "usage": "{}",
    "seconds": 1.0,
}
MISSED = {"guid": "g", "delivery_id": 1, "event": "issues", "action": "labeled", "asks": 1}
REMEDIATION = {
    "run_id": "b",
    "lane": "l",
    "repository_id": 9,
    "number": 31,
    "base": "main",
    "state": "merged",
    "declined": False,
    "found": "{}",
    "open_alerts": "[]",
    "commit": "",
    "ended_at": 1.0,
    "looked_at": 1.0,
}
SWEEP = {"name": "labels", "holder": "one", "held_until": 0, "mark": 0, "top": 0, "cursor": ""}


def rows(now):
    yield runs, RUN | {"id": "a", "state": "parked", "updated_at": now - 50}
    yield runs, RUN | {"id": "b", "state": "done", "updated_at": now, "ended_as": "pull_request"}
    yield runs, RUN | {"id": "c", "state": "running", "updated_at": now - 900, "holder": "w1"}
    yield runs, RUN | {"id": "d", "state": "queued", "updated_at": now, "queued_at": now - 600}
    yield workers, {"name": "w1", "session": "s", "host": "h", "started": 1.0, "seen": 88.0}
    yield workers, {"name": "w2", "session": "s", "host": "h", "started": 1.0, "seen": 0.0}
    yield turns, TURN | {"number": 0, "cost_usd": 1.25, "created_at": now}
    yield turns, TURN | {"number": 1, "cost_usd": 9.0, "created_at": 5.0}
    yield missed, MISSED | {"state": "gone", "delivered_at": 1.0, "next_at": 1.0}
    yield remediations, REMEDIATION
    yield sweeps, SWEEP | {"done_at": 77.0}


async def test_they_say_what_is_stored(serve):
    async with serve() as served:
        for table, row in rows(time.time()):
            statement = insert(table).values(row)
            await served.database.write(lambda c, statement=statement: c.execute(statement))
        served.metrics.count_requests_left(lambda: {4: 4321})
        _, text = await served.get("/metrics")
    for line in (
        'fettle_runs{state="parked"} 1.0',
        'fettle_runs_ended{kind="resolve_issue",outcome="pull_request"} 1.0',
        'fettle_runs_ended{kind="resolve_issue",outcome="failed"} 0.0',
        'fettle_runs_ended{kind="remediate_alert",outcome="failed"} 0.0',
        'fettle_remediations{state="merged"} 1.0',
        'fettle_remediations{state="open"} 0.0',
        "fettle_approvals_waiting 0.0",
        "fettle_spent_today_usd 1.25",
        'fettle_missed_deliveries{state="gone"} 1.0',
        'fettle_missed_deliveries{state="failed"} 0.0',
        'fettle_sweep_done_timestamp_seconds{sweep="labels"} 77.0',
        'fettle_github_requests_left{installation="4"} 4321.0',
        'fettle_worker_seen_timestamp_seconds{worker="w1"} 88.0',
        'fettle_worker_runs{worker="w1"} 1.0',
        "process_resident_memory_bytes ",
        'fettle_acknowledge_duration_seconds_bucket{le="+Inf"} 0.0',
    ):
        assert line in text, text
    assert 'worker="w2"' not in text, "it has stopped in good order"
    for state, least in (("queued", 599), ("running", 899), ("parked", 49)):
        oldest = re.search(
            rf'^fettle_runs_oldest_seconds{{state="{state}"}} (\S+)', text, re.MULTILINE
        )
        assert least < float(oldest[1]) < least + 41, state
    assert 49 < float(re.search(r"^fettle_parked_oldest_seconds (\S+)", text, re.MULTILINE)[1]) < 90
