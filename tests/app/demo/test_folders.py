"""The demo's folder: ours alone, and open for sandboxes to pass."""

import os
import stat
import tempfile

import pytest

from agents.errors import ConfigError
from app.demo.folders import demo_folder, forget_old


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_others_may_pass_and_not_write(temporary):
    folder = demo_folder()
    assert folder.parent == temporary
    assert stat.S_IMODE(folder.stat().st_mode) & 0o022 == 0
    assert stat.S_IMODE(folder.stat().st_mode) & 0o011 == 0o011
    assert demo_folder() == folder


def test_each_user_has_one_of_their_own(temporary):
    assert demo_folder().name.endswith(f"-{os.geteuid()}")


def test_a_folder_that_others_may_write_is_refused(temporary):
    demo_folder().chmod(0o777)
    with pytest.raises(ConfigError, match="is not ours alone"):
        demo_folder()


def test_a_link_in_its_place_is_refused(temporary):
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    made = demo_folder()
    made.rmdir()
    made.symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="point TMPDIR at a folder of your own"):
        demo_folder()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_somebody_elses_folder_is_refused(temporary):
    os.chown(demo_folder(), 12345, 12345)
    with pytest.raises(ConfigError, match="is not ours alone"):
        demo_folder()


def test_what_demos_of_earlier_days_left_goes_and_the_cache_stays(temporary):
    folder = demo_folder()
    for name in ("20260101-101010-001", "20260102-101010-001", "cache"):
        (folder / name).mkdir()
    os.utime(folder / "20260101-101010-001", (0, 0))
    os.utime(folder / "cache", (0, 0))

    forget_old(folder)

    assert sorted(path.name for path in folder.iterdir()) == ["20260102-101010-001", "cache"]
