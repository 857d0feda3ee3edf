"""An alert case: a real advisory, a vulnerable repository, and a program that exploits it.

Where no package index has the real packages, made-up ones take their place.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from app.demo.package_index.releases import Release, package_lock

CASES = Path(__file__).with_name("cases")
_ASK_SECONDS = 60.0
_ONCE = "--fetch-retries=0"  # an index that is not there is not waited for


class Exploit(BaseModel):
    """A program that shows whether what is locked can be attacked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    needs: tuple[str, ...]
    """The packages that it needs, in the versions that are locked."""
    program: str
    before: str
    """What it prints with the vulnerable version."""
    after: str


class AlertCase(BaseModel):
    """The file `alert.yml` of a case's folder; what else is in there is the repository."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ecosystem: Literal["pip", "npm"]
    package: str
    ghsa: str
    cve: str
    severity: Literal["low", "medium", "high", "critical"]
    vulnerable: str
    patched: str
    summary: str
    manifest: str
    relationship: Literal["direct", "transitive"]
    exploit: Exploit


@dataclass(frozen=True)
class PreparedAlertCase:
    """A case with the files of its repository, and the releases that an index has to be given."""

    about: AlertCase
    files: dict[str, str]
    releases: tuple[Release, ...] = field(default=())


async def real_cases() -> list[PreparedAlertCase]:
    """Return the cases whose packages an index offers that this machine is configured for."""
    every = [_read(folder) for folder in sorted(CASES.iterdir())]
    offered = await asyncio.gather(*(_is_published(each.about) for each in every))
    return [each for each, there in zip(every, offered, strict=True) if there]


def made_up_case() -> PreparedAlertCase | None:
    """Return a case that needs npm and no index; None where npm is not here either."""
    if shutil.which("npm") is None:
        return None
    risky, safe = (_merger(version, text) for version, text in (("1.0.0", ""), ("1.0.1", _GUARD)))
    above = Release("npm", "demo-settings", "2.0.0", {"demo-merge": "^1.0.0"}, {"index.js": ""})
    files = package_lock("tool", {"demo-settings": "^2.0.0"}, [risky, above])
    about = AlertCase(
        ecosystem="npm",
        package="demo-merge",
        ghsa="GHSA-2222-3333-4444",
        cve="",
        severity="high",
        vulnerable="< 1.0.1",
        patched="1.0.1",
        summary="A key of an object changes the prototype of all objects.",
        manifest="js/package-lock.json",
        relationship="transitive",
        exploit=Exploit(
            needs=("demo-merge",),
            program=_POLLUTE,
            before="polluted: yes",
            after="polluted: undefined",
        ),
    )
    return PreparedAlertCase(
        about, {f"js/{name}": text for name, text in files.items()}, (risky, safe, above)
    )


_GUARD = "if (key !== '__proto__') "
_MERGE = """\
module.exports = function merge(to, from) {{
  for (const key in from) {guard}{{
    to[key] = typeof from[key] === 'object' ? merge(to[key] ?? {{}}, from[key]) : from[key];
  }}
  return to;
}};
"""
_POLLUTE = """\
require('demo-merge')({}, JSON.parse('{"__proto__": {"polluted": "yes"}}'));
console.log('polluted:', ({}).polluted);
"""


def _merger(version: str, guard: str) -> Release:
    return Release("npm", "demo-merge", version, files={"index.js": _MERGE.format(guard=guard)})


def _read(folder: Path) -> PreparedAlertCase:
    about = AlertCase.model_validate(yaml.safe_load((folder / "alert.yml").read_text("utf-8")))
    files = {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "alert.yml"
    }
    return PreparedAlertCase(about, files)


async def _is_published(about: AlertCase) -> bool:
    """Ask the index that pip or npm is configured for here."""
    if about.ecosystem == "npm":
        npm = ("npm", "view", f"{about.package}@{about.patched}", "version", _ONCE)
        return shutil.which("npm") is not None and about.patched in await _run_command(npm)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "0")
    return about.patched in await _run_command((*pip, "index", "versions", about.package))


async def _run_command(command: Sequence[str]) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(_ASK_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    return output.decode("utf-8", "replace") if process.returncode == 0 else ""
