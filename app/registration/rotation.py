"""Rotate the webhook secret without losing a delivery, even if the rotation is interrupted.

The server accepts the new secret before GitHub signs with it, and the old one until no delivery
signed with it can arrive any more.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agents.errors import ConfigError
from app.config.values import split_secrets
from app.secrets.files import drop_of_app, keep_of_app, only_one, read_of_app

SECRETS, RECORD = "FETTLE_WEBHOOK_SECRETS", "rotation.json"
Tell = Callable[[str], Awaitable[object]]
"""Has GitHub sign with this secret from now on; may be told the same again."""


class Rotation(BaseModel):
    """The progress of a rotation; secrets are named by their fingerprints."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    new: str
    told_at: float | None = None
    """When GitHub was known to have the new one."""
    until: float | None = None
    """Until when the old ones are accepted."""


def mark_of(secret: str) -> str:
    """Return the fingerprint of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def rotation_in(data_dir: Path) -> Rotation | None:
    """Return the rotation that is under way in this data folder."""
    try:
        return Rotation.model_validate_json(read_of_app(data_dir, RECORD) or "")
    except ValidationError:
        return None


def secrets_in(data_dir: Path) -> list[str]:
    """Return the webhook secrets in the file, the newest first."""
    try:
        found = split_secrets(read_of_app(data_dir, SECRETS) or "")
    except ValueError:
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


async def rotate(data_dir: Path, tell: Tell, *, window: float, now: float) -> Rotation:
    """Replace the secret, or continue a rotation.

    Raises ConfigError while an old secret is still accepted. `window` is in seconds, `now` in unix
    seconds.
    """
    _require_some(data_dir)
    with only_one(data_dir):
        if _is_due(data_dir, now):
            _finish(data_dir)
        new = begin(data_dir)
        await tell(new)
        return _note(data_dir, Rotation(new=mark_of(new), told_at=now, until=now + window))


def begin(data_dir: Path) -> str:
    """Return the new secret, which is accepted from now on beside the old ones."""
    _require_some(data_dir)
    known, under_way = secrets_in(data_dir), rotation_in(data_dir)
    for secret in known:
        if under_way is not None and mark_of(secret) == under_way.new:
            if under_way.told_at is not None and len(known) > 1:
                raise ConfigError(
                    f"The secret was replaced; the old one is accepted until"
                    f" {format_moment(under_way.until or 0)}. To end that now, and then replace the"
                    " new one, run `fettle rotate-secret --finish` first."
                )
            if under_way.told_at is None:
                return secret  # a process that was killed has made it: GitHub may know it
    new = secrets.token_urlsafe(32)
    _note(data_dir, Rotation(new=mark_of(new)))  # first: what is not noted would stay for ever
    _keep(data_dir, [new, *known])
    return new


def _require_some(data_dir: Path) -> None:
    if not secrets_in(data_dir):
        raise ConfigError(f"There is no webhook secret in `{data_dir}`. Run `fettle setup` first.")


def finish(data_dir: Path) -> int:
    """Accept the new secret alone; return how many were dropped. Raises ConfigError if too soon."""
    _require_some(data_dir)
    with only_one(data_dir):
        return _finish(data_dir)


def _finish(data_dir: Path) -> int:
    under_way, known = rotation_in(data_dir), secrets_in(data_dir)
    if under_way is None:
        raise ConfigError("No webhook secret is being replaced.")
    if under_way.told_at is None:
        raise ConfigError(
            "GitHub may not know the new secret yet. Run `fettle rotate-secret` once more: it goes"
            " on where it was stopped."
        )
    kept = [secret for secret in known if mark_of(secret) == under_way.new]
    if kept and kept != known:
        _keep(data_dir, kept)
    drop_of_app(data_dir, RECORD)
    return len(known) - len(kept) if kept else 0


def finish_if_due(data_dir: Path, now: float) -> bool:
    """Drop the old secrets if their time is over; return whether they were dropped."""
    if not _is_due(data_dir, now):
        return False
    with only_one(data_dir):
        if due := _is_due(data_dir, now):
            _finish(data_dir)
    return due


def _is_due(data_dir: Path, now: float) -> bool:
    under_way = rotation_in(data_dir)
    return under_way is not None and under_way.until is not None and under_way.until <= now


def format_moment(at: float) -> str:
    """Return a time for people."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))


def _keep(data_dir: Path, known: list[str]) -> None:
    keep_of_app(data_dir, SECRETS, json.dumps(known))  # as a list, whatever is in one


def _note(data_dir: Path, rotation: Rotation) -> Rotation:
    keep_of_app(data_dir, RECORD, rotation.model_dump_json())
    return rotation
