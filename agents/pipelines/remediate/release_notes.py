"""What the authors of the package say of the release: read where it is installed, untrusted."""

from __future__ import annotations

import asyncio
import json
import shlex

from agents.analysis.release_notes import extract_notes
from agents.errors import ToolError
from agents.pipelines.remediate.work import Work
from agents.run import StageContext

SECONDS = 30

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
    """Return what the installed release says changed, or where its authors say it; empty: neither.

    Nothing depends on it: what cannot be read is not there.
    """
    ends = _find_versions(work)
    if ends is None:
        return ""
    old, new = ends
    folder = work.found.group.directory.strip("/") or "."
    arguments = shlex.join([folder, work.found.name, new])
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


def _find_versions(work: Work) -> tuple[str, str] | None:
    """Return from which version to which one the package itself moved; None where it did not."""
    moves = work.bump.moves if work.bump else ()
    mine = next((move for move in moves if move.name == work.found.name), None)
    if mine is None:
        return None
    gone, come = mine.ends
    return (gone[-1], come[-1]) if gone and come else None
