"""The one way to run git: no environment, repository or agent can change its configuration."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agents.errors import RunError, TransientError
from app.git.environment import trusted_environment
from app.git.errors import GitRefused, clean_error, local_fault, network_fault
from app.git.remote import remote_of, way_to
from app.network.outbound import DIRECT, Outbound
from app.sandbox.output_buffer import FullBuffer, HeadTailBuffer, OutputSink
from app.sandbox.process_group import make_memory_file, run_group

OUTPUT_LIMIT = 64 * 1024 * 1024
PAUSES = (0.5, 1.5, 3.0)
"""Seconds before a refused token is shown again: hosts learn of a new one at different times."""
_STDERR_KEPT, _STDERR_FLOOD = 64_000, 16 * 1024 * 1024


@dataclass(frozen=True)
class Git:
    """Runs git on one repository, whose folder is named and never searched for."""

    gitdir: Path
    allow_files: bool = False
    """Whether `file:` URLs may be fetched: only a run on this machine's own clones asks for it."""
    config: Mapping[str, str] = field(default_factory=dict)
    """Settings on top of Fettle's."""
    outbound: Outbound = DIRECT
    """The way to remotes."""
    owner: tuple[int, int] | None = None
    """User and group to become first, when root works in somebody else's repository."""
    inherited: set[int] = field(default_factory=set, compare=False)
    """Descriptors that each git keeps open: a lock (flock(2)) is held until the last is closed."""

    async def local(
        self,
        *args: str,
        stdin: bytes | int | None = None,
        environment: Mapping[str, str] | None = None,
        config: Mapping[str, str] | None = None,
        timeout: float = 120,
        out: OutputSink | None = None,
        memory: int | None = None,
    ) -> bytes:
        """Run git without network and return its output, unless `out` takes the output.

        `memory` limits its allocations in bytes, for work on strangers' trees; `timeout` is in
        seconds. Raises GitFailed; RunError when git took too long or wrote too much.
        """
        whole = FullBuffer(OUTPUT_LIMIT)
        code, said = await self._run(
            args,
            {**trusted_environment({**self.config, **(config or {})}), **(environment or {})},
            out or whole,
            stdin=stdin,
            timeout=timeout,
            memory=memory,
        )
        if code != 0:
            raise local_fault(args[0], code, self._without_paths(clean_error(said, None)))
        return whole.data()

    async def network(
        self, *args: str, url: str, token: str | None = None, timeout: float = 600
    ) -> str:
        """Run git with this URL's protocol allowed and return its output.

        The token is sent to this host alone, and again for some seconds where it is refused.
        Raises TransientError for network trouble, RunError where a person must act, ConfigError
        for a URL that Fettle does not talk to.
        """
        for pause in PAUSES if token else ():
            try:
                return await self._connect(args, url, token, timeout)
            except GitRefused:
                await asyncio.sleep(pause)
        return await self._connect(args, url, token, timeout)

    async def _connect(
        self, args: tuple[str, ...], url: str, token: str | None, timeout: float
    ) -> str:
        protocol, place = remote_of(url, allow_files=self.allow_files)
        whole = FullBuffer(OUTPUT_LIMIT)
        allowed = {f"protocol.{protocol}.allow": "always"}
        with way_to(url, place, token, self.outbound) as (way, fds):
            config = {**self.config, **allowed, **way}
            environment = {**trusted_environment(config), "GIT_ALLOW_PROTOCOL": protocol}
            try:
                code, said = await self._run(args, environment, whole, timeout=timeout, fds=fds)
            except RunError as error:
                raise TransientError(str(error)) from error
        if code != 0:
            said_safely = self._without_paths(clean_error(said + whole.data(), token))
            raise network_fault(args[0], url, code, said_safely)
        return whole.data().decode("utf-8", "replace")

    async def _run(
        self,
        args: tuple[str, ...],
        environment: Mapping[str, str],
        out: OutputSink,
        *,
        stdin: bytes | int | None = None,
        timeout: float,
        fds: tuple[int, ...] = (),
        memory: int | None = None,
    ) -> tuple[int, bytes]:
        errors = HeadTailBuffer(_STDERR_KEPT, _STDERR_FLOOD)
        with _standard_input(stdin) as source:
            ended = await run_group(
                [*_memory_limit(memory), *self._become_owner(), "git", *args],
                environment={
                    "PATH": "/usr/local/bin:/usr/bin:/bin",
                    **environment,
                    "GIT_DIR": str(self.gitdir),
                },
                timeout=timeout,
                out=out,
                err=errors,
                stdin=source,
                pass_fds=(*fds, *self.inherited),
            )
        if ended.why == "timeout":
            raise RunError(f"`git {args[0]}` took longer than {timeout:.0f} s and was stopped.")
        if ended.why == "output":
            raise RunError(f"`git {args[0]}` wrote more than it may and was stopped.")
        return ended.code, errors.text().encode()

    def _without_paths(self, said: str) -> str:
        """Return what git said without where this server keeps things: people may read it."""
        return said.replace(str(self.gitdir), "mirror").replace(str(self.gitdir.parent), "")

    def _become_owner(self) -> list[str]:
        if self.owner is None or os.geteuid() != 0:
            return []
        uid, gid = self.owner
        return ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs"]


def _memory_limit(memory: int | None) -> list[str]:
    """Return what bounds a program's own data; packs that it maps to read do not count."""
    return [] if memory is None else ["prlimit", f"--data={memory}"]


@contextmanager
def _standard_input(data: bytes | int | None) -> Iterator[int | None]:
    if not isinstance(data, bytes):
        yield data
        return
    fd = make_memory_file("git", data)
    try:
        yield fd
    finally:
        os.close(fd)
