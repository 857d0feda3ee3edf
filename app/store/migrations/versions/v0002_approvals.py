"""0002: approvals: what waits for a person, and what they decided."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    run = sa.ForeignKey("runs.id", ondelete="CASCADE")
    op.create_table(
        "approvals",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("run_id", sa.String(100), run, nullable=False),
        sa.Column("call_id", sa.String(120), nullable=False),
        sa.Column("session", sa.String(60), nullable=False),
        sa.Column("stage", sa.String(60), nullable=False),
        sa.Column("tool", sa.String(128), nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("rule", sa.String(120), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("binding", sa.String(64), nullable=False),
        sa.Column("branch", sa.String(250)),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("asked_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("comment_id", sa.BigInteger),
        sa.Column("decided_at", sa.Float),
        sa.Column("decided_by_id", sa.BigInteger),
        sa.Column("decided_by", sa.String(80)),
        sa.Column("decided_via", sa.String(12)),
        sa.Column("decision_reason", sa.Text),
        sa.Column("used_at", sa.Float),
    )
    op.create_index("approvals_by_run", "approvals", ["run_id"])
    op.create_index("approvals_waiting", "approvals", ["state", "expires_at"])
    op.create_index("approvals_decided", "approvals", ["decided_at"])
