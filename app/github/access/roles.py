"""What a person may do in a repository, asked of GitHub now."""

from __future__ import annotations

from agents.requests import Frozen, Person, Repository
from app.github.transport.errors import NotFound
from app.github.transport.installation_client import InstallationClient
from handlers.access.issues import may_write


class Role(Frozen):
    """A person's role; empty names: no access at all."""

    role_name: str = ""
    permission: str = ""
    is_bot: bool = False

    @property
    def name(self) -> str:
        """Return what people call it."""
        return self.role_name or self.permission

    @property
    def may_write(self) -> bool:
        """Tell whether this person may push."""
        return not self.is_bot and may_write(self.role_name, self.permission)


async def role_of(client: InstallationClient, repository: Repository, person: Person) -> Role:
    """Return the person's role in the repository.

    https://docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user
    """
    try:
        answer = await client.getitem(
            "/repos/{owner}/{repo}/collaborators/{login}/permission",
            {"owner": repository.owner, "repo": repository.name, "login": person.login},
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
