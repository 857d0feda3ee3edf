"""0014: checkpoints and workers: a run goes on wherever its database is, whoever is lost."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add tables; runs from before put there what they have made when they next go on."""
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
    op.create_table(
        "workers",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("session", sa.String(32), nullable=False),
        sa.Column("host", sa.String(200), nullable=False),
        sa.Column("started", sa.Float, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
    )
    op.add_column("runs", sa.Column("holder", sa.String(200)))
    op.add_column("runs", sa.Column("moved_at", sa.Float))
