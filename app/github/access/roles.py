"""Which role a person has in a repository, asked of GitHub once in each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import Frozen, Person, Repository
from app.github.transport import GitHub, InstallationClient, NotFound
from handlers.access.issues import may_write


class Role(Frozen):
    """A person's role in a repository; empty names mean no access."""

    role_name: str = ""
    permission: str = ""
    is_bot: bool = False

    @property
    def name(self) -> str:
        """Return the role's name as people know it."""
        return self.role_name or self.permission

    @property
    def may_write(self) -> bool:
        """Tell whether the person may push."""
        return not self.is_bot and may_write(self.role_name, self.permission)


OF_APP = "[bot]"
"""How the logins of Apps end, and nobody else's."""


async def role_of(client: InstallationClient, repository: Repository, person: Person) -> Role:
    """Return the person's role in the repository.

    https://docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user
    """
    if person.login.endswith(OF_APP):  # no collaborator, which GitHub would be asked for again
        return Role(is_bot=True)
    try:
        answer = await client.getitem(
            "/repos/{owner}/{repo}/collaborators/{login}/permission",
            {"owner": repository.owner, "repo": repository.name, "login": person.login},
            named=True,  # who is refused by a passing fault has nobody to tell
        )
    except NotFound:
        return Role()
    user = answer.get("user") or {}
    if user.get("id") != person.id:  # the login belongs to somebody else by now
        return Role()
    return Role(
        role_name=answer.get("role_name") or "",
        permission=answer.get("permission") or "",
        is_bot=user.get("type") == "Bot",
    )


MOST_PEOPLE = 60
"""Roles that one run asks for at most; more people are taken for outsiders."""


class Writers:
    """The roles of people for one run; GitHub is asked once for each person."""

    def __init__(self, github: GitHub, repository: Repository) -> None:
        self._github = github
        self._repository = repository
        self._known: dict[int, Role] = {}

    async def is_writer(self, client: InstallationClient, thing: Mapping[str, Any]) -> bool:
        """Tell whether somebody with write access, or Fettle itself, wrote this text."""
        user = thing.get("user")
        if not user:  # the account is gone
            return False
        if user.get("type") != "User":
            return (await self._github.identity(client)).is_author(thing)
        person = Person(id=user["id"], login=user["login"])
        return (await self.role(client, person)).may_write

    async def role(self, client: InstallationClient, person: Person) -> Role:
        """Return the person's role; no access, once `MOST_PEOPLE` others were asked for."""
        if person.id not in self._known and len(self._known) < MOST_PEOPLE:
            self._known[person.id] = await role_of(client, self._repository, person)
        return self._known.get(person.id, Role())
