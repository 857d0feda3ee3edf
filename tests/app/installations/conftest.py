"""A GitHub with the App on it, and the books that one process keeps of that."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest

from app.config.allowed_owners import AllowedOwners
from app.installations.lifecycle import InstallationLifecycle
from app.store.installations.installations import StoredInstallations
from app.store.installations.labels import StoredLabels
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures, shared with the tests of the client


@dataclass
class Kept:
    """One process with its books, and the world that they are about."""

    scene: Any
    database: Any
    life: InstallationLifecycle

    @property
    def server(self):
        return self.scene.server

    @property
    def stored(self):
        return StoredInstallations(self.database)

    async def follow(self):
        return await self.life.followed.installation(self.scene.installation.id)

    async def run(self, run_id="0001-run", **changes):
        """Have a run under way; return its request."""
        request = self.scene.request.model_copy(update=changes)
        await Runs(self.database).create(run_id, request)
        return request

    async def find_cancellation(self, run_id="0001-run"):
        """Return why the run was cancelled, if it was."""
        steer = await StoredSteers(self.database).cancel_of(run_id)
        return steer and (steer.via, steer.words)

    def count_minted(self):
        """Return how many tokens GitHub was asked for."""
        return len(self.scene.calls("POST", "/access_tokens"))

    async def due(self):
        """Return the repositories whose labels are due."""
        labels, ident = StoredLabels(self.database), self.scene.installation.id
        return await labels.due(ident, time.time() + 1, 1000)


@pytest.fixture
def keep(scene, database):
    """Return a function that begins as a process does; its allowlist is given."""

    def make(*owners):
        life = InstallationLifecycle(database, scene.github, AllowedOwners(owners), "one")
        scene.github = life.github  # as the server asks it, once it knows its installations
        return Kept(scene, database, life)

    return make


@pytest.fixture
def kept(keep):
    return keep()
