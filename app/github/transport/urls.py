"""Addresses of one GitHub: its pages, REST, GraphQL and git."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from agents.errors import ConfigError
from app.config.github_hosts import github_urls
from app.network.outbound import DIRECT, Outbound


@dataclass(frozen=True)
class Urls:
    """The addresses of one GitHub, without a trailing slash."""

    web: str
    rest: str
    graphql: str
    outbound: Outbound = field(default=DIRECT, compare=False, repr=False)
    """The way there."""

    @classmethod
    def from_web_url(cls, github_url: str, outbound: Outbound = DIRECT) -> Urls:
        """Return the addresses that belong to the one in people's browsers. Raises ConfigError."""
        try:
            found = github_urls(github_url)
        except ValueError as error:
            raise ConfigError(f"FETTLE_GITHUB_URL {error}.") from error
        return cls(found.git, found.api, found.graphql, outbound)

    def clone(self, full_name: str) -> str:
        """Return the repository's address for git, without credentials."""
        return f"{self.web}/{full_name}.git"

    def branch(self, full_name: str, branch: str) -> str:
        """Return the page of a branch of `owner/name`."""
        return f"{self.web}/{full_name}/tree/{quote(branch)}"

    @property
    def noreply(self) -> str:
        """Return the host of accounts' no-reply addresses.

        https://docs.github.com/account-and-profile/setting-up-and-managing-your-personal-account-on-github/managing-email-preferences/setting-your-commit-email-address
        """
        return f"users.noreply.{urlsplit(self.web).hostname}"
