"""The reaper: looks again and again, forgets once a day, and outlives its own faults."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import structlog

from app.runs.reaper import KEPT, Reaper
from tests.patience import PATIENCE


class Patient:
    """Both ports: counts what is asked of it, and raises what it is given first."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.looked = 0
        self.forgot = []

    async def end_lost(self, find_ended):
        assert await find_ended(["one"]) == {"one": "ERROR"}
        self.looked += 1
        if self.errors:
            raise self.errors.pop(0)

    async def find_ended(self, run_ids):
        return dict.fromkeys(run_ids, "ERROR")

    async def forget(self, age):
        self.forgot.append(age)
        return 3


async def kept_up(patient, looks):
    keeping = asyncio.create_task(Reaper(patient, patient, look_seconds=0.01).run())
    async with asyncio.timeout(PATIENCE):
        while patient.looked < looks:
            await asyncio.sleep(0.01)
    keeping.cancel()


async def test_it_looks_often_and_forgets_once_a_day():
    patient = Patient()
    with structlog.testing.capture_logs() as lines:
        await kept_up(patient, 5)
    assert patient.forgot == [KEPT] == [timedelta(days=30)]
    assert [line["number"] for line in lines] == [3]


async def test_a_fault_is_logged_and_the_next_look_taken():
    patient = Patient(RuntimeError("a slip"))
    with structlog.testing.capture_logs() as lines:
        await kept_up(patient, 2)
    assert lines[0]["log_level"] == "error"
    assert patient.forgot == [KEPT]
