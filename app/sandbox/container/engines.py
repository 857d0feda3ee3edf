"""The container engines of this machine: which answer, and whether they are rootless."""

from __future__ import annotations

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.process_group import run_group

NAMES: tuple[Literal["podman", "docker"], ...] = ("podman", "docker")
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_ROOTLESS = {
    "podman": "{{.Host.Security.Rootless}}",
    "docker": "{{.SecurityOptions}}",
}
_PATIENCE = 20.0


@dataclass(frozen=True)
class ContainerEngine:
    """A container engine that answered, by its command-line program."""

    program: str
    name: Literal["podman", "docker"]
    rootless: bool


@dataclass(frozen=True)
class EngineAnswer:
    """Exit code and output of one of an engine's own commands."""

    code: int
    text: str


async def ask(program: str, *arguments: str, timeout: float = _PATIENCE) -> EngineAnswer:
    """Run one of the engine's own commands to its end, for `timeout` seconds at most."""
    kept = HeadTailBuffer(64_000, 4_000_000)
    ended = await run_group(
        [program, *arguments], environment=build_client_environment(), timeout=timeout, out=kept
    )
    late = f"no answer in {timeout:.0f} s" if ended.why == "timeout" else ""
    return EngineAnswer(ended.code, f"{kept.text()}{late}")


async def find_engines(
    path: str = PATH, named: Path | None = None
) -> tuple[list[ContainerEngine], list[str]]:
    """Return the engines that answer, rootless ones first, and why the others do not.

    `named`: the program that the operator names; then no other is looked for.
    """
    found, silent = [], []
    for name in (each for each in NAMES if named is None or each == named.name):
        program = shutil.which(name, path=str(named.parent) if named else path)
        if program is None:
            silent.append(f"{name} is not installed")
            continue
        said = await ask(program, "info", "--format", _ROOTLESS[name])
        if said.code:
            lines = said.text.strip().splitlines() or [f"exit code {said.code}"]
            silent.append(f"{name} does not answer: {lines[-1][:200]}")
            continue
        rootless = "true" in said.text if name == "podman" else "name=rootless" in said.text
        found.append(ContainerEngine(program, name, rootless))
    return sorted(found, key=lambda engine: not engine.rootless), silent


def build_client_environment() -> dict[str, str]:
    """Return the variables that the program needs to find its engine; no container gets them."""
    # Where a user's engine keeps its state follows from two folders, which are no secrets.
    runtime = f"/run/user/{os.geteuid()}"
    try:
        home = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # a user without a name, as containers have them
        home = "/"
    return {"PATH": PATH, "HOME": home, "XDG_RUNTIME_DIR": runtime, "LC_ALL": "C.UTF-8"}
