"""0026: indexes for what is asked of all runs, and of one kind of privileged act."""

from __future__ import annotations

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the indexes."""
    op.create_index("runs_in_order", "runs", ["created_at"])
    op.create_index("runs_ended", "runs", ["updated_at", "ended_as"])
    op.create_index("runs_by_kind", "runs", ["kind", "ended_as"])
    op.create_index("audit_by_kind", "audit", ["kind", "number"])
