"""An envelope: the same for the same statement, and worth nothing once a byte of it is another."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from app.attestation import NotAttested, SigningKeys, TrustedKeys, open_envelope, seal_statement

STATEMENT = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": "octo/lib#7", "digest": {"gitCommit": "1" * 40, "gitTree": "2" * 40}}],
    "predicate": {"checks": [{"command": "pytest -q", "exit_code": 0}], "words": "grüße"},
}
KEYS = SigningKeys([Ed25519PrivateKey.generate()])
TRUSTED = KEYS.public
SEALED = seal_statement(STATEMENT, KEYS.current)


def test_it_comes_out_as_it_went_in_and_is_made_alike_each_time():
    assert open_envelope(SEALED, TRUSTED) == (STATEMENT, TRUSTED.keys[0].keyid)
    assert seal_statement(dict(reversed(STATEMENT.items())), KEYS.current) == SEALED


@given(st.integers(0, len(SEALED) - 1), st.integers(1, 255))
def test_a_changed_byte_anywhere_is_found(place, change):
    changed = SEALED[:place] + bytes([SEALED[place] ^ change]) + SEALED[place + 1 :]
    with pytest.raises(NotAttested):
        open_envelope(changed, TRUSTED)


@given(st.binary(max_size=300))
def test_what_is_no_envelope_is_none(data):
    with pytest.raises(NotAttested):
        open_envelope(data, TRUSTED)


def make_envelope(**changes):
    """Return the envelope with other values, written as Fettle writes them."""
    envelope = json.loads(SEALED) | changes
    return json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def test_another_key_another_type_and_more_signatures_prove_nothing():
    other = SigningKeys([Ed25519PrivateKey.generate()])
    forged = json.loads(seal_statement(STATEMENT, other.current))["signatures"]
    own = json.loads(SEALED)["signatures"]
    with pytest.raises(NotAttested, match="none of the keys"):
        open_envelope(SEALED, other.public)
    for signatures in (forged, [*own, *forged], [], [{**own[0], "sig": forged[0]["sig"]}]):
        with pytest.raises(NotAttested):
            open_envelope(make_envelope(signatures=signatures), TRUSTED)
    with pytest.raises(NotAttested, match="changed after it was signed"):
        open_envelope(make_envelope(payloadType="text/plain"), TRUSTED)
    with pytest.raises(NotAttested):
        open_envelope(b"[" * 100_000, TRUSTED)
    with pytest.raises(NotAttested, match="longer"):
        open_envelope(SEALED + b" " * 2_000_000, TRUSTED)


def test_published_keys_are_read_back_and_open_what_older_ones_signed():
    newer = SigningKeys([Ed25519PrivateKey.generate(), *KEYS.private])
    published = json.dumps(newer.public.document)
    read = TrustedKeys.read(published, "keys.json")
    assert open_envelope(SEALED, read)[0] == STATEMENT
    assert open_envelope(seal_statement(STATEMENT, newer.current), read)[0] == STATEMENT
    assert "PRIVATE" not in published
