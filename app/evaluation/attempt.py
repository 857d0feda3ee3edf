"""One attempt at a case: `fettle resolve` as a process of its own, as a person would run it."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.errors import ConfigError, RunError
from agents.ports import Usage

MOST_DENIALS = 20
PATIENCE = 6 * 3600.0  # seconds; a run's own limits end it long before
STOP_SECONDS = 20.0
NOBODY = "Nobody can be asked in an evaluation. Find another way."
LOG = "progress.log"
FETTLE = (sys.executable, "-m", "app")

_STAGE = re.compile(r" *[\d.]+ s  (?P<title>\S.*)")
_ENDED_BADLY = re.compile(r" *[\d.]+ s    -> (?:failed|stopped)")


@dataclass(frozen=True)
class AttemptOutput:
    """How `fettle resolve` ended: the one JSON object that it prints, and what it showed."""

    told: Mapping[str, Any]
    seconds: float
    stages: tuple[str, ...]
    """Titles in their order."""
    failed_stage: str | None
    denied: int
    """Calls that wanted a person's yes."""

    @property
    def branch(self) -> str | None:
        """Return the branch of the pull request, if there is one."""
        return self.told["branch"] if self.told["outcome"] == "pull_request" else None

    @property
    def usage(self) -> Usage:
        """Return the tokens."""
        return Usage.model_validate(self.told["cost"]["tokens"])

    @property
    def failing_checks(self) -> list[str]:
        """Return the repository's checks that fail on the branch."""
        return [each["check"] for each in self.told["quality"] if not each["passed"]]


@dataclass
class Attempt:
    """What one attempt runs on."""

    repository: Path
    issue: Path
    place: Path
    """Its folder: data, log, result."""
    environment: Mapping[str, str]
    tell: Callable[[str], None]
    """Hears each stage's title when it begins."""
    _stages: list[str] = field(default_factory=list)
    _failed: str | None = None

    async def run(self) -> AttemptOutput:
        """Run it to its end; whatever wants a person's yes is denied.

        Raises ConfigError when it could not begin, RunError when it broke.
        """
        began, denied = time.monotonic(), 0
        while True:
            told = await self._resolve()
            if told["outcome"] != "waiting":
                break
            denied += len(told["approvals"])
            if denied > MOST_DENIALS:
                raise RunError(f"It asked for a person's yes more than {MOST_DENIALS} times.")
            for approval in told["approvals"]:
                await self._fettle("deny", approval["id"], *NOBODY.split(), "--yes")
        return AttemptOutput(
            told, time.monotonic() - began, tuple(self._stages), self._failed, denied
        )

    async def _resolve(self) -> dict[str, Any]:
        issue = str(self.issue.resolve())
        code, out, said = await self._fettle(
            "resolve", str(self.repository), "--issue", issue, "--json"
        )
        try:
            return dict(json.loads(out))
        except ValueError as error:
            last = "\n".join(said[-10:]) or f"exit code {code}"
            kind = ConfigError if code == 2 else RunError
            raise kind(f"`fettle resolve` gave no result: {last}") from error

    async def _fettle(self, *args: str) -> tuple[int, str, list[str]]:
        """Run a command of Fettle; return exit code, output, and what it told meanwhile."""
        process = await asyncio.create_subprocess_exec(
            *FETTLE,
            *args,
            cwd=Path(__file__).parents[2],
            env=dict(self.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        if process.stdout is None or process.stderr is None:
            raise AssertionError("both were asked for")
        try:
            async with asyncio.timeout(PATIENCE):
                out, said = await asyncio.gather(
                    process.stdout.read(), self._read_output(process.stderr)
                )
                return await process.wait(), out.decode("utf-8", "replace"), said
        except TimeoutError as error:
            raise RunError(f"It did not end within {PATIENCE / 3600:.0f} hours.") from error
        finally:
            await _stop(process)

    async def _read_output(self, stream: asyncio.StreamReader) -> list[str]:
        """Keep what the process tells in a file, and pick the stages out of it."""
        said = []
        with (self.place / LOG).open("ab") as log:
            while line := await stream.readline():
                log.write(line)
                text = line.decode("utf-8", "replace").rstrip()
                said.append(text)
                self._note(text)
        return said

    def _note(self, line: str) -> None:
        if _ENDED_BADLY.fullmatch(line):
            self._failed = self._stages[-1] if self._stages else None
        elif found := _STAGE.fullmatch(line):
            self._stages.append(found["title"])
            self.tell(found["title"])


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the process if it still lives: whoever waits for it was stopped."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
