"""GitHub's npm packages for the referees, installed by their locked hashes."""

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path

import pytest

from tests.alone import hold_lock

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "referees"
LOCK = HERE / "package-lock.json"
DESCRIPTION = "package/generated/api.github.com.json"


@cache
def npm_packages() -> Path:
    """Return `node_modules/@octokit`, installed where setup did not; skip where there is no npm."""
    npm = _npm()
    with hold_lock("npm"):
        if not _is_installed():
            _run(npm, "ci", cwd=HERE)
    return HERE / "node_modules" / "@octokit"


@cache
def axe_script() -> str:
    """Return axe-core, which looks for what keeps people from using a page; skip without npm."""
    return (npm_packages().parent / "axe-core" / "axe.min.js").read_text()


def _is_installed() -> bool:
    """Say whether what is unpacked is what is locked."""
    listing = HERE / "node_modules" / ".package-lock.json"
    if not listing.exists():
        return False
    there = json.loads(listing.read_text())["packages"]
    return all(
        there.get(name, {}).get("integrity") == package["integrity"]
        for name, package in _read_lock().items()
        if name and not package.get("optional")
    )


def _read_lock() -> dict[str, dict[str, str]]:
    packages: dict[str, dict[str, str]] = json.loads(LOCK.read_text())["packages"]
    return packages


@cache
def rest_description() -> Path:
    """Return GitHub's OpenAPI description: one file of a package that unpacks to 385 MB."""
    npm = _npm()
    CACHE.mkdir(parents=True, exist_ok=True)
    locked = _read_lock()["node_modules/@octokit/openapi"]
    wanted = CACHE / f"api.github.com-{locked['version']}.json"
    with hold_lock("npm"):
        if not wanted.exists():
            _run(npm, "pack", f"@octokit/openapi@{locked['version']}", cwd=CACHE)
            [archive] = CACHE.glob(f"octokit-openapi-{locked['version']}.tgz")
            digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            assert f"sha512-{digest}" == locked["integrity"], "not the package that was locked"
            with tarfile.open(archive) as package:
                member = package.extractfile(DESCRIPTION)
                assert member
                unfinished = wanted.with_suffix(".part")
                unfinished.write_bytes(member.read())
            unfinished.rename(wanted)
            archive.unlink()
    return wanted


def _npm() -> str:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is absent: GitHub's own descriptions cannot be had")
    return npm


def _run(npm: str, *args: str, cwd: Path) -> None:
    done = subprocess.run(
        [npm, *args], check=False, cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"npm {args[0]}: {done.stderr[-2000:]}"
