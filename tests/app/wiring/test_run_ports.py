"""What runs on GitHub are given holds for the repository as it is, not as it was."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from app.github.transport.installation_cache import UncachedInstallations
from app.runs.steering import SteerSignals
from app.webhooks.receiver import OwnIdentity
from app.wiring.run_ports import RunPortsFactory
from tests.app.github.conftest import alerted_privately, key, scene, signer

__all__ = ["alerted_privately", "key", "scene", "signer"]  # fixtures


class Public(UncachedInstallations):
    """Knows that everybody can see these repositories by now."""

    def __init__(self, *idents):
        self.idents = idents

    async def is_public(self, repository_id):
        return repository_id in self.idents


@pytest.mark.parametrize("public", [False, True])
async def test_attack_what_was_private_when_it_was_asked_for_is_held_to_what_holds_now(
    alerted_privately, public
):
    alerted, github = alerted_privately, alerted_privately.scene.github
    alert = await alerted.alert()
    del alerted.server.world.advisories[alert.advisory.ghsa_id.upper()]
    run_id, request = await alerted.create_run()
    installed = Public(*([request.repository.id] if public else []))
    github = github.with_installations(lambda _: installed)
    held = {"database": alerted.database, "runs": alerted.runs}
    parts = SimpleNamespace(redactor=alerted.scene.redactor, **held)
    alerts = await RunPortsFactory(parts, github, OwnIdentity(), SteerSignals()).alerts_of(run_id)
    [found] = await alerts.open("pip", "jinja2")
    assert found.undisclosed is public
