"""Point out what a change opens: protection switched off, new hosts, new packages' licences."""

from __future__ import annotations

import asyncio
import json
import re
import shlex

from agents.analysis.exposure import find_exposures
from agents.analysis.known_packages import list_known_paths, read_known_packages
from agents.analysis.weakening import Finding, make_finding
from agents.ports import WorkTree
from agents.run import StageContext

MOST = 20
"""New hosts and new packages that are looked up."""
SECONDS = 30
NOT_TOLD = "not told by what is installed here"
_LOCK = re.compile(r"(?:.*/)?(?:.*\.lock|package-lock\.json|npm-shrinkwrap\.json)")

# What is installed says so itself: METADATA of a distribution, package.json of an npm package.
# https://packaging.python.org/specifications/core-metadata/#license-expression
# https://docs.npmjs.com/cli/configuring-npm/package-json#license
_LOOK = """
import importlib.metadata, json, pathlib, sys
def of_pip(name):
    about = importlib.metadata.metadata(name)
    words = [about.get("License-Expression"), about.get("License")]
    words += [e.split(" :: ")[-1] for e in about.get_all("Classifier") or [] if e[:7] == "License"]
    return next(w.strip().splitlines()[0] for w in words if w and w.strip())
def of_npm(name):
    for folder in (".", *sys.argv[1].split(":")):
        file = pathlib.Path(folder, "node_modules", name, "package.json")
        if file.is_file():
            told = json.loads(file.read_text())["license"]
            return told if isinstance(told, str) else told["type"]
found = {}
for each in sys.argv[2:]:
    tool, _, name = each.partition(":")
    try:
        found[each] = str({"pip": of_pip, "npm": of_npm}[tool](name) or "")[:100]
    except Exception:
        pass
print("licences", json.dumps(found))
"""


async def find_opened(
    run: StageContext, tree: WorkTree, between: tuple[str, str], diff: str
) -> tuple[Finding, ...]:
    """Return what the change between two commits or trees opens. `diff`: with much around it."""
    old, new = between
    unsafe, hosts = await asyncio.to_thread(find_exposures, diff)
    known = [await run.ports.source.mentions(old, each.name) for each in hosts[:MOST]]
    unknown = [each.finding for each, is_known in zip(hosts, known, strict=False) if not is_known]
    return (*unsafe, *unknown, *await _find_licences(run, tree, old, new))


async def _find_licences(
    run: StageContext, tree: WorkTree, old: str, new: str
) -> tuple[Finding, ...]:
    """Return each package that the manifests name in `new` and did not in `old`, with its licence.

    The licence is what the package says of itself where it is installed: untrusted.
    """
    changed = await tree.list_changed_paths(old, new)
    paths = [path for path in list_known_paths(changed) if not _LOCK.fullmatch(path)]
    before, after = [await _read_names(tree, each, paths) for each in (old, new)]
    known = (await run.find_known_packages()).names
    added = sorted(set(after) - set(before) - known)[:MOST]
    if not added:
        return ()
    folders = ":".join(sorted({path.rpartition("/")[0] or "." for path in paths}))
    told = await _look(tree, folders, [f"{tool}:{name}" for tool, name in added])
    return tuple(
        make_finding(
            after[tool, name],
            0,
            "licence",
            f"{name}: {told.get(f'{tool}:{name}') or NOT_TOLD}",
            grave=False,
        )
        for tool, name in added
    )


async def _read_names(
    tree: WorkTree, revision: str, paths: list[str]
) -> dict[tuple[str, str], str]:
    """Return the packages that the manifests name, each with the first that does."""
    found: dict[tuple[str, str], str] = {}
    for path in paths:
        text = (await tree.show(revision, path) or b"").decode("utf-8", "replace")
        named = await asyncio.to_thread(read_known_packages, "", {path: text})
        for each in named.names:
            found.setdefault(each, path)
    return found


async def _look(tree: WorkTree, folders: str, names: list[str]) -> dict[str, str]:
    command = f"python3 -c {shlex.quote(_LOOK)} {shlex.join([folders, *names])}"
    done = await tree.run(["bash", "-c", command], timeout=SECONDS, writable=False)
    line = next((e for e in done.output.splitlines() if e.startswith("licences {")), "")
    try:
        told = json.loads(line.removeprefix("licences "))
    except ValueError:
        return {}
    return {str(name): str(text) for name, text in told.items()} if isinstance(told, dict) else {}
