"""A statement in its signed envelope, as bytes of which none can be changed unseen.

DSSE: https://github.com/secure-systems-lab/dsse/blob/master/envelope.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents.errors import FettleError
from app.attestation.signing_keys import TrustedKeys

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import Signer

# ruff: noqa: PLC0415 - see `app.attestation.signing_keys`

PAYLOAD_TYPE = "application/vnd.in-toto+json"
LONGEST = 2_000_000
"""Bytes of an envelope that are read: whoever may push can put anything there."""


class NotAttested(FettleError):
    """The envelope proves nothing; the text says why, for people."""


def seal_statement(statement: Mapping[str, Any], signer: Signer) -> bytes:
    """Return the statement, signed: the same bytes for the same statement and key (RFC 8032)."""
    from securesystemslib.dsse import Envelope

    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return _encode(envelope)


def open_envelope(data: bytes, trusted: TrustedKeys) -> tuple[dict[str, Any], str]:
    """Return the statement, and the id of the key that signed it. Raises NotAttested."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error as SecureSystemsError

    if len(data) > LONGEST:
        raise NotAttested("it is longer than any that Fettle makes")
    try:
        envelope = Envelope.from_dict(json.loads(data))
        statement = json.loads(envelope.payload)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotAttested("it is no signed envelope") from error
    except SecureSystemsError as error:
        raise NotAttested("it is no signed envelope") from error
    if _encode(envelope) != data or envelope.payload_type != PAYLOAD_TYPE:
        raise NotAttested("it was changed after it was signed")
    known = {key.keyid for key in trusted.keys}
    if len(envelope.signatures) != 1 or not known & set(envelope.signatures):
        raise NotAttested("it was signed by none of the keys that are trusted here")
    try:
        [keyid] = envelope.verify(list(trusted.keys), 1)
    except (SecureSystemsError, ValueError) as error:
        raise NotAttested("it was changed after it was signed") from error
    if not isinstance(statement, dict):
        raise NotAttested("what was signed is no statement")
    return statement, keyid


def _encode(envelope: Envelope) -> bytes:
    return json.dumps(envelope.to_dict(), sort_keys=True, separators=(",", ":")).encode() + b"\n"
