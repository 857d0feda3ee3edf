"""0014: checkpoints: what a run made in git, so that it goes on wherever its database is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the table; runs from before put there what they have made when they next go on."""
    op.create_table(
        "checkpoints",
        sa.Column(
            "run_id",
            sa.String(100),
            sa.ForeignKey("runs.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("refs", sa.Text, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("pack", sa.LargeBinary, nullable=False),
    )
