"""Sort the authors on a pull request: Fettle, people who may write, outsiders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.requests import Person
from app.github.access.run_reader import RunReader
from app.github.transport import InstallationClient

NO_ROLE = "none"


@dataclass(frozen=True)
class Author:
    """The author of a text, with the role that it had."""

    person: Person
    role: str = ""
    """GitHub's name of the author's role; empty for Fettle."""
    own: bool = False
    outsider: bool = False


class Authors:
    """Sorts authors by account id; GitHub is asked for each person's role once in a run.

    `outsiders`: people without write access count as well; bots never do.
    """

    def __init__(self, reading: RunReader, client: InstallationClient, *, outsiders: bool) -> None:
        self._reading = reading
        self._client = client
        self._outsiders = outsiders

    async def find(self, item: Mapping[str, Any]) -> Author | None:
        """Return the author of a GraphQL object; None for bots and for people who do not count.

        A deleted account counts as nobody.
        """
        author = item["author"]
        if author is None or author.get("databaseId") is None:
            return None
        own = await self._reading.github.identity(self._client)
        if author["databaseId"] == own.bot.id:
            return Author(own.bot, own=True)
        if author["__typename"] != "User":
            return None
        person = Person(id=author["databaseId"], login=author["login"])
        role = await self._reading.writers.role(self._client, person)
        name = role.role_name or role.permission or NO_ROLE
        if role.may_write or (self._outsiders and not role.is_bot):
            return Author(person, name, outsider=not role.may_write)
        return None
