"""The database: is it there, is it of this version, may it be written to. Nothing is changed."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import DBAPIError

from agents.errors import ConfigError
from app.config.settings import Settings
from app.doctor.finding import Diagnosis, ok, report_failure, report_warning
from app.store.database import sqlite_module
from app.store.migrations import revisions

CONNECT_SECONDS = 5
ABOUT = "database"
_BUSY = ("locked", "could not obtain lock")
"""What SQLite and PostgreSQL say while somebody else is writing."""


def database_finding(settings: Settings) -> Diagnosis:
    """Tell what there is to tell; blocks for some seconds at most."""
    url = make_url(settings.database)
    file = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
    if file is not None and not file.is_file():
        return ok(ABOUT, f"`{file}` is not there yet: `fettle serve` makes it.")
    name = f"`{file}`" if file else f"PostgreSQL at {url.host or 'this machine'}"
    try:
        engine = engine_for(url)
    except ConfigError as error:
        return report_failure(ABOUT, str(error))
    try:
        with engine.connect() as connection:
            return _looked_at(connection, name)
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        return report_failure(ABOUT, f"{name} does not do its part: {reason}.", _remedy(file))
    finally:
        engine.dispose()


def engine_for(url: URL) -> Engine:
    """Return what connects to it, soon or not at all. Raises ConfigError."""
    if url.get_backend_name() == "sqlite":
        options = {"timeout": CONNECT_SECONDS, "isolation_level": None}
        return create_engine(url, module=sqlite_module(), connect_args=options)
    options = {"connect_timeout": CONNECT_SECONDS}
    return create_engine(url, connect_args=options, hide_parameters=True)


def _looked_at(connection: Connection, name: str) -> Diagnosis:
    present, ours = revisions(connection)
    if present is None:
        said = f"{name} has no tables yet: `fettle serve` makes them."
        return ok(ABOUT, said) if _may_make(connection) else _read_only(name)
    if present not in ours:
        return report_failure(
            ABOUT,
            f"{name} is of a newer Fettle (its tables are at {present}).",
            "Start that version; or restore the backup from before the upgrade.",
        )
    if not _may_write(connection):
        return _read_only(name)
    if present != ours[0]:
        return report_warning(
            ABOUT,
            f"{name} is of an older Fettle ({present}, this one has {ours[0]}).",
            "Back it up; `fettle serve` brings it up to date, and there is no way back.",
        )
    return ok(ABOUT, f"{name}: reachable, up to date, writable")


def _may_write(connection: Connection) -> bool:
    """Do as whoever is about to write, and take it back."""
    try:
        if connection.dialect.name == "sqlite":
            connection.rollback()
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            # A file that is read-only lets that pass, and no page is written before a commit.
            connection.exec_driver_sql("CREATE TABLE fettle_doctor (probe INTEGER)")
        elif connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
            return False
        else:
            connection.exec_driver_sql("LOCK TABLE alembic_version IN ROW EXCLUSIVE MODE NOWAIT")
    except DBAPIError as error:
        return any(word in str(error.orig) for word in _BUSY)
    finally:
        connection.rollback()
    return True


def _may_make(connection: Connection) -> bool:
    if connection.dialect.name == "sqlite":
        return _may_write(connection)
    asked = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
    return bool(connection.exec_driver_sql(asked).scalar())


def _read_only(name: str) -> Diagnosis:
    return report_failure(
        ABOUT,
        f"This user may not write to {name}.",
        "Run the doctor as the user that runs Fettle; the database has to belong to its user.",
    )


def _remedy(file: Path | None) -> str:
    if file:
        return f"Let the user that runs Fettle own `{file}` and its folder; or restore a backup."
    return "Check FETTLE_DATABASE_URL: host, port, user, password, name; and that it is running."
