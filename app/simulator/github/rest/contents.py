"""REST endpoints that read files and folders at a commit."""

from __future__ import annotations

import posixpath

from app.simulator.github.answers import Answer, ApiError, Json, require_found
from app.simulator.github.calls import Call
from app.simulator.github.gitdir import GitFailed, TreeEntry
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.git import entry_json

routes = Routes()
LARGEST_FILE = 1_000_000  # beyond it GitHub gives the content to those who ask for it raw
LINK = "120000"
RAW = {"Content-Type": "application/vnd.github.raw; charset=utf-8"}


@routes.add("GET", "/contents", needs="contents=read")
@routes.add("GET", "/contents/{path:.*}", needs="contents=read")
async def get_contents(call: Call) -> Json:
    """Return a file with its content, or what a folder holds."""
    path = call.request.match_info.get("path", "").strip("/")
    revision = call.request.query.get("ref") or call.repository.default_branch
    sha = await call.git.resolve(revision)
    if sha is None:
        raise ApiError(404, f"No commit found for the ref {revision}")
    if not path:
        return await _folder(call, revision, sha, None)
    entry = require_found(await _entry(call, sha, path))
    if entry.kind == "tree":
        return await _folder(call, revision, sha, entry)
    return await _file(call, revision, sha, entry)


async def _entry(call: Call, sha: str, path: str) -> TreeEntry | None:
    try:
        found = await call.git.entries(sha, path)
    except GitFailed:
        return None
    return next((each for each in found if each.path == path), None)


async def _folder(call: Call, revision: str, sha: str, entry: TreeEntry | None) -> Json:
    held = await call.git.entries(sha, f"{entry.path}/" if entry else "")
    listed = [_shape(call, each, revision) for each in held]
    if not _asks_for(call, "object"):
        return listed
    root = entry or TreeEntry("040000", "tree", await call.git.tree_of(sha), 0, "")
    return _shape(call, root, revision) | {"entries": listed}


async def _file(call: Call, revision: str, sha: str, entry: TreeEntry) -> Json:
    target = None
    if entry.mode == LINK:
        target = (await call.git.blob(entry.sha)).decode(errors="replace")
        led = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), target))
        there = await _entry(call, sha, led)
        if there and there.kind == "blob" and there.mode != LINK:
            entry, target = there, None
    data = await call.git.blob(entry.sha)
    if _asks_for(call, "raw"):
        return Answer(200, data, RAW)
    if target is not None:
        return _shape(call, entry, revision) | {"target": target}
    shape: Json = entry_json(call.world, call.repository, entry, revision, data)
    return shape if len(data) <= LARGEST_FILE else shape | {"encoding": "none", "content": ""}


def _shape(call: Call, entry: TreeEntry, revision: str) -> Json:
    return entry_json(call.world, call.repository, entry, revision, None)


def _asks_for(call: Call, media: str) -> bool:
    return f"application/vnd.github.{media}" in call.request.headers.get("Accept", "")
