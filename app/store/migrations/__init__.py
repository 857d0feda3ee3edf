"""How the tables came to be what they are: one file per change, applied in order at start."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from agents.errors import ConfigError

# ruff: noqa: PLC0415 - Alembic takes 10 MiB, and most starts find the tables as they should be

ADVISORY_LOCK = 7730
"""Any number will do, as long as it stays: processes that start together take turns on it."""


def upgrade(connection: Connection) -> None:
    """Apply what is missing, in the transaction that the connection is in.

    Raises ConfigError for tables that a newer Fettle has made: there is no way back for them.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")
    present, ours = revisions(connection)
    if present is not None and present not in ours:
        raise ConfigError(
            f"The database is of a newer Fettle (its tables are at {present}, this one knows "
            f"{ours[0]}). Start that version; or restore the backup from before the upgrade."
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


def revisions(connection: Connection) -> tuple[str | None, tuple[str, ...]]:
    """Return the revision that the tables are at, if any, and all that we know, newest first."""
    files = (Path(__file__).parent / "versions").glob("v*.py")  # v0001_initial.py holds 0001
    ours = tuple(sorted((each.name[1:5] for each in files), reverse=True))
    if not inspect(connection).has_table("alembic_version"):
        return None, ours
    return connection.scalar(text("SELECT version_num FROM alembic_version")), ours
