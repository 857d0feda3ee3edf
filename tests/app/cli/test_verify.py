"""`fettle verify` and `fettle signing-key`, where there is little to verify with."""

from __future__ import annotations

import json
import logging

import pytest
import structlog
import typer

from agents.errors import ConfigError
from app.attestation.signing_keys import load_keys
from app.cli import verify as command
from tests.app.git.conftest import make_repository


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with a clone, and the data folder of an instance beside it."""
    monkeypatch.setenv("FETTLE_DATA_DIR", str(tmp_path / "data"))
    make_repository(tmp_path / "clone", {"a.py": "A = 1\n"})
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield tmp_path
    root.handlers, root.level = handlers, level  # the command tells of errors alone
    structlog.reset_defaults()


def test_who_trusts_nobody_is_told_how_to(place):
    with pytest.raises(ConfigError, match="--keys FILE"):
        command.verify(clone=place / "clone")
    with pytest.raises(ConfigError, match="cannot be read"):
        command.verify(clone=place / "clone", keys=place / "absent.json")


def test_an_instance_trusts_its_own_keys_and_says_what_cannot_be_told(place, capsys):
    command.signing_key()
    capsys.readouterr()
    with pytest.raises(typer.Exit) as ended:
        command.verify(clone=place / "clone", json=True)
    told = json.loads(capsys.readouterr().out)
    assert (ended.value.exit_code, told["verdict"]) == (2, "cannot be told")
    assert "git fetch origin refs/notes/fettle" in told["claims"][0]["why"]


@pytest.mark.parametrize("named", ["absent", "--all", "HEAD..x", ""])
def test_what_names_no_commit_is_said(place, named):
    command.signing_key()
    with pytest.raises(ConfigError, match="names no commit"):
        command.verify(named, clone=place / "clone")


def test_keys_are_printed_and_rotated(place, capsys):
    command.signing_key()
    first = json.loads(capsys.readouterr().out)["keys"]
    command.signing_key(new=True)
    out, err = capsys.readouterr()
    both = json.loads(out)["keys"]
    assert list(both)[1:] == list(first)
    assert "older keys still verify" in err
    assert "PRIVATE" not in out


def test_workers_that_share_a_database_need_a_file_of_their_own(place, monkeypatch):
    monkeypatch.setenv("FETTLE_DATABASE_URL", "postgresql://localhost/fettle")
    with pytest.raises(ConfigError, match="FETTLE_SIGNING_KEY_FILE"):
        command.signing_key()


def test_the_file_that_workers_share_is_made_by_the_command_and_by_no_worker(
    place, monkeypatch, capsys
):
    file = place / "shared" / "keys.pem"
    monkeypatch.setenv("FETTLE_DATABASE_URL", "postgresql://localhost/fettle")
    monkeypatch.setenv("FETTLE_SIGNING_KEY_FILE", str(file))
    for ask in (command.signing_key, lambda: load_keys(file, shared=True)):
        with pytest.raises(ConfigError, match="signing-key --new"):
            ask()
    assert not file.exists()
    command.signing_key(new=True)
    made = json.loads(capsys.readouterr().out)
    assert load_keys(file, shared=True).public.document == made
    command.signing_key()
    assert json.loads(capsys.readouterr().out) == made
