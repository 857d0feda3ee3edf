"""Where the App is installed, and a repository that it was given there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownInstallation:
    """An installation of the App on one account. Times are unix seconds."""

    id: int
    account_id: int
    account: str
    """Login of the organisation or person, by now."""
    url: str
    """The page where its owners accept permissions."""
    permissions: Mapping[str, str]
    since: float
    suspended_at: float | None = None
    removed_at: float | None = None
    synced_at: float = 0.0


@dataclass(frozen=True)
class KnownRepository:
    """A repository that an installation grants."""

    id: int
    installation_id: int
    owner: str
    name: str
    default_branch: str
    private: bool = False
    archived: bool = False
    removed_at: float | None = None
    former: tuple[str, ...] = ()
    """What it was called before."""
    former_installations: tuple[int, ...] = ()
    """By which it was reached before: it belonged to others then."""

    @property
    def full_name(self) -> str:
        """Return the present `owner/name`."""
        return f"{self.owner}/{self.name}"
