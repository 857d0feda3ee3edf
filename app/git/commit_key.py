"""The operator's own key for commits: git signs with it what GitHub does not sign.

https://docs.github.com/authentication/managing-commit-signature-verification/about-commit-signature-verification
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agents.errors import ConfigError
from app.git.mirror.mirror import Mirror
from app.git.objects import CommitParts
from app.git.ref_names import object_id

KEYGEN = "/usr/bin/ssh-keygen"
SECONDS = 20
_MISSING = (
    "FETTLE_COMMIT_KEY_FILE names a key, and FETTLE_COMMITTER not whose it is. Set it to"
    " `Name <email>`, of the account at GitHub that has the key as a signing key."
)
_LONELY = "FETTLE_COMMITTER says whose key it is, and FETTLE_COMMIT_KEY_FILE names none. Set both."
_OPEN = "Others than its owner can read the key in FETTLE_COMMIT_KEY_FILE: run `chmod 600` on it."
_UNUSABLE = (
    "The key in FETTLE_COMMIT_KEY_FILE cannot be used: it has to be an OpenSSH private key without"
    " a passphrase, as `ssh-keygen -t ed25519 -N ''` makes it."
)
_NO_KEYGEN = "Commits are to be signed by FETTLE_COMMIT_KEY_FILE, and ssh-keygen is not installed."


@dataclass(frozen=True)
class CommitKey:
    """An OpenSSH private key, and the account at GitHub that has it as a signing key."""

    path: Path
    name: str
    email: str

    def fingerprint(self) -> str:
        """Return the key's fingerprint, `SHA256:…`. Raises ConfigError where it cannot sign."""
        if not os.access(KEYGEN, os.X_OK):
            raise ConfigError(_NO_KEYGEN)
        if stat.S_IMODE(self.path.stat().st_mode) & 0o077:  # ssh-keygen takes no such key either
            raise ConfigError(_OPEN)
        public = _run_keygen("-y", "-P", "", "-f", str(self.path))
        return _run_keygen("-l", "-f", "-", said=public).split()[1]

    async def sign(self, mirror: Mirror, commit: str, parents: tuple[str, ...]) -> str:
        """Make the commit again with this signature; equal arguments make the same commit.

        Author, files and message stay, and so does the time; the committer is whose key it is,
        since GitHub holds that address against the key. Raises GitFailed.
        """
        parts = await mirror.parts_of(commit)
        async with mirror.lock():
            made = await mirror.git.local(
                "commit-tree",
                *(option for each in parents for option in ("-p", object_id(each))),
                f"-S{self.path}",
                "-F",
                "-",
                object_id(parts.tree),
                stdin=parts.message.encode(),
                environment=self._name_people(parts),
                config={"gpg.format": "ssh", "gpg.ssh.program": KEYGEN},
            )
        return made.decode().strip()

    async def sign_all(
        self, mirror: Mirror, missing: Mapping[str, CommitParts], signed: Mapping[str, str]
    ) -> dict[str, str]:
        """Make all these again, parents first; `signed` names those that were before."""
        made: dict[str, str] = {}
        for commit, parts in missing.items():
            names = {**signed, **made}
            parents = tuple(names.get(parent, parent) for parent in parts.parents)
            made[commit] = await self.sign(mirror, commit, parents)
        return made

    def _name_people(self, parts: CommitParts) -> dict[str, str]:
        who, _, when = parts.author.rpartition("> ")
        name, _, email = who.rpartition(" <")
        return {
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_NAME": self.name,
            "GIT_COMMITTER_EMAIL": self.email,
            "GIT_COMMITTER_DATE": when,
        }


def read_commit_key(path: Path | None, committer: str | None) -> CommitKey | None:
    """Return the key of these settings; None without any. Raises ConfigError for half of them."""
    if path is None and committer is None:
        return None
    if path is None:
        raise ConfigError(_LONELY)
    if committer is None:
        raise ConfigError(_MISSING)
    name, _, email = committer.rstrip(">").rpartition(" <")
    return CommitKey(path.absolute(), name, email)


def _run_keygen(*args: str, said: str = "") -> str:
    try:
        return subprocess.run(
            [KEYGEN, *args],
            input=said,
            capture_output=True,
            check=True,
            text=True,
            timeout=SECONDS,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        ).stdout
    except (subprocess.SubprocessError, OSError):
        raise ConfigError(_UNUSABLE) from None
