"""What the store knows of installations, told by the doctor; without a store, nothing is."""

from __future__ import annotations

from app.config.settings import Settings
from app.doctor.registry import RegistryState, policy_findings, read_registry
from app.records.installations import KnownRepository
from app.store.database import Database
from app.store.installations.installations import StoredInstallations
from app.store.installations.labels import StoredLabels


async def test_owners_and_policies_that_cannot_be_read(tmp_path):
    settings = Settings(data_dir=tmp_path)
    assert read_registry(settings) == RegistryState()
    assert not (tmp_path / "fettle.db").exists()
    database = Database(settings.database)
    try:
        assert read_registry(settings) == RegistryState()  # no tables yet
        database.migrate()
        stored = StoredInstallations(database)
        await stored.keep_owner("octo", 3)
        lib = KnownRepository(9, 1, "octo", "lib", "main")
        await stored.keep_repositories(1, [lib], whole=False)
        problem = {"made": 0, "again": None, "policy_problem": "Line 1 is odd."}
        await StoredLabels(database).record_pass(9, **problem)
        found = read_registry(settings)
        assert found == RegistryState({"octo": 3}, (("octo/lib", "Line 1 is odd."),))
        [finding] = policy_findings(found.problems)
        assert (finding.about, finding.level) == ("policy of octo/lib", "warning")
    finally:
        database.close()
