"""What people call a repository at the terminal: `octo/lib`, its address, a short name, a clone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import urlsplit

from agents.errors import ConfigError
from app.operator.issue_reference import FULL

_PAGE = re.compile(rf"/{FULL.pattern}(?:/security(?:/dependabot)?)?/?")
_REMOTE = re.compile(rf"/*{FULL.pattern}/?")
_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+):(?P<path>(?!//).+)")
_WEB = ("http", "https")


@dataclass(frozen=True)
class RepositoryName:
    """A repository by its name: nobody has looked yet whether it exists."""

    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"

    def is_same(self, full_name: str) -> bool:
        """Return whether this is what GitHub takes for the same name."""
        return str(self).lower() == full_name.lower()


def repository_named(
    what: str, *, github_url: str, repositories: Mapping[str, str]
) -> RepositoryName | None:
    """Return the repository that is meant, or None when it can only be a folder.

    `repositories`: the operator's short names. What begins like a path is one. Raises ConfigError
    for what is nearly a repository.
    """
    if what.startswith((".", "/", "~")):
        return None
    if "://" in what:
        return _of_page(what, github_url)
    full = repositories.get(what, what)
    if found := FULL.fullmatch(full):
        return RepositoryName(found["owner"], found["name"])
    if what in repositories:
        raise ConfigError(
            f"FETTLE_REPOSITORIES says that `{what}` is `{full}`, which is not a repository's"
            " owner and name. Write it like octo-org/parse."
        )
    return None


def no_folder(what: str, repositories: Mapping[str, str], command: str) -> ConfigError:
    """Return what to say of a word that is neither a repository nor a folder."""
    near = get_close_matches(what, repositories, 1)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    return ConfigError(
        f"`{what}` is no repository's owner and name, no short name of FETTLE_REPOSITORIES, and no"
        f" folder here.{hint} Write `fettle {command} octo/lib`, or name a clone."
    )


def repository_of_remote(address: str, github_url: str) -> RepositoryName | None:
    """Return the repository of this GitHub that a clone's remote leads to; None: of no such."""
    own = urlsplit(github_url)
    try:
        given = urlsplit(address)
        port = given.port
    except ValueError:
        return None
    if given.scheme in _WEB and port != own.port:
        return None
    host, path = given.hostname or "", given.path
    if "://" not in address:
        if (found := _SCP.fullmatch(address)) is None:
            return None
        host, path = found["host"].lower(), found["path"]
    elif given.scheme not in (*_WEB, "ssh", "git"):
        return None
    if host.removeprefix("www.").removeprefix("ssh.") != own.hostname:
        return None
    named = _REMOTE.fullmatch(path.rstrip("/").removesuffix(".git"))
    return RepositoryName(named["owner"], named["name"]) if named else None


def _of_page(address: str, github_url: str) -> RepositoryName:
    given, own = urlsplit(address), urlsplit(github_url)
    host = (given.hostname or "").removeprefix("www.")
    if (host, given.port) != (own.hostname, own.port):
        raise ConfigError(
            f"`{address}` is not on {github_url}, which is the GitHub that FETTLE_GITHUB_URL names."
        )
    found = _PAGE.fullmatch(given.path.rstrip("/").removesuffix(".git"))
    if found is None:
        raise ConfigError(
            f"`{address}` is no repository. Its address looks like {github_url}/octo/lib."
        )
    return RepositoryName(found["owner"], found["name"])
