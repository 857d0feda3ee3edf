"""What was queued by names is queued by ids after the upgrade, with its run: nothing overtakes."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from dbos._schemas.system_database import SystemSchema

from app.store import migrations
from app.store.migrations.versions.v0009_installations import ENGINE

NAMES = ("workflow_uuid", "status", "queue_partition_key")
RUN = {
    "kind": "resolve_issue",
    "request": "{}",
    "installation_id": 1,
    "number": 7,
    "asked_by": "mara",
    "state": "queued",
    "updated_at": 1.0,
}


def migrate(connection, revision):
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def insert(connection, table, *rows):
    shape = sa.table(table, *map(sa.column, rows[0]))
    connection.execute(sa.insert(shape), list(rows))


def run(ident, repository, repository_id, lane, created_at=1.0):
    named = {"id": ident, "repository": repository, "repository_id": repository_id}
    return {**RUN, **named, "lane": lane, "created_at": created_at}


@pytest.fixture
def connection(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/old.db")
    with engine.begin() as opened:
        migrate(opened, "0008")
        yield opened
    engine.dispose()


def make_queue(connection, **lanes):
    """Have the engine's table with these lanes; a lane of what has ended begins with a sign."""
    shape = sa.MetaData()
    sa.Table(ENGINE, shape, *(sa.Column(name, sa.Text) for name in NAMES))
    shape.create_all(connection)
    for ident, lane in lanes.items():
        status = "SUCCESS" if lane.startswith("-") else "ENQUEUED"
        insert(connection, ENGINE, dict(zip(NAMES, (ident, status, lane.lstrip("-")), strict=True)))


def lanes(connection):
    rows = connection.execute(sa.text(f"SELECT workflow_uuid, queue_partition_key FROM {ENGINE}"))
    return dict(rows.all())


def test_runs_and_commands_wait_in_the_lane_of_new_ones(connection):
    insert(
        connection,
        "runs",
        run("r1", "octo/lib", 99, "octo/lib#7"),
        run("r2", "octo/lib", 99, "octo/lib!npm!web!left-pad"),
        run("r3", "here", 0, "here#0"),
    )
    make_queue(
        connection,
        r1="octo/lib#7",
        r2="octo/lib!npm!web!left-pad",
        r3="here#0",
        c1="octo/lib#7/commands",
        c2="-octo/lib#7/commands",
        n1="installation 5",
        x1="octo/unknown#1",
    )
    migrate(connection, "head")
    assert lanes(connection) == {
        "r1": "99#7",
        "r2": "99!npm!web!left-pad",
        "r3": "here#0",
        "c1": "99#7/commands",
        "c2": "octo/lib#7/commands",
        "n1": "installation 5",
        "x1": "octo/unknown#1",
    }
    stored = connection.execute(sa.text("SELECT id, lane FROM runs ORDER BY id")).all()
    assert [lane for _, lane in stored] == ["99#7", "99!npm!web!left-pad", "here#0"]


def test_a_name_that_was_taken_over_is_that_of_each_run_for_itself(connection):
    old = run("r1", "octo/lib", 99, "octo/lib#7", 1.0)
    insert(connection, "runs", old, run("r2", "octo/lib", 100, "octo/lib#7", 2.0))
    make_queue(connection, r1="octo/lib#7", r2="octo/lib#7", c1="octo/lib#7/commands")
    migrate(connection, "head")
    assert lanes(connection) == {"r1": "99#7", "r2": "100#7", "c1": "100#7/commands"}


def test_without_an_engine_there_is_nothing_to_rename(connection):
    insert(connection, "runs", run("r1", "octo/lib", 99, "octo/lib#7"))
    migrate(connection, "head")


def test_the_engine_calls_its_columns_so():
    assert SystemSchema.workflow_status.name == ENGINE
    assert set(NAMES) <= set(SystemSchema.workflow_status.columns.keys())
