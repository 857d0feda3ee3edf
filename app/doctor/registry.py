"""What the store knows: whose the listed logins are, and which policies cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import make_url, select
from sqlalchemy.exc import DBAPIError

from agents.errors import ConfigError
from app.config.settings import Settings
from app.doctor.database import engine_for
from app.doctor.finding import Diagnosis, report_warning
from app.store.tables import owners, repositories

MOST = 20


@dataclass(frozen=True)
class RegistryState:
    """What is of use to the doctor; nothing where the database is not there yet."""

    owners: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[tuple[str, str], ...] = ()
    """Repositories with a policy that cannot be read, and why."""


def read_registry(settings: Settings) -> RegistryState:
    """Return the registry's state; another check tells of the database. Blocks for a moment."""
    url = make_url(settings.database)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        return RegistryState()
    wrong = (repositories.c.policy_problem.is_not(None), repositories.c.removed_at.is_(None))
    query = select(repositories.c.full_name, repositories.c.policy_problem).where(*wrong)
    with suppress(DBAPIError, ConfigError):
        engine = engine_for(url)
        try:
            with engine.connect() as connection:
                whose = {row.login: row.account_id for row in connection.execute(select(owners))}
                found = connection.execute(query.order_by(repositories.c.full_name).limit(MOST))
                return RegistryState(whose, tuple((row[0], row[1]) for row in found))
        finally:
            engine.dispose()
    return RegistryState()


def policy_findings(problems: tuple[tuple[str, str], ...]) -> Iterator[Diagnosis]:
    """Tell of each repository that cannot be worked on until its policy is put right."""
    for repository, problem in problems:
        remedy = "Whoever asks for work there is told the same; its people can put it right."
        yield report_warning(f"policy of {repository}", problem, remedy)
