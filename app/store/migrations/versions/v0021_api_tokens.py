"""0021: tokens with which programs read what the pages show."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "api_tokens",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(60), nullable=False, unique=True),
        sa.Column("repositories", sa.Text, nullable=False),
        sa.Column("rights", sa.Text, nullable=False),
        sa.Column("made_by", sa.String(80), nullable=False),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("used_at", sa.Float),
    )
