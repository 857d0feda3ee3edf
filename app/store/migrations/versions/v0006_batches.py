"""0006: batches: what runs have dealt with on pull requests."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table."""
    run = sa.ForeignKey("runs.id", ondelete="CASCADE")
    op.create_table(
        "batches",
        sa.Column("run_id", sa.String(100), run, primary_key=True),
        sa.Column("repository_id", sa.BigInteger, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("pushed", sa.String(64), nullable=False),
        sa.Column("reviews", sa.Text, nullable=False),
        sa.Column("newest_remark", sa.BigInteger, nullable=False),
        sa.Column("kept_back", sa.Boolean, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_index("batches_of_pull", "batches", ["repository_id", "number", "at"])
