"""Begin a repository's mirror with a clone that is on this machine, where there is one."""

from __future__ import annotations

import os

from sqlalchemy import make_url

from app.config.settings import Settings
from app.git import Mirrors
from app.git.seed_from_clone import seed
from app.github.transport import GitHub, Profile, Scope
from app.operator.find_clone import Places
from app.operator.repositories import Installed
from app.operator.repository_reference import RepositoryName


async def lend(github: GitHub, settings: Settings, installed: Installed, places: Places) -> bool:
    """Return whether the mirror was begun with a clone; one that is there already is not."""
    if not _mirrors_are_ours(settings):
        return False
    repository = installed.repository
    mirrors = Mirrors(settings.data_dir / "mirrors", group=settings.sandbox_uid)
    mirror = mirrors.open_mirror(repository.id)
    if await mirror.has_branches():
        return False
    found = await places.clone_of(RepositoryName(repository.owner, repository.name))
    if found is None:
        return False
    scope = Scope.for_one(installed.installation_id, repository.id, Profile.READ)
    token = (await github.broker.token(scope)).value
    url = github.urls.clone(repository.full_name)
    return await seed(mirror, found.clone, found.remote, url, token)


def _mirrors_are_ours(settings: Settings) -> bool:
    """Return whether whoever does the work reads the mirrors of this folder, as this user."""
    beside = make_url(settings.database).get_backend_name() == "sqlite"
    folder = settings.data_dir
    return beside and folder.exists() and folder.stat().st_uid == os.geteuid()
