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

# An npm package brings its changelog along; of a distribution the metadata says where it is.
# https://packaging.python.org/specifications/well-known-project-urls/
_LOOK = """
import importlib.metadata, json, pathlib, sys
folder, name, new = sys.argv[1:]
told, names = {}, ("changelog", "history", "changes", "releases")
for place in {folder, "."}:
    top = pathlib.Path(place, "node_modules")
    stored = f"{name.replace('/', '+')}@{new}*/node_modules/{name}"
    for home in (top / name, *(top / ".pnpm").glob(stored)):
        for file in sorted(home.glob("*")) if home.is_dir() else ():
            if file.is_file() and file.stem.lower() in names:
                text = file.read_text("utf-8", "replace")
                at = max(text.find(new) - 200, 0)
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
    return await asyncio.to_thread(extract_notes, text, old, new) or url


def _find_versions(work: Work) -> tuple[str, str] | None:
    """Return from which version to which one the package itself moved; None where it did not."""
    moves = work.bump.moves if work.bump else ()
    mine = next((move for move in moves if move.name == work.found.name), None)
    if mine is None:
        return None
    gone, come = mine.ends
    return (gone[-1], come[-1]) if gone and come else None
