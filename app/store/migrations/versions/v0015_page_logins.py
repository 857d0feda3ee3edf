"""0015: who is logged in to the pages, and codes for logging in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the table; nobody is logged in."""
    op.create_table(
        "page_logins",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
