"""The repository of a case: made with one commit, and its files laid out again to be judged."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from agents.policy import POLICY_PATH
from app.evaluation.sources import FetchedCase
from app.git import CommitIdentity, Git
from app.git.worktree import write_file

STEERING = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"),
    *("sitecustomize.py", "usercustomize.py", "*.pth", ".coveragerc"),
)
"""Files that can make tests pass without curing anything: judged as they were before the run."""

_MAINTAINER = CommitIdentity("Maintainer", "maintainer@example.com")
_SECONDS = 600


@dataclass(frozen=True)
class CaseRepository:
    """A repository with the source of a case, and the commit that every run stands on."""

    folder: Path
    base: str

    @property
    def git(self) -> Git:
        """Return git on it."""
        return Git(self.folder / ".git")

    async def lay_out(self, commit: str, target: Path) -> None:
        """Write a commit's files, links as plain files: they lead nowhere."""
        await asyncio.to_thread(target.mkdir)
        index = target.with_name(f"{target.name}.index")
        environment = {"GIT_WORK_TREE": str(target), "GIT_INDEX_FILE": str(index)}
        await self.git.local("read-tree", commit, environment=environment)
        plain = ("-c", "core.symlinks=false", "checkout-index", "--all")
        await self.git.local(*plain, environment=environment, timeout=_SECONDS)
        index.unlink()

    async def copy_to(self, folder: Path) -> CaseRepository:
        """Return another one like it."""
        await asyncio.to_thread(shutil.copytree, self.folder, folder, symlinks=True)
        return CaseRepository(folder, self.base)

    async def tip(self, branch: str) -> str:
        """Return the commit of a branch."""
        found = await self.git.local("rev-parse", "--verify", f"refs/heads/{branch}^{{commit}}")
        return found.decode().strip()


async def make_repository(fetched: FetchedCase, folder: Path) -> CaseRepository:
    """Make it of the source with the bug: one commit, no history that could tell of the cure."""
    await asyncio.to_thread(folder.mkdir)
    git = Git(folder / ".git")
    await git.local("init", "--quiet", "--initial-branch=main")
    copy(fetched.before, folder)
    if fetched.case.policy is not None:
        policy = folder / POLICY_PATH
        policy.parent.mkdir(exist_ok=True)
        shutil.copyfile(fetched.case.policy, policy)
    environment = {"GIT_WORK_TREE": str(folder)}
    await git.local("config", "core.bare", "false")
    # Also what is ignored: packages carry files that a release makes, and need them to run.
    await git.local("add", "--all", "--force", environment=environment, timeout=_SECONDS)
    source = fetched.case.about.source
    message = " ".join(filter(None, (source.package or fetched.case.name, source.version)))
    await git.local(
        *("commit", "--quiet", "--message", message),
        environment={**environment, **_MAINTAINER.environment()},
    )
    base = (await git.local("rev-parse", "HEAD")).decode().strip()
    return CaseRepository(folder, base)


def copy(source: Path, target: Path) -> None:
    """Copy files, links as links, without any history."""
    ignored = shutil.ignore_patterns(".git")
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=ignored)


def put_back(tree: Path, original: Path, paths: Sequence[str], owner: tuple[int, int]) -> None:
    """Make these paths, and all files that steer tests, what they are in `original`.

    Raises ToolError when something stands in their way.
    """
    spec = GitIgnoreSpec.from_lines([*(f"/{_escape(path)}" for path in paths), *STEERING])
    for path in list(_find_matching(tree, spec)):
        remove(path)
    for path in _find_matching(original, spec):
        lay_over(tree, original, path.relative_to(original).as_posix(), owner)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def lay_over(tree: Path, source: Path, path: str, owner: tuple[int, int]) -> None:
    """Put a file of `source`, or all files of a folder, into the tree, never through a link.

    Raises ToolError when something stands in their way.
    """
    start = source / path
    files = sorted(start.rglob("*")) if start.is_dir() else [start]
    for file in files:
        if file.is_file() and not file.is_symlink():
            write_file(tree, file.relative_to(source).as_posix(), file.read_bytes(), owner)


def give(tree: Path, owner: tuple[int, int]) -> None:
    """Give a tree to the sandbox's user, who is to run its tests there."""
    for folder, _, files in os.walk(tree):
        for path in (folder, *(os.path.join(folder, name) for name in files)):  # noqa: PTH118 # os.walk's own
            if os.geteuid() == 0:
                os.chown(path, *owner, follow_symlinks=False)
            if not Path(path).is_symlink():
                os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | stat.S_IRWXU)  # noqa: PTH101 # the same


def _find_matching(tree: Path, spec: GitIgnoreSpec) -> Iterator[Path]:
    """Yield files and folders that match, and nothing below a folder that does."""
    for name, folders, files in os.walk(tree):
        folder = Path(name)
        here = folder.relative_to(tree)
        for below in list(folders):
            if spec.match_file(f"{(here / below).as_posix()}/"):
                folders.remove(below)
                yield folder / below
        yield from (folder / file for file in files if spec.match_file((here / file).as_posix()))


def _escape(path: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]\\!#" else letter for letter in path)
