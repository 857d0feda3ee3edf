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
    """The operator's allowlist does not have this account."""


@dataclass(frozen=True)
class Permit:
    """The installation to ask for a token, and the permissions that its owners have granted."""

    installation_id: int
    account: str = ""
    url: str = ""
    """The page where they accept permissions."""
    permissions: Mapping[str, str] | None = None
    """None: nobody knows yet."""
    doubt: str = ""
    """Why GitHub will hardly give one, in words for people; empty: there is no reason."""

    def narrow(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return those of the wanted permissions that are granted.

        GitHub refuses a token with a single permission too many. Raises NotPermitted when nothing
        useful is left.
        https://docs.github.com/rest/apps/apps#create-an-installation-access-token-for-an-app
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
    """Knows the App's installations and their repositories."""

    async def permit(self, installation_id: int, repository_ids: Sequence[int]) -> Permit:
        """Return the permit for a token on these repositories.

        Raises InstallationGone where no token may be made, without asking GitHub.
        """
        ...

    async def full_name(self, repository: Repository) -> str:
        """Return the repository's present name."""
        ...

    async def current_name(self, repository_id: int, owner: str, name: str) -> tuple[str, str]:
        """Return the repository's present owner and name, if these were its names once.

        A former name leads to whichever repository has taken it since.
        """
        ...

    async def is_public(self, repository_id: int) -> bool:
        """Tell whether everybody may see the repository, as far as is known."""
        ...

    async def look(
        self, client: ClientForRepository, installation_id: int, repository: Repository
    ) -> None:
        """Read the present state of this client's repository, which may have changed."""
        ...


class UncachedInstallations:
    """Keeps nothing, and lets GitHub decide."""

    async def permit(self, installation_id: int, repository_ids: Sequence[int]) -> Permit:  # noqa: ARG002 the port has it
        """Return a permit for the installation as asked."""
        return Permit(installation_id)

    async def full_name(self, repository: Repository) -> str:
        """Return the name that the repository had in the request."""
        return repository.full_name

    async def current_name(self, repository_id: int, owner: str, name: str) -> tuple[str, str]:  # noqa: ARG002 the port has it
        """Return the names as given."""
        return owner, name

    async def is_public(self, repository_id: int) -> bool:  # noqa: ARG002 the port has it
        """Return False: nothing is known."""
        return False

    async def look(
        self, client: ClientForRepository, installation_id: int, repository: Repository
    ) -> None:
        """Do nothing, since nothing is kept."""
