"""The sandbox as the doctor finds it where not even an attack can be tried."""

from app.config.settings import read_settings
from app.doctor.sandboxes import sandbox_finding


async def test_a_disk_that_is_all_but_full_ends_no_examination(tmp_path):
    environ = {"FETTLE_DATA_DIR": str(tmp_path), "FETTLE_DISK_RESERVE_MB": "999999999"}
    found = await sandbox_finding(read_settings(environ).settings)
    assert (found.about, found.level) == ("sandbox", "failed")
    assert "could not be tried" in found.said
    assert "Free some space" in found.said
