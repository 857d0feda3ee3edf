"""0009: installations, repositories and owners; lanes are named after the ids of repositories.

The engine queues by lane as well. What it has not ended goes over to the new names with its run:
else one more request about the same issue would not wait for it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

AT_ONCE = 500
UNENDED = ("ENQUEUED", "DELAYED", "PENDING")
ENGINE = "workflow_status"


def upgrade() -> None:
    """Make the tables, and rename the lanes."""
    op.create_table(
        "installations",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("account_id", sa.BigInteger, nullable=False),
        sa.Column("account", sa.String(100), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("permissions", sa.Text, nullable=False),
        sa.Column("since", sa.Float, nullable=False),
        sa.Column("suspended_at", sa.Float),
        sa.Column("removed_at", sa.Float),
        sa.Column("synced_at", sa.Float, nullable=False),
    )
    op.create_table(
        "repositories",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("installation_id", sa.BigInteger, nullable=False),
        sa.Column("full_name", sa.String(200), nullable=False),
        sa.Column("former", sa.Text, nullable=False),
        sa.Column("former_installations", sa.Text, nullable=False),
        sa.Column("default_branch", sa.String(255), nullable=False),
        sa.Column("private", sa.Boolean, nullable=False),
        sa.Column("archived", sa.Boolean, nullable=False),
        sa.Column("since", sa.Float, nullable=False),
        sa.Column("removed_at", sa.Float),
        sa.Column("labels_due", sa.Float),
        sa.Column("labels_at", sa.Float),
        sa.Column("labels_made", sa.Integer, nullable=False),
        sa.Column("policy_problem", sa.Text),
    )
    op.create_index("repositories_of_installation", "repositories", ["installation_id"])
    op.create_index("repositories_without_labels", "repositories", ["labels_due"])
    op.create_table(
        "owners",
        sa.Column("login", sa.String(100), primary_key=True),
        sa.Column("account_id", sa.BigInteger, nullable=False),
    )
    connection = op.get_bind()
    _rename_lanes(connection)
    _rename_queues(connection)


def _rename_lanes(connection: sa.Connection) -> None:
    """Put the repository's id in the place of its name; what is not on GitHub has none."""
    runs = sa.table("runs", *map(sa.column, ("id", "lane", "repository", "repository_id")))
    last = ""
    while True:
        query = sa.select(runs).where(runs.c.id > last, runs.c.repository_id != 0)
        found = connection.execute(query.order_by(runs.c.id).limit(AT_ONCE)).all()
        for row in found:
            if row.lane.startswith(row.repository):
                lane = f"{row.repository_id}{row.lane.removeprefix(row.repository)}"
                connection.execute(sa.update(runs).where(runs.c.id == row.id).values(lane=lane))
        if len(found) < AT_ONCE:
            return
        last = found[-1].id


def _rename_queues(connection: sa.Connection) -> None:
    """Do the same to what the engine has still to do, commands too, which are no runs."""
    schema = None if connection.dialect.name == "sqlite" else "dbos"
    if not sa.inspect(connection).has_table(ENGINE, schema=schema):
        return
    names = ("workflow_uuid", "status", "queue_partition_key")
    engine = sa.table(ENGINE, *map(sa.column, names), schema=schema)
    open_ones = (engine.c.status.in_(UNENDED), engine.c.queue_partition_key.is_not(None))
    for row in connection.execute(sa.select(engine).where(*open_ones)).all():
        repository, rest = _split_lane(row.queue_partition_key)
        ident = _ident_of(connection, repository, row.workflow_uuid) if rest else None
        if ident is not None:
            change = sa.update(engine).where(engine.c.workflow_uuid == row.workflow_uuid)
            connection.execute(change.values(queue_partition_key=f"{ident}{rest}"))


def _split_lane(lane: str) -> tuple[str, str]:
    """Return the repository's name, and the rest, which begins with a sign that no name has."""
    end = min((at for at in map(lane.find, "#!") if at > 0), default=len(lane))
    return lane[:end], lane[end:]


def _ident_of(connection: sa.Connection, repository: str, run_id: str) -> int | None:
    """Return the id of the run's repository, or of the one that was called so last; None: unknown.

    A command is no run, and a name may have been taken over.
    """
    names = ("id", "repository", "repository_id", "created_at")
    runs = sa.table("runs", *map(sa.column, names))
    named = (runs.c.repository == repository, runs.c.repository_id != 0)
    own = sa.case((runs.c.id == run_id, 0), else_=1)
    query = sa.select(runs.c.repository_id).where(*named)
    return connection.scalar(query.order_by(own, runs.c.created_at.desc()).limit(1))
