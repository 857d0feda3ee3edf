"""Step 8: containers know whose they are, and go when their Fettle is gone."""

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


def labels() -> tuple[str, ...]:
    """Return the labels of this process' containers: that they are Fettle's, and which one's."""
    return (f"{MARK}=true", f"{_OWNER}={_owner(os.getpid())}")


async def remove(engine: ContainerEngine, name: str) -> None:
    """Kill and remove a container, also one that the engine is just about to make."""
    for pause in _PAUSES:
        await asyncio.sleep(pause)
        await ask(engine.program, *_REMOVE[engine.name], name)
        left = await ask(
            engine.program, "ps", "--all", "--quiet", f"--filter=name={name}", timeout=60
        )
        if left.code == 0 and not left.text.strip():
            return
    log.error("a container could not be removed", name=name, engine=engine.name)


async def remove_leftovers(engine: ContainerEngine) -> None:
    """Remove the containers of processes of this machine that are gone, as after kill -9."""
    form = '{{.Names}} {{.Label "' + _OWNER + '"}}'
    listed = await ask(
        engine.program, "ps", "--all", f"--filter=label={MARK}=true", f"--format={form}"
    )
    for line in listed.text.splitlines() if listed.code == 0 else ():
        name, _, owner = line.partition(" ")
        if _is_gone(owner):
            log.info("removing a container that was left behind", name=name)
            await remove(engine, name)


def _owner(pid: int) -> str:
    """Return what no other process is called: its number may come again, its start cannot."""
    started = Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()[19]
    return f"{socket.gethostname()}:{pid}:{started.decode()}"


def _is_gone(owner: str) -> bool:
    """Tell whether that process is gone; of another machine's processes we know nothing."""
    host, _, rest = owner.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdigit():
        return False
    try:
        return _owner(int(rest)) != owner
    except FileNotFoundError:
        return True
