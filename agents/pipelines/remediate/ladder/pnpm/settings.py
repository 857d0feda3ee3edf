"""The pnpm settings that decide what is locked; all other settings are ignored."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from agents.errors import ToolError
from agents.pipelines.remediate.ladder.npm.files import Table, table
from agents.pipelines.remediate.ladder.values import Unfit
from agents.ports import WorkTree

_OPTIONS = frozenset(
    {"auto-install-peers", "exclude-links-from-lockfile", "peers-suffix-max-length"}
    | {"inject-workspace-packages", "dedupe-peer-dependents", "dedupe-injected-deps"}
    | {"resolve-peers-from-workspace-root", "link-workspace-packages", "resolution-mode"}
    | {"prefer-workspace-packages", "dedupe-peers"}
)
_VALUE = re.compile(r"true|false|deep|highest|time-based|lowest-direct|[0-9]{1,6}")
_KEPT = (
    "packages", "catalog", "catalogs", "overrides", "packageExtensions", "patchedDependencies",
    "peerDependencyRules", "ignoredOptionalDependencies",
)  # fmt: skip
_CODE = "configDependencies"
_PROGRAMS = (
    "`{file}` asks for `{name}`, which are programs that change what pnpm does. Fettle does not "
    "run them, and pnpm without them would lock something else."
)
_MAJOR = re.compile(r"pnpm@([0-9]{1,3})\.")
_RELEASES = {"6": ("8",), "9": ("10", "9", "11", "12")}
"""Which releases write each format of a lock file, the usual one first."""


def release(form: str, manifest: Table) -> str:
    """Return which release of pnpm to take: the one that the manifest names, if it can be."""
    found = _MAJOR.match(str(manifest.get("packageManager") or ""))
    named = found[1] if found else ""
    return named if named in _RELEASES[form] else _RELEASES[form][0]


def workspace(settings: Table, file: str) -> Table:
    """Return the members of a pnpm-workspace.yaml that decide what is locked. Raises Unfit."""
    if settings.get(_CODE):
        raise Unfit("unsupported", _PROGRAMS.format(file=file, name=_CODE))
    return {key: settings[key] for key in _KEPT if key in settings}


def manifest(whole: Table, file: str) -> Table:
    """Return a package.json with those members of pnpm's own part alone. Raises Unfit."""
    own = table(whole.get("pnpm"))
    return {**whole, "pnpm": workspace(own, file)} if own else whole


def patches(*settings: Table) -> Iterator[str]:
    """Yield the files that packages are patched with: their content is part of the lock file."""
    for each in settings:
        for value in table(each.get("patchedDependencies")).values():
            if isinstance(value, str):
                yield value


async def options(
    tree: WorkTree, directory: str, settings: Table, lock: Mapping[str, object]
) -> list[str]:
    """Return as options what decides the looks of the lock file; its own word counts most."""
    try:
        text = (await tree.read(posixpath.join(directory, ".npmrc"))).decode("utf-8", "replace")
    except ToolError:
        text = ""
    lines = (line.partition("=") for line in text.splitlines())
    found: list[tuple[str, object]] = [(name.strip(), value.strip()) for name, _, value in lines]
    found += [(_kebab(name), value) for name, value in settings.items()]
    found += [(_kebab(name), value) for name, value in table(lock.get("settings")).items()]
    good = {
        name: str(value).lower()
        for name, value in found
        if name in _OPTIONS and _VALUE.fullmatch(str(value).lower())
    }
    return [f"--config.{name}={value}" for name, value in good.items()]


def _kebab(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: f"-{match[0].lower()}", name)
