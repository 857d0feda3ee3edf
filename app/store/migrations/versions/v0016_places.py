"""0016: places: queued runs are taken by fairness, and one that waits for people has no worker."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add columns; what waits without saying for what is looked at once."""
    unasked = sa.Column("unasked", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("runs", unasked)
    op.add_column("runs", sa.Column("queued_at", sa.Float))
    op.add_column("runs", sa.Column("admitted_at", sa.Float))
    op.add_column("runs", sa.Column("told_place", sa.Integer))
    op.add_column("runs", sa.Column("told_at", sa.Float))
    op.add_column("runs", sa.Column("waits", sa.String(12)))
    op.add_column("runs", sa.Column("wake_at", sa.Float))
    op.add_column("runs", sa.Column("heard", sa.Integer))
