"""Reload secrets while the server runs, whenever their files have changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import structlog
from pydantic import SecretStr

from app.config.values import parse_key
from app.registration.rotation import SECRETS, finish_if_due, secrets_in
from app.secrets.files import read_of_app, stamp_of_app
from app.secrets.redaction import Redactor

KEY = "FETTLE_PRIVATE_KEY"
LOOK_SECONDS = 15.0

log = structlog.get_logger()


class SignatureChecker(Protocol):
    """Checks the signatures of deliveries."""

    def accept(self, secrets: list[str]) -> None:
        """Accept these secrets from now on, and no others."""
        ...


class SecretReloader:
    """Watches the App's secret files, if the settings came from files.

    A look costs a microsecond while no file has changed, so strangers' deliveries may cause many.
    """

    def __init__(self, data_dir: Path, redactor: Redactor, *, secrets: list[str], key: str) -> None:
        self._data_dir = data_dir
        self._redactor = redactor
        self._secrets, self._key = secrets, key
        self._stamps: dict[str, tuple[int, ...] | None] = {}
        self._replaced: list[str] = []
        same_key = _key_in(data_dir) == key
        self.watching = same_key and set(secrets_in(data_dir)) >= set(secrets)

    def new_secrets(self) -> list[str] | None:
        """Return the webhook secrets, if the file has others than before."""
        if not self._is_rewritten(SECRETS) or not (found := secrets_in(self._data_dir)):
            return None
        if found == self._secrets:
            return None
        for secret in found:
            self._redactor.add(secret)
        self._secrets = found
        self._replaced.append(SECRETS)
        log.info("webhook secrets replaced", accepted=len(found))
        return found

    def new_key(self) -> str | None:
        """Return the App's key, if the file has another one than before."""
        if not self._is_rewritten(KEY) or (found := _key_in(self._data_dir)) in {None, self._key}:
            return None
        assert found is not None
        self._redactor.add(found)
        self._key = found
        self._replaced.append(KEY)
        log.info("private key replaced")
        return found

    def _is_rewritten(self, name: str) -> bool:
        """Tell whether the file was written since this was last asked."""
        if not self.watching:
            return False
        stamp = stamp_of_app(self._data_dir, name)
        before, self._stamps[name] = self._stamps.get(name), stamp
        return stamp is not None and stamp != before

    async def run(
        self,
        door: SignatureChecker,
        renew: Callable[[], object],
        record: Callable[[str], Awaitable[None]],
    ) -> None:
        """Look again and again, so that a dropped secret is soon refused.

        `record` is told the name of each secret that was replaced.
        """
        while self.watching:
            try:
                if finish_if_due(self._data_dir, time.time()):
                    log.info("the old webhook secret is not accepted any more")
                if (found := self.new_secrets()) is not None:
                    door.accept(found)
                renew()
                while self._replaced:
                    await record(self._replaced[0])
                    self._replaced.pop(0)
            except Exception:  # its files are not ours, say: that must not end anything else
                log.exception("secrets not looked at, will be tried again")
            await asyncio.sleep(LOOK_SECONDS)


def _key_in(data_dir: Path) -> str | None:
    try:
        return parse_key(SecretStr(read_of_app(data_dir, KEY) or "")).get_secret_value()
    except ValueError:
        return None
