"""0004: steers: what people want of a run while it is under way."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table."""
    run = sa.ForeignKey("runs.id", ondelete="CASCADE")
    op.create_table(
        "steers",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.String(100), run, nullable=False),
        sa.Column("key", sa.String(120), nullable=False, unique=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("usd", sa.Float, nullable=False),
        sa.Column("by_id", sa.BigInteger),
        sa.Column("by", sa.String(80), nullable=False),
        sa.Column("role", sa.String(60), nullable=False),
        sa.Column("via", sa.String(12), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_index("steers_by_run", "steers", ["run_id", "number"])
    op.create_index("steers_recent", "steers", ["at"])
