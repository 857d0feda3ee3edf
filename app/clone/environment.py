"""What a repository's environment is worth on this machine: set-up and checks, without a model.

The checks run twice on the same commit: a change that changes nothing must be found no worse. Where
it is not, no change of an agent's could be, and the reason is the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from agents.errors import RunError
from agents.loop.budget import RunLimits
from agents.pipelines.stages.onboarding import set_up
from agents.pipelines.stages.prepare import prepare
from agents.pipelines.stages.quality import (
    CheckComparison,
    Unchecked,
    check_quality,
    find_unchecked_parts,
    format_image,
    measure_base,
)
from agents.ports import Json, Reporter, SetupResult
from agents.run import Run, StageContext
from app.clone.log import logging_to
from app.clone.preconditions import CloneStart
from app.clone.run import CloneRequest, CloneRun, RunLocation
from app.clone.run_folder import run_folder
from app.config.settings import Settings
from app.secrets.redaction import Redactor
from app.wiring.resources import open_parts

_ASKED = "environment"  # what tells its folder from those of runs on the same commit
_UNLIMITED = RunLimits(usd=0.0, turns=0, minutes=24 * 60.0)  # no model is asked


@dataclass(frozen=True)
class EnvironmentReport:
    """What came of setting up, and of checking a change that changes nothing."""

    setup: SetupResult
    quality: CheckComparison
    unchecked: Unchecked
    """What none of the checks looks at: a change there stays a draft."""
    seconds: float

    @property
    def sound(self) -> bool:
        """Return whether all could be told: good changes can be called ready where checks look."""
        return self.quality.verdict == "no worse"

    def describe_tools(self) -> list[str]:
        """Return the toolchains, and the image or why it is not the one named, in plain words."""
        tools = ", ".join(self.setup.tools)
        image = format_image(self.setup.image).replace("**", "")
        return [each for each in (f"Toolchains: {tools}" if tools else "", image) if each]

    def list_unchecked(self) -> list[str]:
        """Return the folders, and the files with tests, that none of the checks looks at."""
        return [*(f"{each}/" for each in self.unchecked.folders), *self.unchecked.tests]

    def describe(self) -> dict[str, Any]:
        """Return the report as plain values, for programs."""
        quality = self.quality
        return {
            "ready": self.sound,
            "seconds": round(self.seconds, 1),
            "setup": {
                "source": self.setup.source,
                "commands": [
                    {"command": c.command, "exit_code": c.exit_code, "seconds": c.seconds}
                    for c in self.setup.commands
                ],
                "problems": list(self.setup.problems),
                "notes": list(self.setup.notes),
                "tools": list(self.setup.tools),
                "image": self.setup.image.model_dump() if self.setup.image else None,
            },
            "checks": [
                {
                    "name": now.name,
                    "command": now.command,
                    "exit_codes": [before.exit_code, now.exit_code],
                    "tests": now.failures.ran,
                    "same_output": before.output == now.output,
                    "failing": sorted(now.failures.names),
                    "flaky": list(now.flaky),
                    "seconds": now.seconds,
                    "verdict": "worse" if now in quality.failing else now.verdict,
                }
                for before, now in quality.compared
            ],
            "source": quality.baseline.source,
            "services": [each.kind for each in quality.baseline.services],
            "untold": list(quality.untold),
            "unchecked": {
                "folders": list(self.unchecked.folders),
                "tests": list(self.unchecked.tests),
            },
        }


class OnceSteps:
    """The port Steps of a run that ends with its process: each step is done, and none is kept."""

    async def step(self, name: str, work: Callable[[], Awaitable[Json]]) -> Json:  # noqa: ARG002 # the port names it
        """Do the work."""
        return await work()

    async def wait(
        self,
        name: str,
        over: Callable[[], Awaitable[bool]],
        *,
        until: float | None = None,  # noqa: ARG002 # nobody waits here
    ) -> None:
        """Go on where the wait is over already: nobody is there to end another."""
        if not await over():
            raise RunError(f"Nobody can be waited for here ({name}).")

    async def boundary(self) -> None:
        """Let others go on: what is stopped here is begun anew, so nothing has to be held."""
        await asyncio.sleep(0)


async def examine_environment(
    settings: Settings,
    redactor: Redactor,
    start: CloneStart,
    tell: Callable[[str], None],
    reporter: Reporter,
) -> EnvironmentReport:
    """Set up the clone's repository, and run its checks twice. Raises ConfigError and RunError."""
    asked = (str(start.clone.git.gitdir), start.head.commit, _ASKED)
    async with run_folder(settings.data_dir, *asked) as folder:
        # No conversation can begin here, so a key that opens nothing does for who has none.
        key = settings.anthropic_api_key or SecretStr("none")
        own = settings.model_copy(
            update={
                "database_url": SecretStr(folder.database_url),
                "worker": "fettle",
                "anthropic_api_key": key,
            }
        )
        with logging_to(folder.log, settings, redactor, tell):
            async with open_parts(own, redactor) as parts:
                wish = CloneRequest("", "", tell, reporter)
                report = await _examine(CloneRun(parts, wish, RunLocation(start, folder)))
        folder.remove()
        return report


async def _examine(clone: CloneRun) -> EnvironmentReport:
    began, run_id, request = time.monotonic(), clone.place.folder.run_id, clone.request
    equipment = await clone.equip(run_id, request)
    context = StageContext(
        id=run_id,
        request=request,
        ports=equipment.ports,
        steps=OnceSteps(),
        conversations=(),
        models={},
        limits=_UNLIMITED,
    )
    run = Run(context)
    try:
        await run.stage(prepare)
        setup = await run.stage(set_up)
        baseline = await run.stage(measure_base, setup)
        quality = await run.stage(check_quality, baseline)
        commit = clone.place.start.head.commit
        paths = sorted(await equipment.source.files(commit))
        unchecked = await find_unchecked_parts(context, baseline, paths, commit)
    finally:
        await equipment.source.discard(forget=False)
        await equipment.close()
    return EnvironmentReport(baseline.setup, quality, unchecked, time.monotonic() - began)
