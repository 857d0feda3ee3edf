"""The number of installations, by what they let Fettle do."""

from __future__ import annotations

from app.github.transport.tokens import every_permission
from app.installations.metrics import measure
from app.observability.metrics import Metrics
from app.records.installations import KnownInstallation
from app.store.installations.installations import StoredInstallations


async def test_they_are_told_by_state(database):
    stored, metrics = StoredInstallations(database), Metrics()
    measure(metrics)
    for ident, (permissions, suspended) in enumerate(
        [(every_permission(), None), ({}, None), ({}, None), ({}, 5.0), ({}, None)], 1
    ):
        await stored.keep(KnownInstallation(ident, ident, "octo", "", permissions, 1.0, suspended))
    await stored.remove(5)
    text = (await metrics.text(database)).decode()
    for state, number in (("active", 1), ("behind", 2), ("suspended", 1)):
        assert f'fettle_installations{{state="{state}"}} {number}.0' in text
