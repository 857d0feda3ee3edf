"""Installations and repositories as the store knows them, and how its rows are read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row

from app.records.installations import KnownInstallation, KnownRepository

MOST_FORMER = 20
"""Former names of one repository that are remembered."""


@dataclass
class Changes:
    """What was not known yet of some repositories: their ids."""

    new: list[int] = field(default_factory=list)
    """Also those that are back, or have come from another installation."""
    renamed: list[int] = field(default_factory=list)
    archived: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


def with_former(row: Row[Any], now: KnownRepository) -> dict[str, str]:
    """Return what the row remembers of before, once it holds what is now."""
    return {
        "former": listed_but(row.former, row.full_name, now.full_name),
        "former_installations": listed_but(
            row.former_installations, row.installation_id, now.installation_id
        ),
    }


def listed_but(former: str, before: object, now: object) -> str:
    """Return the list with what was, and without what is: it may have come back."""
    known = [each for each in (*json.loads(former), before) if each != now]
    return json.dumps(list(dict.fromkeys(known))[-MOST_FORMER:])


def installation_of(row: Row[Any]) -> KnownInstallation:
    """Return the installation of a row."""
    values = {**row._mapping, "permissions": json.loads(row.permissions)}  # noqa: SLF001 - its public name
    return KnownInstallation(**values)


def repository_of(row: Row[Any]) -> KnownRepository:
    """Return the repository of a row."""
    owner, _, name = row.full_name.partition("/")
    return KnownRepository(
        id=row.id,
        installation_id=row.installation_id,
        owner=owner,
        name=name,
        default_branch=row.default_branch,
        private=row.private,
        archived=row.archived,
        removed_at=row.removed_at,
        former=tuple(json.loads(row.former)),
        former_installations=tuple(json.loads(row.former_installations)),
    )
