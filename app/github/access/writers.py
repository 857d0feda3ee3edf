"""Who of those that wrote something may write to the repository, asked of GitHub now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import Person, Repository
from app.github.access.roles import Role, role_of
from app.github.transport.client import GitHub
from app.github.transport.installation_client import InstallationClient

MOST_PEOPLE = 60
"""Roles that one run asks for at most; more people are taken for outsiders."""


class Writers:
    """Answers for one run; each person is asked about once."""

    def __init__(self, github: GitHub, repository: Repository) -> None:
        self._github = github
        self._repository = repository
        self._known: dict[int, Role] = {}

    async def wrote(self, client: InstallationClient, thing: Mapping[str, Any]) -> bool:
        """Tell whether this text is by somebody with write access, or by Fettle itself."""
        user = thing.get("user")
        if not user:  # the account is gone
            return False
        if user.get("type") != "User":
            return (await self._github.identity(client)).wrote(thing)
        person = Person(id=user["id"], login=user["login"])
        return (await self.role(client, person)).may_write

    async def role(self, client: InstallationClient, person: Person) -> Role:
        """Return what this person may do; nothing, when there are too many of them."""
        if person.id not in self._known and len(self._known) < MOST_PEOPLE:
            self._known[person.id] = await role_of(client, self._repository, person)
        return self._known.get(person.id, Role())
