"""A case: a real bug of a real package, as a repository, an issue, and upstream's own judge."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from agents.errors import ConfigError
from agents.policy import POLICY_PATH
from app.local.points import Point, read_points

CASES = Path(__file__).with_name("cases")


class Judge(BaseModel):
    """Upstream's tests of the version in which the bug is fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    take: tuple[str, ...]
    command: str


class CaseFile(BaseModel):
    """The file `case.yml` of a case's folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: str
    version: str
    fixed: str
    leave_out: tuple[str, ...] = ()
    issue: str
    script: str
    review: str
    review_script: str
    judge: Judge


@dataclass(frozen=True)
class Case:
    """A case with its source fetched: `before` holds the bug, `after` upstream's cure."""

    about: CaseFile
    title: str
    body: str
    script: Path
    before: Path
    after: Path
    review: tuple[Point, ...]
    """What a reviewer says about the pull request."""
    review_script: Path


def read_issue(text: str) -> tuple[str, str]:
    """Return title and body of an issue file: its first line, a heading or not, is the title."""
    first, _, body = text.strip().partition("\n")
    return first.lstrip("# ").strip(), body.strip()


async def load_case(name: str, cache: Path) -> Case:
    """Return the case, its packages fetched into `cache` and unpacked there.

    Raises ConfigError when a package cannot be fetched.
    """
    folder = CASES / name
    about = CaseFile.model_validate(yaml.safe_load((folder / "case.yml").read_text("utf-8")))
    title, body = read_issue((folder / about.issue).read_text("utf-8"))
    before, after = await asyncio.gather(
        _unpacked(folder / "requirements.txt", about, about.version, cache),
        _unpacked(folder / "requirements-fixed.txt", about, about.fixed, cache),
    )
    _give_policy(before, folder / "fettle.yml")
    scripts = Path(__file__).parent / "model" / "scripts"
    return Case(
        about,
        title,
        body,
        scripts / about.script,
        before,
        after,
        read_points(folder / about.review),
        scripts / about.review_script,
    )


def _give_policy(repository: Path, policy: Path) -> None:
    """Let the repository have a policy for Fettle, which upstream has none of."""
    target = repository / POLICY_PATH
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(policy.read_bytes())


async def _unpacked(requirements: Path, about: CaseFile, version: str, cache: Path) -> Path:
    """Fetch one source distribution, its hash checked by pip, and unpack it."""
    target = cache / f"{about.package}-{version}"
    if target.exists():
        return target
    fetched = cache / f"fetch-{about.package}-{version}"
    shutil.rmtree(fetched, ignore_errors=True)
    await _pip_download(about.package, requirements, fetched)
    [archive] = fetched.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(fetched, filter="data")
    for unwanted in about.leave_out:
        path = fetched / f"{about.package}-{version}" / unwanted
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    (fetched / f"{about.package}-{version}").rename(target)
    shutil.rmtree(fetched)
    return target


async def _pip_download(package: str, requirements: Path, target: Path) -> None:
    """Run pip with the effective configuration of whoever runs us, so private mirrors work."""
    command = (
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--no-binary", package, "--require-hashes"),
        *("--requirement", str(requirements), "--dest", str(target)),
    )
    pip = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await pip.communicate()
    if pip.returncode != 0:
        last = (errors.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1]
        raise ConfigError(
            f"The source of `{package}` could not be fetched with pip: {last}. Check that"
            f" `pip download --no-deps --no-binary {package} {package}` works here."
        )
