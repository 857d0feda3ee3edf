"""Run git on files that an agent wrote, in a sandbox where a hostile filter finds nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from agents.errors import RunError
from app.git.environment import trusted_environment
from app.git.ref_names import object_id
from app.sandbox.port import Mount, Sandbox, SandboxCommand

_CONFIG = {
    "core.bare": "false",
    "core.excludesFile": "/q/exclude",
    "core.fsync": "none",  # what counts is written to disk when it enters the mirror
    "checkout.workers": "2",
    "checkout.thresholdForParallelism": "100",
    "advice.addEmbeddedRepo": "false",
}
_PLACES = {
    "GIT_DIR": "/git",
    "GIT_WORK_TREE": "/tree",
    "GIT_INDEX_FILE": "/q/index",
    "GIT_OBJECT_DIRECTORY": "/q/objects",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/git/objects",
}
_TREE = re.compile(r"^tree ([0-9a-f]{40,64})$", re.MULTILINE)


@dataclass(frozen=True)
class RunFolders:
    """The folders of one run, below one that only Fettle may write."""

    run: Path
    home_files: Mapping[str, bytes] = field(default_factory=dict)
    """What lies in the home folder of the run's commands from the beginning, by path."""

    @property
    def files(self) -> Path:
        """Return the work tree: the agent's files."""
        return self.run / "ws"

    @property
    def quarantine(self) -> Path:
        """Return the folder of the private index and of unchecked objects."""
        return self.run / "q"

    @property
    def agent_git(self) -> Path:
        """Return the agent's own git directory, in which Fettle never runs git."""
        return self.run / "agent.git"

    @property
    def home(self) -> Path:
        """Return the home folder of the run's commands."""
        return self.run / "home"

    @property
    def tmp(self) -> Path:
        """Return what the run's commands see as /tmp."""
        return self.run / "tmp"

    @property
    def layers(self) -> Path:
        """Return what the run has added to installed folders that it only borrows."""
        return self.run / "layers"

    @property
    def scratch(self) -> Path:
        """Return the folders that tools write to within the installed dependencies."""
        return self.run / "scratch"

    @property
    def kept(self) -> tuple[Path, ...]:
        """Return the folders outside of the tree that commands leave to later ones."""
        return self.home, self.tmp, self.layers, self.scratch

    @property
    def exclude(self) -> Path:
        """Return the file with patterns of what is never committed."""
        return self.run / "exclude"

    @property
    def ready(self) -> Path:
        """Return the file that names the base for which this folder was completely built."""
        return self.run / "ready"


class UntrustedGit:
    """Runs git scripts in the second sandbox: no token, no network, the mirror read-only."""

    def __init__(self, sandbox: Sandbox, mirror: Path, places: RunFolders) -> None:
        self._sandbox = sandbox
        self._mirror = mirror
        self._places = places

    async def checkout(self, tree: str, head: str) -> None:
        """Check out the files of `tree`, with HEAD of the agent's git directory at `head`."""
        await self._run("checkout", tree, head, writable=True, agent=True, timeout=600)

    async def restore(self, tree: str, *, pristine: bool = False) -> None:
        """Reset the files to `tree`; with `pristine` delete ignored ones as well."""
        then = ("scrub",) if pristine else ()
        await self._run("restore", tree, then=then, writable=True, agent=True, timeout=600)

    async def advance(self, commit: str) -> None:
        """Move the agent's branch to `commit`."""
        await self._run("advance", commit, writable=False, agent=True, timeout=60)

    async def collect_ignored(self) -> None:
        """Write the list of ignored paths into the quarantine; an ignored folder is one path."""
        await self._run("ignored", writable=False, agent=False, timeout=300)

    async def snapshot(self, known: str, base: str) -> str:
        """Return the tree id of the files, and leave a pack of new objects in the quarantine."""
        said = await self._run("snapshot", known, base, writable=False, agent=False, timeout=300)
        found = _TREE.findall(said)
        if not found:
            raise RunError(f"The files could not be taken as a git tree: {said[-500:]}")
        return object_id(found[-1])

    async def _run(
        self,
        script: str,
        *ids: str,
        then: Sequence[str] = (),
        writable: bool,
        agent: bool,
        timeout: float,
    ) -> str:
        places = self._places
        mounts = [
            Mount(self._mirror, "/git"),
            Mount(places.files, "/tree", writable=writable),
            Mount(places.quarantine, "/q", writable=True),
            Mount(places.exclude, "/exclude"),
        ]
        text = "".join(map(_script, (script, *then)))
        if agent:
            text = _script("unlock") + text
            mounts.append(Mount(places.agent_git, "/agent", writable=True))
        result = await self._sandbox.run(
            SandboxCommand(
                argv=("/bin/sh", "-c", text, script, *map(object_id, ids)),
                folder="/tree",
                mounts=tuple(mounts),
                environment={**trusted_environment(_CONFIG), **_PLACES, "HOME": "/home/agent"},
                timeout=timeout,
                max_output=16_000,
            )
        )
        if result.exit_code != 0:
            raise RunError(_failure(script, result.why, result.output))
        return result.output


def _script(name: str) -> str:
    return resources.files("app.git.worktree").joinpath(f"scripts/{name}.sh").read_text("utf-8")


def _failure(script: str, why: str, output: str) -> str:
    if why == "timeout":
        return f"The {script} of the work tree took too long and was stopped. Is a file very large?"
    return f"The {script} of the work tree failed: {output[-1000:].strip()}"
