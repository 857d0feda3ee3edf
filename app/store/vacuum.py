"""Make an SQLite file smaller, and leave nothing deleted in the file or in its log."""

from __future__ import annotations

import time
from typing import Any

import structlog
from sqlalchemy import Connection, Engine

TRIES, PAUSE_SECONDS = 100, 0.1

log = structlog.get_logger(__name__)


def compact(engine: Engine, rewrite: bool) -> bool:
    """Compact the database; return whether nothing interrupted that."""
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        try:
            if rewrite:
                driver.execute("VACUUM").close()
            return _empty_log(driver)
        except Exception as error:  # noqa: BLE001 - which driver raises it is known at run time
            log.warning("the database file was not made smaller", reason=str(error))
            return False


def _empty_log(driver: Any) -> bool:
    """Move the whole log into the file and cut it; a reader that began before holds that up.

    It is looked for again and again: SQLite would wait for that reader with the writer's lock in
    its hand, and deliveries would be refused meanwhile.
    """
    (patience,) = driver.execute("PRAGMA busy_timeout").fetchone()
    driver.execute("PRAGMA busy_timeout=0").close()
    try:
        for _ in range(TRIES):
            (busy, _, _) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return True
            time.sleep(PAUSE_SECONDS)
        return False
    finally:
        driver.execute(f"PRAGMA busy_timeout={patience}").close()


def slack(connection: Connection) -> tuple[int, int]:
    """Return the unused bytes of the database file, and its size in bytes."""
    size, free, pages = (
        int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
        for name in ("page_size", "freelist_count", "page_count")
    )
    return free * size, pages * size
