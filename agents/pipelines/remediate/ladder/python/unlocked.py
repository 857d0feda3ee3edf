"""Python projects without a lock file: what pyproject.toml and setup.cfg ask for."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Collection, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agents.pipelines.remediate.ladder.files import read_text
from agents.pipelines.remediate.ladder.python import index, pyproject, setup_cfg, specs
from agents.pipelines.remediate.ladder.ranges import PYPI, Scheme
from agents.pipelines.remediate.ladder.unlocked import Lowest, Unlocked
from agents.pipelines.remediate.ladder.values import Group, Unfit
from agents.ports import WorkTree

_NAMES = {"pyproject.toml", "setup.cfg"}
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock")
_POETRY = (
    "`{file}` states its requirements to Poetry, and there is no poetry.lock beside it, without"
    " which nobody knows what is installed. Run `poetry lock`, commit it, then ask again."
)


def find(paths: frozenset[str], group: Group) -> UnlockedPython | None:
    """Return the manifests that the alerts name, where no lock file lies beside them."""
    named = [path for path in group.manifests if path in paths]
    known = {posixpath.basename(path) for path in named} <= _NAMES
    if group.ecosystem != "pip" or not named or len(named) != len(group.manifests) or not known:
        return None
    folders = {posixpath.dirname(path) for path in named}
    if any(posixpath.join(folder, lock) in paths for folder in folders for lock in _LOCKS):
        return None
    return UnlockedPython(tuple(dict.fromkeys(named)))


class UnlockedPython(index.PythonIndex, Unlocked):
    """The port Ecosystem for pyproject.toml and setup.cfg alone."""

    tool = "pip"
    proved_by = "pip install --dry-run --only-binary :all:"
    scheme: Scheme = PYPI

    def _list_lowest(self, text: str, file: str) -> Sequence[Lowest]:
        return [
            (pyproject.as_own(each, file), specs.floor(str(each.specifier)))
            for each in _list_wanted(text, file)
        ]

    async def _require(
        self, tree: WorkTree, file: str, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        goal = self._find_goal(package, version)
        if file.endswith(".cfg"):
            return await setup_cfg.require(tree, file, package, goal, widen=widen)
        return await pyproject.require(tree, file, package, goal, widen=widen, locked=False)

    async def _list_named_indexes(self, tree: WorkTree, package: str) -> Collection[str]:
        files = [file for file in self._manifests if file.endswith(".toml")]
        projects = [
            pyproject.parse_toml(await read_text(tree, file), file).unwrap() for file in files
        ]
        return {host for each in projects for host in pyproject.list_index_hosts(each, package)}

    def _name_command(self, file: str) -> str:
        return f"python3 -m pip install --dry-run {shlex.quote(posixpath.dirname(file) or '.')}"

    async def _find_conflict(self, tree: WorkTree, file: str, text: str) -> str:
        lines = [str(each) for each in _list_wanted(text, file)]
        return await index.find_conflict(tree, lines, seconds=self._seconds)


def _list_wanted(text: str, file: str) -> list[Requirement]:
    """Return what a manifest asks an index for: not itself, and nothing from elsewhere."""
    if file.endswith(".cfg"):
        parsed = (pyproject.parse_requirement(line) for _, _, line in setup_cfg.list_lines(text))
        return [each for each in parsed if each is not None]
    project = pyproject.parse_toml(text, file).unwrap()
    if pyproject.is_of_poetry(project):
        raise Unfit("unsupported", _POETRY.format(file=file))
    others = {pyproject.name_of(project), *pyproject.list_elsewhere(project)}
    wanted = pyproject.list_wanted(project)
    return [each for each in wanted if canonicalize_name(each.name) not in others]
