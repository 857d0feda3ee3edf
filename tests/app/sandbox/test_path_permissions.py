"""Folders that the sandbox's user may pass, and words where he may not."""

import os
import stat

import pytest

from agents.errors import ConfigError
from app.sandbox.path_permissions import make_data_folder, make_passable, require_reach

STRANGER = (58999, 58999)


@pytest.fixture
def strict_umask():
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("strict_umask")
def test_a_new_folder_and_those_above_it_may_be_passed_whatever_the_umask(tmp_path):
    made = tmp_path / "data" / "runs"

    make_passable(made)
    make_passable(made)

    assert (mode(made), mode(made.parent)) == (0o711, 0o711)


def test_a_data_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file/data` cannot be made: .* set FETTLE_DATA_DIR"):
        make_data_folder(tmp_path / "file" / "data")


def test_a_folder_of_somebodys_choice_stays_as_it_is(tmp_path):
    own = tmp_path / "own"
    own.mkdir(mode=0o700)

    make_passable(own)

    assert mode(own) == 0o700
    with pytest.raises(ConfigError, match="may not enter"):
        require_reach([own], STRANGER)
