"""0013: flaky_tests: what each run saw fail now and then."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "flaky_tests",
        sa.Column("run_id", sa.String(100), primary_key=True),
        sa.Column("repository_id", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_index("flaky_tests_of_repository", "flaky_tests", ["repository_id", "at"])
