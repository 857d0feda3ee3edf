"""0007: sweeps and missed: how far GitHub's log of deliveries was read, and what never arrived."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "sweeps",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("holder", sa.String(200), nullable=False),
        sa.Column("held_until", sa.Float, nullable=False),
        sa.Column("mark", sa.Float, nullable=False),
        sa.Column("top", sa.Float, nullable=False),
        sa.Column("cursor", sa.Text, nullable=False),
    )
    op.create_table(
        "missed",
        sa.Column("guid", sa.String(80), primary_key=True),
        sa.Column("delivery_id", sa.BigInteger, nullable=False),
        sa.Column("event", sa.String(60), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("repository_id", sa.BigInteger),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("delivered_at", sa.Float, nullable=False),
        sa.Column("asks", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Float, nullable=False),
    )
    op.create_index("missed_due", "missed", ["state", "next_at"])
