"""0003: how often a run was started without getting any further."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column."""
    starts = sa.Column("starts", sa.Integer, nullable=False, server_default="0")
    op.add_column("runs", starts)
