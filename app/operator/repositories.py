"""From names to repositories of the App: one, or all that an organization or a person has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from agents.errors import ConfigError
from agents.requests import Repository
from app.github.transport import GitHub, InstallationGone, NotFound, NotPermitted, Profile
from handlers.payloads.common import Installation, RepositoryView, Sha, View

Owner = Literal["org", "user"]
_INSTALLATION: dict[Owner, str] = {
    "org": "/orgs/{login}/installation",
    "user": "/users/{login}/installation",
}


@dataclass(frozen=True)
class Installed:
    """A repository that the App is installed on."""

    installation_id: int
    repository: Repository
    url: str
    """Its page."""
    archived: bool = False
    """Nobody can write to it, so nothing in it can be mended."""

    @property
    def name(self) -> str:
        """Return `owner/name`, as GitHub writes it."""
        return self.repository.full_name


class _Listed(RepositoryView):
    archived: bool = False
    disabled: bool = False


class _Commit(View):
    sha: Sha


class _Branch(View):
    object: _Commit


async def repository_at(github: GitHub, owner: str, name: str) -> Installed:
    """Return the repository of this name. Raises ConfigError when the App cannot see it."""
    where = {"owner": owner, "repo": name}
    with _not_installed(f"`{owner}/{name}`"):
        path = "/repos/{owner}/{repo}/installation"
        found = await github.app.request("GET", path, url_vars=where)
        installation = Installation.model_validate(found)
        async with github.open_search_client(installation.id, name) as client:
            shown = await client.getitem("/repos/{owner}/{repo}", where)
    return _find_installation(github, installation.id, _Listed.model_validate(shown))


async def repositories_of(github: GitHub, kind: Owner, login: str) -> Sequence[Installed]:
    """Return all repositories of this account that the App is installed on, by name.

    Raises ConfigError when it is installed on none.
    """
    with _not_installed(f"the account `{login}`"):
        path = _INSTALLATION[kind]
        found = await github.app.request("GET", path, url_vars={"login": login})
        installation = Installation.model_validate(found)
        async with github.open_installation_client(installation.id, Profile.FIND) as client:
            listed = client.getiter("/installation/repositories", iterable_key="repositories")
            shown = [_Listed.model_validate(each) async for each in listed]
    every = [_find_installation(github, installation.id, each) for each in shown]
    return sorted(every, key=lambda each: each.name.lower())


async def newest_commit(github: GitHub, installed: Installed, branch: str = "") -> str:
    """Return what a branch stands at, by default the default branch. Raises ConfigError."""
    repository = installed.repository
    name = branch or repository.default_branch
    where = {"owner": repository.owner, "repo": repository.name}
    client = await github.installation(installed.installation_id, repository.id, Profile.READ)
    try:
        at = {**where, "parts": name.split("/")}  # `#` in a name would end the path
        shown = await client.getitem("/repos/{owner}/{repo}/git/ref/heads{/parts*}", at)
    except NotFound as error:
        raise ConfigError(
            f"`{installed.name}` has no branch `{name}`. Name another with --base."
        ) from error
    return _Branch.model_validate(shown).object.sha


def _find_installation(github: GitHub, installation_id: int, view: _Listed) -> Installed:
    repository = view.repository
    url = view.html_url or f"{github.urls.web}/{repository.full_name}"
    return Installed(installation_id, repository, url, view.archived or view.disabled)


@contextmanager
def _not_installed(named: str) -> Iterator[None]:
    try:
        yield
    except (NotFound, NotPermitted, InstallationGone) as error:
        raise ConfigError(
            f"Nothing can be done in {named}: {error}\nThe App has to be installed there."
        ) from error
