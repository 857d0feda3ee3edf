"""Signed statements of what a pull request is and how it was checked, and whether they hold."""

from __future__ import annotations

from app.attestation.envelope import NotAttested, open_envelope, seal_statement
from app.attestation.signing_keys import SigningKeys, TrustedKeys
from app.attestation.statement import Evidence, build_statement

__all__ = [
    "Evidence",
    "NotAttested",
    "SigningKeys",
    "TrustedKeys",
    "build_statement",
    "open_envelope",
    "seal_statement",
]
