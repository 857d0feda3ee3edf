"""An operator's key for commits, made by ssh-keygen itself, and GitHub's entry for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

EMAIL = "keys@example.com"


def make_commit_key(folder: Path, passphrase: str = "") -> tuple[Path, str]:
    """Return the private key's file, and the line by which signatures of it are held good."""
    path = folder / "commits.key"
    made = ("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", path)
    subprocess.run(made, check=True)
    public = path.with_suffix(".key.pub").read_text().strip()
    return path, f'{EMAIL} namespaces="git" {public}'
