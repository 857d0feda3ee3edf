"""0020: how pull requests of Fettle ended; merged ones are watched."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the table; what was merged before is not watched."""
    op.create_table(
        "ended_pulls",
        sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("branch", sa.String(255), nullable=False),
        sa.Column("merged", sa.Boolean, nullable=False),
        sa.Column("commit", sa.String(64), nullable=False),
        sa.Column("ended_at", sa.Float, nullable=False),
        sa.Column("looks", sa.Integer, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("notice", sa.String(100), nullable=False),
    )
