"""Bait: what looks like secrets in each run's sandbox, and is nobody's.

No work needs it, so whoever reads it out is looking for secrets. Where it turns up, the run ends,
what is known is kept for the operator, and nothing of it is published.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import string
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import structlog

from agents.errors import BaitTaken
from app.secrets.disguises import list_views
from app.secrets.redaction import list_forms

AROUND = 200
"""Characters beside the bait that the evidence keeps."""
FOLDER = "bait"
TAKEN = (
    "The run was ended: {where} held what looks like a secret of this machine, which Fettle lays"
    " into each sandbox as bait and no work needs. Nothing was published with it. Somebody may have"
    " planted instructions in the issue, in a comment or in the repository: read them, before"
    " anybody asks again. The operator has the evidence (`fettle doctor`)."
)

log = structlog.get_logger()


@dataclass(frozen=True)
class RunBait:
    """The bait of one run: the same whenever it is made, and no other run's."""

    run_id: str
    key: bytes
    tell: Callable[[str, str, str], None]
    """Is told the run, where its bait turned up, and what stood around it."""

    @property
    def files(self) -> Mapping[str, bytes]:
        """Return the files by their path in the home folder of the sandbox."""
        known = self._values
        texts = {
            ".aws/credentials": (
                f"[default]\naws_access_key_id = {known['id']}\n"
                f"aws_secret_access_key = {known['secret']}\n"
            ),
            ".config/gh/hosts.yml": f"github.com:\n    oauth_token: {known['token']}\n",
            ".env": f"API_TOKEN={known['password']}\nDB_PASSWORD={known['password']}\n",
            ".ssh/id_ed25519": known["ssh"],
        }
        return {path: text.encode() for path, text in texts.items()}

    def require_none(self, where: str, text: str) -> None:
        """Raise BaitTaken, once the operator was told, if there is bait in the text."""
        if (around := self._find(text)) is not None:
            self.tell(self.run_id, where, around)
            raise BaitTaken(TAKEN.format(where=where))

    @cached_property
    def _values(self) -> Mapping[str, str]:
        token = "ghp_" + self._draw("token", 36, string.ascii_letters + string.digits)
        lines = [self._draw(f"ssh{n}", 70, string.ascii_letters + string.digits) for n in range(4)]
        kind = "OPENSSH PRIVATE KEY"
        return {
            "id": "AKIA" + self._draw("id", 16, string.ascii_uppercase + "234567"),
            "secret": self._draw("secret", 40, string.ascii_letters + string.digits + "+/"),
            "token": token,
            "password": self._draw("password", 32, string.ascii_letters + string.digits),
            "ssh": "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""]),
        }

    def _draw(self, name: str, length: int, letters: str) -> str:
        said = f"{self.run_id}\0{name}".encode()
        drawn = b"".join(
            hmac.digest(self.key, said + bytes([part]), hashlib.sha256) for part in range(3)
        )
        return "".join(letters[each % len(letters)] for each in drawn[:length])

    @cached_property
    def _forms(self) -> frozenset[str]:
        values = {name: value for name, value in self._values.items() if name != "ssh"}
        lines = self._values["ssh"].splitlines()[1:-1]
        return frozenset(form for each in (*values.values(), *lines) for form in list_forms(each))

    def _find(self, text: str) -> str | None:
        """Return what stands around the bait in the text, however it is written; None without."""
        for seen in (text, *(view.text for view in list_views(text)), text[::-1]):
            for form in self._forms:
                if (at := seen.find(form)) >= 0:
                    return seen[max(0, at - AROUND) : at + len(form) + AROUND]
        return None


class BaitKeeper:
    """Makes the bait of runs, and keeps what became of it in the data folder."""

    def __init__(self, data_dir: Path, count: Callable[[], object] = lambda: None) -> None:
        self._folder = data_dir / FOLDER
        self._count = count

    def for_run(self, run_id: str) -> RunBait:
        """Return the bait of this run."""
        return RunBait(run_id, self._key, self._keep)

    @cached_property
    def _key(self) -> bytes:
        """Return what all bait is made of; each data folder has its own, known to nobody else."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / "key"
        try:
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_bytes()
        with os.fdopen(opened, "wb") as file:
            file.write(key := base64.b64encode(secrets.token_bytes(32)))
        return key

    def _keep(self, run_id: str, where: str, around: str) -> None:
        log.error("bait taken", run=run_id, where=where)
        self._count()
        found = {"run": run_id, "where": where, "around": around, "at": time.time()}
        path = self._folder / f"{time.time_ns()}.json"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            json.dump(found, file)


def list_taken(data_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield run and place of each bait that was taken, oldest first."""
    for path in sorted((data_dir / FOLDER).glob("*.json")):
        try:
            found = json.loads(path.read_text("utf-8"))
            yield str(found["run"]), str(found["where"])
        except (OSError, ValueError, KeyError, TypeError):
            yield "unknown", path.name
