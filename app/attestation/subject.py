"""Find what is to be verified: a commit of a person's clone, or a public pull request."""

from __future__ import annotations

from pathlib import Path

from agents.errors import ConfigError, RunError
from app.git.errors import GitFailed
from app.git.mirror.mirror import Mirror
from app.git.mirror.notes import fetch_notes
from app.git.objects import GitObjects
from app.git.user_clone import UserClone
from app.github.transport.urls import Urls
from app.network.outbound import Outbound
from app.views.text import to_line

_NO_COMMIT = "`{named}` names no commit in this clone."
_NO_PULL = (
    "{named} could not be fetched without a login: it is private, or there is none. Fetch it into a"
    " clone, together with the notes, and say `fettle verify COMMIT` there."
)
_KEPT = "refs/fettle/verify"
_SHOWN = 100


async def find_commit(clone: Path, named: str) -> tuple[GitObjects, str]:
    """Return the clone's objects, and the commit that this names. Raises ConfigError."""
    objects = GitObjects(UserClone(clone).git)
    how = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")
    try:
        found = await objects.git.local(*how)
    except GitFailed as error:
        raise ConfigError(_NO_COMMIT.format(named=to_line(named, _SHOWN))) from error
    return objects, found.decode().strip()


async def fetch_pull(
    github_url: str, outbound: Outbound, folder: Path, repository: str, number: int
) -> tuple[GitObjects, str]:
    """Return the objects and the commit of a pull request, fetched here without a login.

    Raises ConfigError where that does not do.
    """
    mirror = Mirror(folder / "mirror.git", outbound=outbound)
    url = Urls.from_web_url(github_url).clone(repository)
    refused = ConfigError(_NO_PULL.format(named=f"{repository}#{number}"))
    try:
        commit = await mirror.fetch_pull(url, None, number, _KEPT)
        await fetch_notes(mirror.git, url)
    except RunError as error:
        raise refused from error
    if commit is None:
        raise refused
    return mirror, commit
