"""Which clone on this machine is of a repository: asked of its own remote, never of its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.errors import ConfigError, FettleError
from app.git import UserClone
from app.operator.repository_reference import RepositoryName, repository_of_remote

COMMON = (
    *("src", "code", "projects", "Projects", "dev", "Development", "git", "repos", "repositories"),
    *("work", "workspace", "github", "GitHub", "Documents/GitHub", "go/src/github.com"),
)
"""Where people keep their clones, below their home."""
ORIGIN = "origin"


@dataclass(frozen=True)
class FoundClone:
    """A clone, and what it says that it is of."""

    clone: UserClone
    path: Path
    remote: str
    """The clone's name for that repository."""
    name: RepositoryName


async def clone_at(path: Path, github_url: str) -> FoundClone:
    """Return the clone that a person named. Raises ConfigError when it is of no such repository."""
    clone = UserClone(path)
    found = await _read_remotes(clone, path, github_url)
    if found is None:
        raise ConfigError(
            f"None of the remotes of `{path}` is a repository on {github_url}. Name the repository:"
            " OWNER/REPO."
        )
    return found


@dataclass(frozen=True)
class Places:
    """Where to look for clones: what the operator says first, then where they mostly are."""

    github_url: str
    configured: Mapping[str, Path] | Sequence[Path] = ()
    here: Path | None = None
    """The folder that the command was given in."""
    home: Path | None = None

    async def clone_of(self, name: RepositoryName) -> FoundClone | None:
        """Return a clone of this repository, if there is one."""
        for path, inside in self._candidates(name):
            if inside or _is_clone(path):
                try:
                    clone = UserClone(path)
                    found = await _read_remotes(clone, path, self.github_url, name)
                except (FettleError, OSError):  # what is broken is no clone, and no trouble
                    continue
                if found is not None:
                    return found
        return None

    def _candidates(self, name: RepositoryName) -> Iterator[tuple[Path, bool]]:
        """Yield folders, and whether they may also be inside of the clone."""
        if self.here is not None:
            yield self.here, True
        if isinstance(self.configured, Mapping):
            yield from ((p, True) for full, p in self.configured.items() if name.is_same(full))
            folders: Sequence[Path] = ()
        else:
            folders = self.configured
        common = [self.home / each for each in COMMON] if self.home is not None else []
        for folder in (*folders, *common):
            yield folder / name.name, False
            yield folder / name.owner / name.name, False
        yield from ((folder, False) for folder in folders)


async def _read_remotes(
    clone: UserClone, path: Path, github_url: str, wanted: RepositoryName | None = None
) -> FoundClone | None:
    """Return the remote that leads to this GitHub: the wanted repository's, or its origin."""
    remotes = await clone.remotes()
    for remote in sorted(remotes, key=lambda each: (each != ORIGIN, each)):
        name = repository_of_remote(remotes[remote], github_url)
        if name is not None and (wanted is None or wanted.is_same(str(name))):
            return FoundClone(clone, path, remote, name)
    return None


def _is_clone(path: Path) -> bool:
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())
