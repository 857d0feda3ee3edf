"""What the doctor says of the key that signs what is pushed."""

from __future__ import annotations

import pytest

from app.attestation.signing_keys import add_key, ensure_key
from app.config.settings import load_settings
from app.doctor.signing import signing_finding


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
