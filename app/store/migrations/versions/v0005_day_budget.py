"""0005: indexes for what a repository's runs have spent in a day."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make them."""
    op.create_index("runs_by_repository", "runs", ["repository_id", "state", "updated_at"])
    op.create_index("turns_spent", "turns", ["run_id", "created_at", "cost_usd"])
