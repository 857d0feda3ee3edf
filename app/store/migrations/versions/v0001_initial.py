"""0001: the inbox, the runs and the journal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first three tables."""
    _deliveries()
    _runs()
    _turns()


def _deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("run_id", sa.String(100), nullable=False),
        sa.Column("event", sa.String(60), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("installation_id", sa.BigInteger),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("note", sa.Text),
        sa.Column("received_at", sa.Float, nullable=False),
    )
    op.create_index("deliveries_waiting", "deliveries", ["state", "run_id"])


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(100), primary_key=True),
        sa.Column("lane", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("installation_id", sa.BigInteger, nullable=False),
        sa.Column("repository_id", sa.BigInteger, nullable=False),
        sa.Column("repository", sa.String(200), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("asked_by", sa.String(60), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("stage", sa.String(60)),
        sa.Column("outcome", sa.Text),
        sa.Column("comment_id", sa.BigInteger),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
    )
    op.create_index("runs_by_lane", "runs", ["lane", "created_at"])
    op.create_index("runs_by_state", "runs", ["state"])


def _turns() -> None:
    run = sa.ForeignKey("runs.id", ondelete="CASCADE")
    op.create_table(
        "turns",
        sa.Column("run_id", sa.String(100), run, primary_key=True),
        sa.Column("session", sa.String(60), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("stage", sa.String(60), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("stop_reason", sa.String(40)),
        sa.Column("usage", sa.Text, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("tree", sa.String(64)),
        sa.Column("created_at", sa.Float, nullable=False),
    )
