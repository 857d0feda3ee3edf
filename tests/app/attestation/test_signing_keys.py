"""The file of signing keys: made once, closed to others, rotated without losing what was signed."""

from __future__ import annotations

import os
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from agents.errors import ConfigError
from app.attestation import TrustedKeys
from app.attestation.signing_keys import SigningKeys, add_key, ensure_key


def names(keys):
    return [key.keyid for key in keys.public.keys]


def test_it_is_made_once_and_nobody_else_may_read_it(tmp_path):
    path = tmp_path / "signing.pem"
    first = ensure_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(ensure_key(path)) == names(first)
    assert len(names(first)) == 1


def test_a_new_key_comes_before_those_that_go_on_to_verify(tmp_path):
    path = tmp_path / "signing.pem"
    first, second = names(ensure_key(path)), names(add_key(path))
    assert second[1:] == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["signing.pem"]
    assert names(add_key(tmp_path / "fresh.pem")) != first, "where there is none, it is the first"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file somebody else's")
def test_what_root_writes_belongs_to_the_servers_user(tmp_path):
    folder = tmp_path / "secrets"
    ensure_key(folder / "signing.pem")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    os.chown(folder / "signing.pem", 10001, 10001)
    add_key(folder / "signing.pem")
    assert (folder / "signing.pem").stat().st_uid == 10001


def pem_of_another_kind():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize("text", ["", "hello", "-----END PRIVATE KEY-----", pem_of_another_kind()])
def test_what_is_no_key_is_named_and_never_overwritten(tmp_path, text):
    path = tmp_path / "signing.pem"
    path.write_text(text)
    with pytest.raises(ConfigError, match="something else than Ed25519"):
        SigningKeys.read(path)
    if text:
        with pytest.raises(ConfigError):
            add_key(path)
        assert path.read_text() == text


def test_what_cannot_be_read_is_not_said_to_hold_something_else(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        SigningKeys.read(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"keys": {}}', '{"keys": {"a": {}}}', '{"keys": 1}']
)
def test_what_are_no_published_keys_are_not_taken_for_some(text):
    with pytest.raises(ConfigError, match=r"fettle-keys\.json"):
        TrustedKeys.read(text, "keys.json")
