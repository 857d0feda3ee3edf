"""Containers left behind by a killed Fettle: labels that tell whose they are, and their removal."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import structlog

from app.sandbox.container.engines import ContainerEngine, ask

MARK = "fettle.sandbox"
_OWNER = f"{MARK}.owner"
_PAUSES = (0.0, 0.2, 1.0, 3.0)
# Podman would first ask the container to stop, for ten seconds.
_REMOVE = {"podman": ("rm", "--force", "--time=0"), "docker": ("rm", "--force")}

log = structlog.get_logger()


def build_labels() -> tuple[str, ...]:
    """Return the labels of containers: that they are Fettle's, and this very process's."""
    return (f"{MARK}=true", f"{_OWNER}={_identify_process(os.getpid())}")


async def remove_container(engine: ContainerEngine, name: str) -> None:
    """Kill and remove a container, also one that the engine is about to make; log a failure."""
    for pause in _PAUSES:
        await asyncio.sleep(pause)
        await ask(engine.program, *_REMOVE[engine.name], name)
        left = await ask(
            engine.program, "ps", "--all", "--quiet", f"--filter=name={name}", timeout=60
        )
        if left.code == 0 and not left.text.strip():
            return
    log.error("a container could not be removed", name=name, engine=engine.name)


async def remove_orphans(engine: ContainerEngine) -> None:
    """Remove the containers of Fettle processes that are gone from this machine."""
    form = '{{.Names}} {{.Label "' + _OWNER + '"}}'
    listed = await ask(
        engine.program, "ps", "--all", f"--filter=label={MARK}=true", f"--format={form}"
    )
    for line in listed.text.splitlines() if listed.code == 0 else ():
        name, _, owner = line.partition(" ")
        if _is_gone(owner):
            log.info("removing a container that was left behind", name=name)
            await remove_container(engine, name)


def _identify_process(pid: int) -> str:
    """Return host, process id and start time: an id that comes again has another start.

    The start is field 22 of proc_pid_stat(5).
    """
    started = Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()[19]
    return f"{socket.gethostname()}:{pid}:{started.decode()}"


def _is_gone(owner: str) -> bool:
    """Tell whether that process is gone; one of another machine never counts as gone."""
    host, _, rest = owner.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdigit():
        return False
    try:
        return _identify_process(int(rest)) != owner
    except FileNotFoundError:
        return True
