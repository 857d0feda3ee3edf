"""Runs are moved between the engine's queues only while nobody has them."""

import pytest
from sqlalchemy import create_engine, text

from app.store.engine_tables import put_by, take_up

ME, OTHER = "worker-1", "worker-2"
MINE, ALL, PARKED = "runs/worker-1", "runs", "parked"


@pytest.fixture
def engine(sqlite_url):
    made = create_engine(sqlite_url)
    yield made
    made.dispose()


def insert(engine, status, executor, queue):
    row = {"id": "run", "status": status, "executor": executor, "queue": queue}
    into = "INSERT INTO workflow_status (workflow_uuid, status, executor_id, queue_name, name)"
    with engine.begin() as connection:
        connection.execute(text(f"{into} VALUES (:id, :status, :executor, :queue, 'run')"), row)


def move(engine, change, **options):
    with engine.begin() as connection:
        change(connection, "run", executor=ME, **options)
        return connection.execute(text("SELECT status, queue_name FROM workflow_status")).one()


@pytest.mark.parametrize(
    ("row", "lost", "ends"),
    [
        (
            ("ENQUEUED", ME, ALL),
            False,
            ("ENQUEUED", MINE),
        ),  # put back at a start, and not yet taken
        (("ENQUEUED", OTHER, PARKED), False, ("ENQUEUED", MINE)),
        (("PENDING", OTHER, ALL), False, ("ENQUEUED", MINE)),  # that worker is gone
        (
            ("PENDING", ME, ALL),
            False,
            ("PENDING", ALL),
        ),  # the thread of that queue took it just now
        (("PENDING", ME, MINE), False, ("PENDING", MINE)),
        (("PENDING", ME, MINE), True, ("ENQUEUED", MINE)),
        (("SUCCESS", ME, ALL), True, ("SUCCESS", ALL)),
        (("ERROR", OTHER, ALL), True, ("ERROR", ALL)),
    ],
)
def test_a_run_is_taken_up_only_where_nobody_has_it(engine, row, lost, ends):
    insert(engine, *row)
    assert tuple(move(engine, take_up, queue=MINE, lost=lost)) == ends


@pytest.mark.parametrize(
    ("status", "executor", "ends"),
    [
        ("PENDING", ME, ("ENQUEUED", PARKED)),
        ("PENDING", OTHER, ("PENDING", ALL)),
        ("SUCCESS", ME, ("SUCCESS", ALL)),
    ],
)
def test_a_run_that_waits_is_put_by_unless_somebody_has_it_again(engine, status, executor, ends):
    insert(engine, status, executor, ALL)
    assert tuple(move(engine, put_by, queue=PARKED)) == ends
