"""0017: runs that are put off for as long as something that they need is away."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add a column; no run is put off by what an older version knows."""
    op.add_column("runs", sa.Column("put_off_at", sa.Float))
