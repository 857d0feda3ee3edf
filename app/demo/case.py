"""A demo case: a real bug of a real package, an issue about it, and upstream's tests as judge."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

import yaml
from backports import tarfile
from pydantic import BaseModel, ConfigDict

from agents.policy import POLICY_PATH
from agents.text import split_title
from app.demo.package_index.sdist import fetch_source, leave_out
from app.demo.review_points import ReviewPoint, read_points

CASES = Path(__file__).with_name("cases")


class UpstreamTests(BaseModel):
    """Upstream's tests of the version in which the bug is fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    take: tuple[str, ...]
    command: str


class DemoCaseFile(BaseModel):
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
    judge: UpstreamTests


@dataclass(frozen=True)
class DemoCase:
    """A case with its source fetched: `before` holds the bug, `after` upstream's cure."""

    about: DemoCaseFile
    title: str
    body: str
    script: Path
    before: Path
    after: Path
    review: tuple[ReviewPoint, ...]
    """What a reviewer says about the pull request."""
    review_script: Path


async def load_case(name: str, cache: Path) -> DemoCase:
    """Return the case, its packages fetched into `cache` and unpacked there.

    Raises ConfigError when a package cannot be fetched.
    """
    folder = CASES / name
    about = DemoCaseFile.model_validate(yaml.safe_load((folder / "case.yml").read_text("utf-8")))
    title, body = split_title((folder / about.issue).read_text("utf-8"))
    before, after = await asyncio.gather(
        _unpack(folder / "requirements.txt", about, about.version, cache),
        _unpack(folder / "requirements-fixed.txt", about, about.fixed, cache),
    )
    _give_policy(before, folder / "fettle.yml")
    scripts = Path(__file__).parents[1] / "simulator/model/scripts"
    return DemoCase(
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


async def _unpack(requirements: Path, about: DemoCaseFile, version: str, cache: Path) -> Path:
    """Fetch one source distribution, its hash checked by pip, and unpack it."""
    target = cache / f"{about.package}-{version}"
    if target.exists():
        return target
    fetched = cache / f"fetch-{about.package}-{version}"
    shutil.rmtree(fetched, ignore_errors=True)
    archive = await fetch_source(about.package, version, requirements, fetched)
    with tarfile.open(archive) as packed:
        packed.extractall(fetched, filter="data")
    source = fetched / f"{about.package}-{version}"
    leave_out(source, about.leave_out)
    source.rename(target)
    shutil.rmtree(fetched)
    return target
