"""Addresses of one GitHub: its pages, REST, GraphQL and git."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from agents.errors import ConfigError
from app.config.github_hosts import github_urls


@dataclass(frozen=True)
class Urls:
    """The addresses of one GitHub, without a slash at the end."""

    web: str
    rest: str
    graphql: str

    @classmethod
    def of(cls, github_url: str) -> Urls:
        """Return the addresses that belong to the one people type into their browser."""
        try:
            found = github_urls(github_url)
        except ValueError as error:
            raise ConfigError(f"FETTLE_GITHUB_URL {error}.") from error
        return cls(web=found.git, rest=found.api, graphql=found.graphql)

    def clone(self, full_name: str) -> str:
        """Return where git finds the repository `owner/name`; no credentials inside."""
        return f"{self.web}/{full_name}.git"

    def branch(self, full_name: str, branch: str) -> str:
        """Return the page where people see a branch of `owner/name`."""
        return f"{self.web}/{full_name}/tree/{quote(branch)}"

    @property
    def noreply(self) -> str:
        """Return the host of the no-reply addresses of accounts."""
        return f"users.noreply.{urlsplit(self.web).hostname}"
