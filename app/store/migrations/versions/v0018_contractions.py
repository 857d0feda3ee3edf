"""0018: contractions: which migrations took something away, so that older versions know."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the table; a migration that drops or renames anything puts its own revision there."""
    op.create_table("contractions", sa.Column("revision", sa.String(32), primary_key=True))
