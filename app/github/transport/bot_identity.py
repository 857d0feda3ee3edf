"""Accounts of bots: Fettle's own, which tells its words from others', and those with updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.requests import Person
from app.github.transport.app_client import AppClient
from app.github.transport.installation_client import InstallationClient

DEPENDABOT = frozenset({"dependabot[bot]", "dependabot-preview[bot]"})
RENOVATE = frozenset({"renovate[bot]"})
"""Names in brackets belong to Apps alone: no person can have one."""


@dataclass(frozen=True)
class BotIdentity:
    """The App, and the bot account that it acts as."""

    app_id: int
    slug: str
    bot: Person

    def is_author(self, thing: Mapping[str, Any]) -> bool:
        """Tell whether Fettle wrote this comment or pull request (REST).

        The author decides, since anybody can copy a hidden marker. Where GitHub names the App
        through which it was written, that must be Fettle's too.
        """
        via = thing.get("performed_via_github_app")
        author = thing.get("user") or {}
        return author.get("id") == self.bot.id and (via is None or via.get("id") == self.app_id)


async def learn_identity(as_app: AppClient, client: InstallationClient) -> BotIdentity:
    """Ask GitHub for the App by its key, and for its bot account through any installation.

    https://docs.github.com/rest/apps/apps#get-the-authenticated-app
    """
    app = await as_app.request("GET", "/app")
    bot = await client.getitem("/users/{login}", {"login": f"{app['slug']}[bot]"})
    return BotIdentity(app["id"], app["slug"], Person(id=bot["id"], login=bot["login"]))


def is_updater(login: str, *, bot: bool) -> bool:
    """Tell whether this account keeps dependencies up to date.

    `bot`: GitHub says that it is an App's. GraphQL leaves the brackets out of the names of those.
    """
    return bot and f"{login.removesuffix('[bot]')}[bot]" in DEPENDABOT | RENOVATE
