"""What is known of an installation before a token is made, and repositories' present names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agents.requests import Repository
from app.github.transport.errors import InstallationGone, NotPermitted
from handlers.access.permissions import list_lacking

READING = "read"


class OwnerNotAllowed(InstallationGone):
    """The operator of Fettle does not have it work for this account."""


@dataclass(frozen=True)
class Permit:
    """Which installation to ask for a token, and what its owners have granted."""

    installation_id: int
    account: str = ""
    url: str = ""
    """The page where they accept permissions."""
    permissions: Mapping[str, str] | None = None
    """None: nobody knows yet."""
    doubt: str = ""
    """Why GitHub will hardly give one, in words for people; empty: there is no reason."""

    def narrowed(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return what may be asked for of what is wanted: one thing less, and GitHub gives none.

        Raises NotPermitted when nothing is left of what it is wanted for.
        """
        if self.permissions is None:
            return dict(wanted)
        held = {name: level for name, level in wanted.items() if not self._lacks(name, level)}
        writes = {name for name, level in wanted.items() if level != READING}
        if held.keys() & (writes or wanted.keys()):
            return held
        missing = ", ".join(f"`{each}`" for each in list_lacking(self.permissions, wanted))
        raise NotPermitted(
            f"The App may not do this on `{self.account}`: {missing} was not granted. An owner can"
            f" accept it at {self.url}"
        )

    def _lacks(self, name: str, level: str) -> bool:
        return bool(list_lacking(self.permissions or {}, {name: level}))


class ClientForRepository(Protocol):
    """A client for one repository."""

    async def getitem(self, url: str) -> Any:
        """Return one object."""
        ...


class InstallationLookup(Protocol):
    """Knows where the App is installed."""

    async def permit(self, installation_id: int, repository_ids: Sequence[int]) -> Permit:
        """Return what a token for these repositories is made with.

        Raises InstallationGone where none is to be made: GitHub is not even asked for one.
        """
        ...

    async def full_name(self, repository: Repository) -> str:
        """Return what the repository is called by now."""
        ...

    async def called(self, repository_id: int, owner: str, name: str) -> tuple[str, str]:
        """Return owner and name of the repository by now, if these are what it was called once.

        A name that was given up leads to whatever has taken it since.
        """
        ...

    async def is_public(self, repository_id: int) -> bool:
        """Tell whether everybody may see the repository, as far as is known."""
        ...

    async def look(
        self, client: ClientForRepository, installation_id: int, repository: Repository
    ) -> None:
        """Look how the one repository of this client is by now: GitHub may not have told."""
        ...


class UncachedInstallations:
    """Knows nothing, and lets GitHub decide."""

    async def permit(self, installation_id: int, repository_ids: Sequence[int]) -> Permit:  # noqa: ARG002 the port has it
        """Return that installation."""
        return Permit(installation_id)

    async def full_name(self, repository: Repository) -> str:
        """Return the name it had."""
        return repository.full_name

    async def called(self, repository_id: int, owner: str, name: str) -> tuple[str, str]:  # noqa: ARG002 the port has it
        """Return these."""
        return owner, name

    async def is_public(self, repository_id: int) -> bool:  # noqa: ARG002 the port has it
        """Return that nobody knows."""
        return False

    async def look(
        self, client: ClientForRepository, installation_id: int, repository: Repository
    ) -> None:
        """Do nothing: it would not be remembered."""
