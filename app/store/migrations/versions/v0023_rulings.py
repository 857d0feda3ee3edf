"""0023: what the gate said to each tool call, and which model gave an answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the columns; what was said before has none of it."""
    op.add_column("turns", sa.Column("rulings", sa.Text))
    op.add_column("turns", sa.Column("model", sa.String(120)))
