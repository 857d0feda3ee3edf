"""The keys that sign: statements about what Fettle pushes, and commits where GitHub signs none."""

from __future__ import annotations

import stat

from agents.errors import ConfigError
from app.attestation.signing_keys import load_keys
from app.config.settings import Settings
from app.doctor.finding import Diagnosis, ok, report_failure, report_warning
from app.git.commit_key import read_commit_key

ABOUT = "signing key"
COMMITS = "commits' key"
SHOWN = 12  # characters of a key's id
NO_FILE = "Workers on PostgreSQL have no folder in common, so what they push is not signed."
SHARE = (
    "Set FETTLE_SIGNING_KEY_FILE, make the file once with `fettle signing-key --new`, and give it"
    " to every worker."
)
CLOSE = (
    "Run `chmod 600 {path}`. If somebody else has an account here, sign with a new key from now"
    " on: `fettle signing-key --new`."
)


def signing_finding(settings: Settings) -> Diagnosis:
    """Tell which key signs what is pushed. Makes none."""
    path = settings.signing_keys
    if path is None:
        return report_warning(ABOUT, NO_FILE, SHARE)
    shared = settings.signing_key_file is not None
    if not shared and not path.exists():
        return ok(ABOUT, f"It is made at the first start: `{path}`.")
    try:
        keys = load_keys(path, shared=shared)
    except ConfigError as error:
        return report_failure(ABOUT, str(error))
    if stat.S_IMODE(path.stat().st_mode) & 0o027:  # a group may read it, as with other secrets
        said = f"Others than its owner can read or change `{path}`, and sign as this server."
        return report_warning(ABOUT, said, CLOSE.format(path=path))
    ids = [key.keyid[:SHOWN] for key in keys.public.keys]
    older = f"; {len(ids) - 1} older verify what they signed" if len(ids) > 1 else ""
    return ok(ABOUT, f"{ids[0]} signs what is pushed{older}.")


def commit_key_finding(settings: Settings) -> Diagnosis | None:
    """Tell whether the operator's key can sign commits; None where there is none to look at."""
    try:
        key = read_commit_key(settings.commit_key_file, settings.committer)
        if key is None:
            return None
        seen = key.fingerprint()
    except ConfigError as error:
        return report_failure(COMMITS, str(error))
    whose = f"{key.name} <{key.email}>"
    return ok(COMMITS, f"{seen} signs as {whose}: GitHub must have it there as a signing key.")
