"""The images that repositories name: which of them a run's commands run in here, and how.

Nothing is ever fetched: the operator says which images may be used, and has them on this machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from agents.errors import ConfigError, RunError, TransientError
from agents.policy.images import ImagePattern, parse_image
from agents.ports import RunImage
from app.sandbox.container.backend import Container
from app.sandbox.container.engines import ContainerEngine, find_engines
from app.sandbox.container.images import LocalImage, find_image
from app.sandbox.container.orphans import remove_orphans
from app.sandbox.port import ProbeReport, Sandbox

T = TypeVar("T")

NOT_ALLOWED = (
    "the operator of Fettle allows no such image. They can, with FETTLE_ENVIRONMENT_IMAGES, and "
    "then fetch it: `podman pull {image}`"
)
NO_SANDBOX = (
    "commands here run without a sandbox, so in no container either. The operator can set "
    "FETTLE_SANDBOX=auto"
)
NO_ENGINE = (
    "no container engine answers on Fettle's machine. The operator can install one: `apt-get "
    "install podman`"
)
NOT_THERE = (
    "it is not on Fettle's machine, and Fettle fetches none. The operator can, as the user that "
    "runs Fettle: `{engine} pull {image}`"
)
SILENT = "the container engine on Fettle's machine does not say whether it has it"
UNUSABLE = "{why}. Whoever makes the image can change that"
LACKS = "it has no {programs}. Whoever makes the image can add what is missing"
STARTS_NOT = "no container of it starts on Fettle's machine, and the server's log says why"
HOLDS_NOT = (
    "containers on Fettle's machine do not hold what they should. `fettle doctor` shows the "
    "operator what is wrong"
)
_SILENT = (
    "This run began in the image `{image}` ({id}), and no container engine answers on the machine "
    "that it goes on on."
)
_GONE = (
    "This run began in the image `{image}` ({id}), and that is no longer on the machine that it "
    "goes on on. The operator can fetch or load that very image again; `/bot retry` begins anew in "
    "the one that has the name now."
)
NO_LONGER = "This run began in the image `{image}`, and {why}. `/bot retry` begins anew."

log = structlog.get_logger()


@dataclass(frozen=True)
class Images(Generic[T]):
    """The images that may be used on this machine, and what belongs to each of them."""

    patterns: tuple[ImagePattern, ...]
    sandbox: Sandbox
    """The machine's own."""
    program: Path | None
    """The engine's, where the operator names it."""
    make_sandbox: Callable[[ContainerEngine, LocalImage, str], Container]
    """Makes the sandbox in an image of this name."""
    furnish: Callable[[Container, LocalImage, str], T]
    """Makes what installs in that sandbox."""
    _engines: list[ContainerEngine] = field(default_factory=list)
    _made: dict[str, tuple[Container, T]] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def find(self, wanted: RunImage) -> RunImage:
        """Return the image with its id, or with why it is not used here."""
        found = await self._find(wanted.image)
        if isinstance(found, LocalImage):
            return wanted.model_copy(update={"id": found.id})
        return wanted.model_copy(update={"why_not": found})

    async def enter(self, image: RunImage) -> T:
        """Return what installs in the image that a run began in.

        Raises RunError where that is gone, or may no longer be used, and TransientError where the
        engine does not answer.
        """
        about = {"image": image.image, "id": image.id[:12]}
        if why := self._refuse(image.image):
            raise RunError(NO_LONGER.format(**about, why=why))
        engine = await self._find_engine()
        if engine is None:
            raise TransientError(_SILENT.format(**about))
        found = await find_image(engine, image.id)
        if found is None:
            raise RunError(_GONE.format(**about))
        report, made = await self._try(engine, found, image.image)
        if not report.held:
            raise RunError(NO_LONGER.format(**about, why=_explain(report)))
        return made

    async def _find(self, name: str) -> LocalImage | str:
        """Return the image that has this name now, or why it cannot be used."""
        if why := self._refuse(name):
            return why
        engine = await self._find_engine()
        if engine is None:
            return NO_ENGINE
        try:
            found = await find_image(engine, name) or NOT_THERE.format(
                engine=engine.name, image=name
            )
        except ConfigError as error:
            found = UNUSABLE.format(why=error)
        except TransientError as error:
            log.warning("an image is not used", image=name, error=str(error))
            found = SILENT
        if isinstance(found, str):
            return found
        report, _ = await self._try(engine, found, name)
        if report.held:
            return found
        log.warning("an image is not used", image=name, failed=[str(p) for p in report.probes])
        return _explain(report)

    def _refuse(self, name: str) -> str:
        if not any(pattern.allows(parse_image(name)) for pattern in self.patterns):
            return NOT_ALLOWED.format(image=name)
        return "" if self.sandbox.level == "full" else NO_SANDBOX

    async def _find_engine(self) -> ContainerEngine | None:
        """Return the engine; one that does not answer is asked again the next time."""
        async with self._turn:
            if not self._engines:
                found, silent = await find_engines(named=self.program)
                if not found:
                    log.warning("no container engine answers", silent=silent)
                    return None
                await remove_orphans(found[0])
                self._engines.append(found[0])
        return self._engines[0]

    async def _try(
        self, engine: ContainerEngine, image: LocalImage, name: str
    ) -> tuple[ProbeReport, T]:
        """Attack the sandbox in an image, once; what does not hold is made anew another time."""
        async with self._turn:
            if image.id not in self._made:
                sandbox = self.make_sandbox(engine, image, name)
                self._made[image.id] = sandbox, self.furnish(sandbox, image, name)
            sandbox, made = self._made[image.id]
            report = await sandbox.probe()
            if not report.held:
                del self._made[image.id]
        return report, made


def _explain(report: ProbeReport) -> str:
    """Return why containers of an image are not used, without the engine's own words."""
    first = next(each for each in report.probes if not each.held)
    if first.name == "the image has what is needed":
        return LACKS.format(programs=first.detail)
    if first.name != "the sandbox starts":
        return HOLDS_NOT
    if report.cause.startswith("unknown"):
        return STARTS_NOT
    if "FETTLE_SANDBOX_IMAGE" in report.remedy:  # that is another image
        return UNUSABLE.format(why=report.cause)
    return f"{report.cause}. The operator of Fettle can mend that: {report.remedy}"
