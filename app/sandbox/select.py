"""The choice of this machine's sandbox: what the operator named, else the first that held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from agents.errors import ConfigError
from app.config.settings import Settings
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.container.backend import NEEDED_IN_IMAGES, Container
from app.sandbox.container.engines import ContainerEngine
from app.sandbox.container.images import LocalImage
from app.sandbox.container.options import ContainerConfig
from app.sandbox.none.backend import NoSandbox
from app.sandbox.port import OperatorLimits, Probe, ProbeReport, Sandbox

BACKENDS = ("bubblewrap", "container", "none")
AUTOMATIC = ("bubblewrap", "container")
"""What `auto` tries, in this order. `none` holds nothing: it is for people to choose."""

_MB = 1024 * 1024
_UNACKNOWLEDGED = (
    "FETTLE_SANDBOX=none runs what agents write, and what issues make them write, as programs of "
    "this machine, with its network and every file that its users may read"
)
_ACKNOWLEDGE = (
    "set FETTLE_SANDBOX=auto; or, if you want just that, "
    "FETTLE_I_UNDERSTAND_AGENTS_RUN_UNSANDBOXED=true as well"
)
REFUSED = "No sandbox holds agents here, so Fettle does not start."
_OTHERWISE = (
    "Fettle needs bubblewrap (`apt-get install bubblewrap`) or a container engine (`apt-get "
    "install podman`) that works here. FETTLE_SANDBOX=none with "
    "FETTLE_I_UNDERSTAND_AGENTS_RUN_UNSANDBOXED=true holds nothing."
)
_CAUTIONS = {
    "full": "",
    "none": (
        "**Caution:** this ran without a sandbox: commands could reach the network and the files "
        "of Fettle's machine. The operator chose that by FETTLE_SANDBOX=none."
    ),
}

log = structlog.get_logger()


@dataclass(frozen=True)
class BackendTrial:
    """A backend and what its probe found; `sandbox` is None where the backend cannot be made."""

    report: ProbeReport
    sandbox: Sandbox | None

    @property
    def chosen(self) -> Sandbox | None:
        """Return the sandbox, if it held."""
        return self.sandbox if self.report.held else None


async def choose(settings: Settings) -> Sandbox:
    """Return the sandbox that all commands of this process run in.

    Raises ConfigError, which names for each backend what failed, why, and a one-line remedy.
    """
    tried = []
    for name in list_candidates(settings):
        tried.append(await try_backend(name, settings))
        sandbox = tried[-1].chosen
        if sandbox is not None:
            _warn_if_weak(sandbox, tried[-1].report)
            return sandbox
    raise ConfigError(describe_refusal(settings, tried))


def list_candidates(settings: Settings) -> Sequence[str]:
    """Return the backends to try, in this order."""
    return AUTOMATIC if settings.sandbox == "auto" else (settings.sandbox,)


async def try_backend(name: str, settings: Settings) -> BackendTrial:
    """Attack the backend of this name, and return what held."""
    if name == "none" and not settings.i_understand_agents_run_unsandboxed:
        return _refuse(name, "the operator acknowledges it", _UNACKNOWLEDGED, _ACKNOWLEDGE)
    try:
        sandbox = make_backend(name, settings)
        return BackendTrial(await sandbox.probe(), sandbox)
    except ConfigError as error:
        return _refuse(name, "the sandbox starts", str(error), "see the cause")


def make_backend(name: str, settings: Settings) -> Sandbox:
    """Return the backend of this name, not yet probed. Raises ConfigError."""
    given = (settings.sandbox_uid, settings.toolchains, _read_limits(settings))
    match name:
        case "bubblewrap":
            return Bubblewrap(*given, place=settings.data_dir)
        case "container":
            program = settings.container_engine
            return Container(*given, image=settings.sandbox_image, program=program)
        case _:
            return NoSandbox(*given)


def make_image_sandbox(
    settings: Settings, engine: ContainerEngine, image: LocalImage, name: str
) -> Container:
    """Return the sandbox in an image that a repository names.

    The operator's toolchains are not shown there: they would come before the image's own.
    """
    bounds = _read_limits(settings)
    made = Container(
        settings.sandbox_uid,
        (),
        bounds,
        image=name,
        needed=NEEDED_IN_IMAGES,
        find=lambda: _return_config(config),
    )
    config = ContainerConfig(engine, image.id, made.owner, (), bounds.memory, image)
    return made


async def _return_config(config: ContainerConfig) -> ContainerConfig:
    return config


def _read_limits(settings: Settings) -> OperatorLimits:
    return OperatorLimits(
        memory=settings.sandbox_memory_mb * _MB,
        disk=settings.sandbox_disk_mb * _MB,
        files=settings.sandbox_files,
        reserve=settings.disk_reserve_mb * _MB,
    )


def describe_refusal(settings: Settings, tried: Sequence[BackendTrial]) -> str:
    """Return the text for the operator when no backend may be used."""
    return "\n\n".join(
        [
            REFUSED,
            *(_describe_failure(each.report) for each in tried),
            *describe_alternatives(settings),
        ]
    )


def describe_alternatives(settings: Settings) -> list[str]:
    """Return what the operator can install or choose instead, where Fettle chose."""
    return [_OTHERWISE] if settings.sandbox == "auto" else []


def build_caution(sandbox: Sandbox) -> str:
    """Return the Markdown that every report begins with where no sandbox held; else nothing."""
    return _CAUTIONS[sandbox.level]


def _describe_failure(report: ProbeReport) -> str:
    failed = [f"{p.name} ({p.detail})" if p.detail else p.name for p in report.probes if not p.held]
    return (
        f"{report.backend}: failed: {'; '.join(failed)}\n"
        f"  Likely cause: {report.cause}\n  Remedy: {report.remedy}"
    )


def _refuse(name: str, probe: str, cause: str, remedy: str) -> BackendTrial:
    return BackendTrial(ProbeReport(name, (Probe(probe, held=False),), cause, remedy), None)


def _warn_if_weak(sandbox: Sandbox, report: ProbeReport) -> None:
    if sandbox.level != "full":
        log.warning(
            "agents run without a full sandbox",
            backend=sandbox.name,
            level=sandbox.level,
            not_held=list(report.notes),
        )
