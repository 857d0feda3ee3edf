"""What the doctor says of the key that signs what is pushed."""

from __future__ import annotations

import pytest

from app.attestation.signing_keys import add_key, ensure_key
from app.config.settings import load_settings
from app.doctor.signing import commit_key_finding, signing_finding
from tests.fakes.commit_key import EMAIL, make_commit_key


@pytest.fixture
def look(tmp_path):
    """Look at a data folder, with more variables; return the finding."""

    def look_with(**more):
        given = {"FETTLE_DATA_DIR": str(tmp_path), **more}
        return signing_finding(load_settings(given, serving=False))

    return look_with


@pytest.fixture
def path(tmp_path):
    return tmp_path / "secrets" / "signing.pem"


def test_the_key_of_one_server_is_made_by_it_and_not_by_the_doctor(look, path):
    assert look().level == "ok"
    assert not path.exists()
    ensure_key(path)
    assert look().level == "ok"
    older = add_key(path).public.keys
    told = f"{older[0].keyid[:12]} signs what is pushed; 1 older verify what they signed."
    assert look().said == told


def test_workers_that_share_no_key_are_told_how_to(look, tmp_path):
    shared = {"FETTLE_DATABASE_URL": "postgresql://localhost/fettle"}
    found = look(**shared)
    assert (found.level, "FETTLE_SIGNING_KEY_FILE" in found.remedy) == ("warning", True)
    shared["FETTLE_SIGNING_KEY_FILE"] = str(tmp_path / "keys.pem")
    found = look(**shared)
    assert (found.level, "signing-key --new" in found.said) == ("failed", True)
    ensure_key(tmp_path / "keys.pem")
    assert look(**shared).level == "ok"


def test_a_key_that_is_none_or_that_others_read_is_said(look, path):
    ensure_key(path)
    path.chmod(0o644)
    assert (look().level, f"chmod 600 {path}" in look().remedy) == ("warning", True)
    path.chmod(0o640)
    assert look().level == "ok"
    path.write_text("hello")
    assert (look().level, "something else than Ed25519" in look().said) == ("failed", True)
    assert "hello" not in look().said


@pytest.fixture
def look_at_key(tmp_path):
    """Look at the key for commits, with these variables; return the finding."""

    def look_with(**given):
        given["FETTLE_DATA_DIR"] = str(tmp_path)
        return commit_key_finding(load_settings(given, serving=False))

    return look_with


def test_a_key_for_commits_is_named_by_its_fingerprint(look_at_key, tmp_path):
    key, _ = make_commit_key(tmp_path)
    both = {"FETTLE_COMMIT_KEY_FILE": str(key), "FETTLE_COMMITTER": f"Keys <{EMAIL}>"}
    assert look_at_key() is None
    found = look_at_key(**both)
    assert found.level == "ok"
    assert found.said.startswith("SHA256:")
    assert EMAIL in found.said
    key.chmod(0o640)
    assert "chmod 600" in look_at_key(**both).said


@pytest.mark.parametrize(
    ("left_out", "said"),
    [("FETTLE_COMMITTER", "FETTLE_COMMITTER not whose"), ("FETTLE_COMMIT_KEY_FILE", "names none")],
)
def test_half_of_a_key_for_commits_is_an_error(look_at_key, tmp_path, left_out, said):
    key, _ = make_commit_key(tmp_path)
    both = {"FETTLE_COMMIT_KEY_FILE": str(key), "FETTLE_COMMITTER": f"Keys <{EMAIL}>"}
    del both[left_out]
    found = look_at_key(**both)
    assert (found.level, said in found.said) == ("failed", True)


def test_a_key_with_a_passphrase_and_what_is_no_key_are_told_without_their_content(
    look_at_key, tmp_path
):
    key, _ = make_commit_key(tmp_path, passphrase="a passphrase")
    other = tmp_path / "none.key"
    other.write_text("not a key")
    other.chmod(0o600)
    for path in (key, other):
        found = look_at_key(FETTLE_COMMIT_KEY_FILE=str(path), FETTLE_COMMITTER=f"Keys <{EMAIL}>")
        assert (found.level, "without a passphrase" in found.said) == ("failed", True)
        assert "not a key" not in found.said
