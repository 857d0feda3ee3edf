"""Secrets in the data folder: theirs alone, whole, never over others, and never through a link."""

from __future__ import annotations

import os
import stat

import pytest

from agents.errors import ConfigError
from app.secrets.files import app_folder, keep_alone, keep_app, kept_beside, kept_in

VALUES = {
    "FETTLE_APP_ID": "12",
    "FETTLE_PRIVATE_KEY": "-----BEGIN X-----\nabc\n-----END X-----",
    "FETTLE_WEBHOOK_SECRETS": '["s3cret"]',
}


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def kept(tmp_path):
    keep_app(tmp_path, VALUES)
    return tmp_path


def problem(data_dir):
    found = kept_in(data_dir)
    assert "s3cret" not in str(found.problems)
    return " ".join(text for _, text in found.problems)


def test_what_is_kept_is_read_again(tmp_path):
    folder = keep_app(tmp_path, VALUES)
    keep_alone(tmp_path, "ANTHROPIC_API_KEY", "sk-1")
    assert folder == app_folder(tmp_path)
    assert kept_in(tmp_path).values == VALUES | {"ANTHROPIC_API_KEY": "sk-1"}
    assert not kept_in(tmp_path).problems


def test_only_the_owner_may_read_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        keep_app(tmp_path, VALUES)
        keep_alone(tmp_path, "ANTHROPIC_API_KEY", "sk-1")
    finally:
        os.umask(before)
    paths = list((tmp_path / "secrets").rglob("*"))
    assert {mode(path) for path in paths if path.is_file()} == {0o600}
    assert {mode(path) for path in paths if path.is_dir()} == {0o700}
    assert mode(tmp_path / "secrets") == 0o700


def test_nothing_kept_is_no_fault(tmp_path):
    assert kept_in(tmp_path) == kept_in(tmp_path / "none")
    assert not kept_in(tmp_path).values


def test_an_app_is_never_written_over_unasked(kept):
    with pytest.raises(ConfigError, match="--replace"):
        keep_app(kept, VALUES | {"FETTLE_APP_ID": "13"})
    assert kept_in(kept).values["FETTLE_APP_ID"] == "12"
    assert [path.name for path in (kept / "secrets").iterdir()] == ["app"], "nothing half-made"


def test_what_is_replaced_is_kept_aside(kept):
    keep_app(kept, VALUES | {"FETTLE_APP_ID": "13"}, replace=True)
    assert kept_in(kept).values["FETTLE_APP_ID"] == "13"
    [aside] = (kept / "secrets").glob("app-replaced-*")
    assert (aside / "FETTLE_APP_ID").read_text() == "12\n"
    assert mode(aside) == 0o700


def test_all_or_none_when_the_disk_is_full(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        keep_app(tmp_path, VALUES)
    with pytest.raises(OSError, match="No space"):
        keep_alone(tmp_path, "ANTHROPIC_API_KEY", "sk-1")
    assert list((tmp_path / "secrets").iterdir()) == []


@pytest.mark.parametrize("name", ["secrets", "secrets/app", "secrets/app/FETTLE_APP_ID"])
def test_attack_a_link_is_not_followed_when_read(kept, name):
    path = kept / name
    path.rename(kept / "elsewhere")
    path.symlink_to(kept / "elsewhere")
    assert "is a link" in problem(kept)
    assert "FETTLE_APP_ID" not in kept_in(kept).values


@pytest.mark.parametrize("bits", [0o604, 0o602, 0o620, 0o644, 0o666])
def test_attack_a_file_that_others_can_read_or_write_is_refused_with_the_remedy(kept, bits):
    path = app_folder(kept) / "FETTLE_WEBHOOK_SECRETS"
    path.chmod(bits)
    assert f"chmod 600 {path}" in problem(kept)
    assert "FETTLE_WEBHOOK_SECRETS" not in kept_in(kept).values


def test_a_group_may_read(kept):
    (app_folder(kept) / "FETTLE_WEBHOOK_SECRETS").chmod(0o640)
    assert not kept_in(kept).problems


@pytest.mark.parametrize("folder", ["secrets", "secrets/app"])
def test_attack_a_folder_that_others_can_write_to_is_refused(kept, folder):
    (kept / folder).chmod(0o777)
    assert "others may write" in problem(kept)
    with pytest.raises(ConfigError):
        keep_app(kept, VALUES)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_attack_a_file_of_somebody_else_is_refused(kept):
    os.chown(app_folder(kept) / "FETTLE_PRIVATE_KEY", 58999, 58999)
    assert "belongs to another user" in problem(kept)


def test_attack_a_pipe_does_not_make_us_wait_and_a_flood_is_not_read(kept):
    path = app_folder(kept) / "FETTLE_APP_ID"
    path.unlink()
    os.mkfifo(path, 0o600)
    assert "not an ordinary file" in problem(kept)
    path.unlink()
    path.write_bytes(b"x" * 100_000)
    path.chmod(0o600)
    assert "too large" in problem(kept)
    path.write_bytes(b"\xff\xfe")
    assert "not text" in problem(kept)


@pytest.mark.parametrize("target", ["folder", "file", "nothing"])
def test_attack_a_link_in_the_way_is_not_written_through(tmp_path, target):
    elsewhere = tmp_path / "elsewhere"
    if target == "folder":
        elsewhere.mkdir()
    elif target == "file":
        elsewhere.write_text("mine")
    data = tmp_path / "data"
    data.mkdir()
    (data / "secrets").symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="no folder for secrets"):
        keep_app(data, VALUES)
    assert not elsewhere.is_dir() or list(elsewhere.iterdir()) == []
    (data / "secrets").unlink()
    (data / "secrets").mkdir(mode=0o700)
    (data / "secrets/app").symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="--replace"):
        keep_app(data, VALUES)
    keep_app(data, VALUES, replace=True)
    assert not elsewhere.is_dir() or list(elsewhere.iterdir()) == []
    assert not (data / "secrets/app").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_writes_for_whom_the_data_belongs_to(tmp_path):
    os.chown(tmp_path, 58999, 58998)
    keep_app(tmp_path, VALUES)
    keep_alone(tmp_path, "ANTHROPIC_API_KEY", "sk-1")
    for path in (tmp_path / "secrets", *(tmp_path / "secrets").rglob("*")):
        assert (path.stat().st_uid, path.stat().st_gid) == (58999, 58998)
    assert kept_in(tmp_path).values == VALUES | {"ANTHROPIC_API_KEY": "sk-1"}


def test_a_variable_wins_and_what_proves_an_app_comes_from_one_place(kept):
    keep_alone(kept, "ANTHROPIC_API_KEY", "sk-1")
    assert kept_beside(["fettle_port"], kept).values == kept_in(kept).values
    assert set(kept_beside(["anthropic_api_key"], kept).values) == set(VALUES)
    for given in ("fettle_app_id", "fettle_private_key_file", "fettle_webhook_secrets"):
        assert set(kept_beside([given], kept).values) == {"ANTHROPIC_API_KEY"}
    (app_folder(kept) / "FETTLE_APP_ID").chmod(0o644)
    assert not kept_beside(["fettle_app_id"], kept).problems, "it is not used"
