"""What the authors of the package say of the release: untrusted.

Of a package it is read where it is installed; of an action, which no registry has, in the releases
of its repository.
"""

from __future__ import annotations

import asyncio
import json
import shlex

from agents.analysis.release_notes import cut_notes, extract_notes
from agents.errors import RunError, ToolError, TransientError
from agents.pipelines.remediate.findings import AlertGroup
from agents.pipelines.remediate.ladder.actions.releases import SCHEME, ReleaseTags
from agents.pipelines.remediate.work import Bump, Work
from agents.requests import ACTIONS
from agents.run import StageContext
from agents.text import one_line

SECONDS = 30
MOST = 3  # packages beside the first
TOGETHER = 1_100  # characters of all of them
RELEASES = 5  # of an action, the newest ones

# Packages of npm, Composer, Go, Cargo and Bundler bring their changelogs along; of a Python
# distribution the metadata says where it is. A module's path and version in Go's cache have an
# exclamation mark for each capital: https://go.dev/ref/mod#module-cache
# https://packaging.python.org/specifications/well-known-project-urls/
_LOOK = """
import importlib.metadata, json, os, pathlib, re, sys
folder, name, new = sys.argv[1:]
told, names = {}, ("changelog", "history", "changes", "releases")
home, plain = pathlib.Path.home(), new.removeprefix("v")
cargo = pathlib.Path(os.environ.get("CARGO_HOME") or home / ".cargo", "registry", "src")
modules = pathlib.Path(os.environ.get("GOPATH") or home / "go", "pkg", "mod")
bundle = pathlib.Path(os.environ.get("BUNDLE_PATH") or "vendor/bundle")
module = re.sub("[A-Z]", lambda each: "!" + each[0].lower(), f"{name}@v{plain}")
homes = [modules / module, *cargo.glob(f"*/{name}-{new}")]
homes += bundle.glob(f"**/gems/{name}-{new}")
for place in sorted({folder, "."}):
    top = pathlib.Path(place, "node_modules")
    stored = f"{name.replace('/', '+')}@{new}*/node_modules/{name}"
    homes += [top / name, *(top / ".pnpm").glob(stored), pathlib.Path(place, "vendor", name)]
for package in homes:
    for file in sorted(package.glob("*")) if package.is_dir() else ():
        if file.is_file() and file.stem.lower() in names and "text" not in told:
            text = file.read_text("utf-8", "replace")
            at = max(text.find(plain) - 200, 0)
            told["text"] = text[at : at + 20000]
try:
    about = importlib.metadata.metadata(name)
    for each in about.get_all("Project-URL") or ():
        label, _, url = each.partition(",")
        plain = "".join(c for c in label.lower() if c.isalnum())
        if plain in ("changelog", "changes", "releasenotes", "whatsnew", "history"):
            told["url"] = url.strip()[:300]
except Exception:
    pass
print("notes", json.dumps(told))
"""


async def read_release_notes(run: StageContext, work: Work) -> str:
    """Return what the installed releases say changed, or where their authors say it; maybe nothing.

    Nothing depends on it: what cannot be read is not there. Of packages that go along the first
    few are read.
    """
    along = [(each.found, each.bump) for each in work.companions[:MOST]]
    pairs = [(work.found, work.bump), *along]
    found = [(each.name, await _read_one(run, each, bump)) for each, bump in pairs]
    told = [(name, text) for name, text in found if text]
    if not (along and told):
        return told[0][1] if told else ""
    room = TOGETHER // len(told)
    return "\n\n".join(f"{one_line(name, 60)}\n\n{text[:room].strip()}" for name, text in told)


async def _read_one(run: StageContext, found: AlertGroup, bump: Bump | None) -> str:
    ends = _find_versions(found, bump)
    if ends is None:
        return ""
    if found.group.ecosystem == ACTIONS:
        return await _read_releases(run, found.group.package, *ends)
    old, new = ends
    folder = found.group.directory.strip("/") or "."
    arguments = shlex.join([folder, found.name, new])
    command = f"python3 -c {shlex.quote(_LOOK)} {arguments}"
    try:
        tree = await run.tree()
        done = await tree.run(["bash", "-c", command], timeout=SECONDS, writable=False)
    except ToolError:
        return ""
    line = next((e for e in done.output.splitlines() if e.startswith("notes {")), "")
    try:
        told = json.loads(line.removeprefix("notes "))
        text, url = str(told.get("text") or ""), str(told.get("url") or "")
    except (ValueError, AttributeError):
        return ""
    ends = (old.removeprefix("v"), new.removeprefix("v"))
    return await asyncio.to_thread(extract_notes, text, *ends) or url


async def _read_releases(run: StageContext, package: str, old: str, new: str) -> str:
    """Return what the releases of an action after `old` up to `new` say, newest first."""
    actions, name = run.ports.actions, "/".join(package.split("/")[:2])
    if actions is None:
        return ""
    try:
        repository = await actions.find(name)
    except (RunError, TransientError):
        return ""
    if repository is None:
        return ""
    tags = ReleaseTags(repository)
    newer = [each for each in SCHEME.order(tags.versions) if SCHEME.newer(each, old)]
    between = [each for each in newer if not SCHEME.newer(each, new)]
    asked = [tags.name_tag(each, "v") for each in reversed(between[-RELEASES:])]
    told = await actions.read_notes(repository.name, asked)
    texts = [f"{tag}\n\n{told[tag].strip()}" for tag in asked if tag in told]
    return cut_notes("\n\n".join(texts).replace("\r\n", "\n").split("\n"))


def _find_versions(found: AlertGroup, bump: Bump | None) -> tuple[str, str] | None:
    """Return from which version to which one the package itself moved; None where it did not."""
    moves = bump.moves if bump else ()
    mine = next((move for move in moves if move.name == found.name), None)
    if mine is None:
        return None
    gone, come = mine.ends
    return (gone[-1], come[-1]) if gone and come else None
