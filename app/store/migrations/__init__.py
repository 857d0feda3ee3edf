"""How the tables came to be what they are: one file per change, applied in order at start.

Tables expand first and contract one version later: a new column may be absent or has a default, and
nothing that the version before uses goes. So workers of two versions work side by side, and the
older one can come back. A migration that contracts puts its revision into the table `contractions`.
"""

from __future__ import annotations

from pathlib import Path

import structlog
from sqlalchemy import Connection, inspect, text

from agents.errors import ConfigError

log = structlog.get_logger()

# ruff: noqa: PLC0415 - Alembic takes 10 MiB, and most starts find the tables as they should be

ADVISORY_LOCK = 7730
"""Any number will do, as long as it stays: processes that start together take turns on it."""


def upgrade(connection: Connection) -> None:
    """Apply what is missing, in the transaction that the connection is in.

    Tables of a newer Fettle stay as they are. Raises ConfigError where they lack something that
    this one needs.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")
    present, ours = revisions(connection)
    if present is not None and present not in ours:
        if _find_contractions(connection) <= set(ours):
            log.warning("tables of a newer version", tables=present, known=ours[0])
            return
        raise ConfigError(
            f"The database is of a newer Fettle (its tables are at {present}, this one knows "
            f"{ours[0]}), and lacks something that this one needs. Start that version; or restore "
            "the backup from before the upgrade."
        )
    if present == ours[0]:
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _find_contractions(connection: Connection) -> set[str]:
    """Return the migrations that took something away."""
    return set(connection.scalars(text("SELECT revision FROM contractions")))


def revisions(connection: Connection) -> tuple[str | None, tuple[str, ...]]:
    """Return the revision that the tables are at, if any, and all that we know, newest first."""
    files = (Path(__file__).parent / "versions").glob("v*.py")  # v0001_initial.py holds 0001
    ours = tuple(sorted((each.name[1:5] for each in files), reverse=True))
    if not inspect(connection).has_table("alembic_version"):
        return None, ours
    return connection.scalar(text("SELECT version_num FROM alembic_version")), ours
