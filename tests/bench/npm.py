"""Packages of npm that a bench compares with, installed by their locked hashes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache" / "bench"
NPM_SECONDS = 300


def npm_home(name: str, locked: Path, wanted: str) -> tuple[Path | None, str]:
    """Return where the packages of the folder `locked` are installed; None and why, if nowhere.

    They are there already when the path `wanted` exists and nothing in `locked` has changed.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None, "npm is not here"
    home = CACHE / name
    files = [each for each in locked.iterdir() if each.is_file()]
    if (home / wanted).exists() and all(_is_same(each, home / each.name) for each in files):
        return home, ""
    home.mkdir(parents=True, exist_ok=True)
    for each in files:
        shutil.copy(each, home)
    try:
        done = subprocess.run(
            [npm, "ci"], cwd=home, capture_output=True, text=True, timeout=NPM_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None, "npm took too long"
    if done.returncode != 0:
        return (
            None,
            f"npm failed: {(done.stderr.strip().splitlines() or ['it did not say why'])[-1]}",
        )
    if not (home / wanted).exists():
        return None, f"npm installed no {wanted}"
    return home, ""


def _is_same(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()
