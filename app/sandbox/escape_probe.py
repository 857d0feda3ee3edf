"""The attack on a sandbox at each start, which is trusted only where breaking out fails.

A script inside tries each way out; listeners, files and sockets of Fettle's own, laid out
outside, show whether it got through.
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from agents.errors import ConfigError
from app.sandbox.bubblewrap.errors import diagnose
from app.sandbox.port import Mount, Probe, ProbeReport, Sandbox, SandboxCommand, build_environment

ATTACKS = (
    "write outside the work tree",
    "read a file of this machine",
    "change a kernel setting",
    "read our environment",
    "see our processes",
    "see other processes",
    "connect to a TCP port",
    "connect to an abstract socket",
    "connect to a socket file",
    "reach a virtual machine host",
    "use io_uring",
    "gain privileges",
    "start more processes than allowed",
    "make a user namespace",
)
"""What the script inside reports on, in its order; four more are judged from outside."""

# unshare, prlimit64, io_uring_setup
_CALLS = {"x86_64": ("272", "302", "425"), "aarch64": ("97", "261", "425")}

_WRONG_HOLD = "the sandbox lets through what it should hold; a kernel or bubblewrap fault"
_WRONG_HOLD_REMEDY = "update the kernel and bubblewrap, then run Fettle as an ordinary user"


@dataclass(frozen=True)
class _Canaries:
    """Files, sockets and listeners that show whether the attacker reached them."""

    folder: Path
    tree: Path
    name: str
    tcp: socket.socket
    udp: socket.socket
    unix: tuple[socket.socket, socket.socket]

    @property
    def port(self) -> int:
        """Return the port of both canary listeners."""
        return int(self.tcp.getsockname()[1])


async def attack(sandbox: Sandbox, known: Iterable[str] = ()) -> ProbeReport:
    """Attack a sandbox from inside, and return what held.

    `known`: variables that commands have there beside those of every sandbox. A sandbox that does
    not start has not held either: no ConfigError is raised.
    """
    started = time.monotonic()
    try:
        with _open_canaries(sandbox.owner) as canaries:
            result = await sandbox.run(_build_attack(canaries, known))
            probes = _judge(result.output, canaries)
        cause, remedy = _find_remedy(result.output, probes)
    except ConfigError as error:
        probes = (Probe("the sandbox starts", held=False),)
        cause, remedy = _split_error(str(error))
    return ProbeReport(sandbox.name, probes, cause, remedy, time.monotonic() - started)


def _build_attack(canaries: _Canaries, variables: Iterable[str]) -> SandboxCommand:
    script = resources.files("app.sandbox").joinpath("probe.pl").read_text("utf-8")
    known = [*build_environment({}, ()), *variables, "PWD", "SHLVL", "_", "OLDPWD"]
    outer = [str(Path("/proc/self/ns", kind).readlink()) for kind in ("pid", "net", "ipc")]
    calls = _CALLS.get(platform.machine(), ("-1", "-1", "-1"))
    argv = ("perl", "-e", script, str(canaries.folder), str(canaries.port), canaries.name)
    return SandboxCommand(
        argv=(*argv, ",".join(known), ",".join(outer), *calls),
        mounts=(Mount(canaries.tree, "/workspace", writable=True),),
        timeout=20,
    )


def _judge(output: str, canaries: _Canaries) -> tuple[Probe, ...]:
    told = {}
    for line in output.splitlines():
        attack_name, _, rest = line.partition("\t")
        worked, _, detail = rest.partition("\t")
        told[attack_name] = Probe(attack_name, held=worked == "0", detail=detail)
    mark = canaries.tree / "mark"
    probes = [
        Probe(
            "the sandbox runs commands", held=mark.exists(), detail=_explain_silence(output, mark)
        ),
        Probe("runs as an ordinary user", held=mark.exists() and mark.stat().st_uid != 0),
        Probe("send to a UDP port", held=not _has_received(canaries.udp)),
        Probe("reach our sockets", held=not _is_touched(canaries)),
    ]
    silent = "the probe gave no answer"
    return (*probes, *(told.get(name, Probe(name, held=False, detail=silent)) for name in ATTACKS))


def _explain_silence(output: str, mark: Path) -> str:
    if mark.exists():
        return ""
    if "perl" in output and "not found" in output:
        return "the probe needs perl inside: `apt-get install perl-base`"
    return output[-300:].strip()


def _is_touched(canaries: _Canaries) -> bool:
    """Tell whether any canary listener heard of somebody, or the open folder got a file."""
    for listener in (canaries.tcp, *canaries.unix):
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            continue
        return True
    return (canaries.folder / "open" / "mark").exists()


def _has_received(udp: socket.socket) -> bool:
    try:
        udp.recv(100)
    except BlockingIOError:
        return False
    return True


def _find_remedy(output: str, probes: tuple[Probe, ...]) -> tuple[str, str]:
    if all(probe.held for probe in probes):
        return "", ""
    if probes[0].held:
        return _WRONG_HOLD, _WRONG_HOLD_REMEDY
    if probes[0].detail.startswith("the probe needs"):
        return "perl is not installed", "run `apt-get install perl-base`"
    return diagnose(output)


def _split_error(text: str) -> tuple[str, str]:
    """Return cause and remedy of a ConfigError that says both, or all of it as the cause."""
    cause, _, remedy = text.partition("\nRemedy: ")
    return cause.replace("\nLikely cause: ", " Likely cause: "), remedy or "see the cause"


@contextmanager
def _open_canaries(owner: tuple[int, int]) -> Iterator[_Canaries]:
    folder = Path(tempfile.mkdtemp(prefix="fettle-probe-"))
    try:
        with ExitStack() as stack:
            yield _set_canaries(folder, owner, stack)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _set_canaries(folder: Path, owner: tuple[int, int], stack: ExitStack) -> _Canaries:
    folder.chmod(0o755)
    (folder / "canary").write_text("canary")
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    tree = folder / "tree"
    tree.mkdir()
    if os.geteuid() == 0:
        os.chown(tree, *owner)
    name = secrets.token_hex(8)
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(tcp.getsockname())
    unix = (_listen(f"\0{name}", stack), _listen(str(folder / "socket"), stack))
    (folder / "socket").chmod(0o777)
    for listener in (tcp, udp, *unix):
        listener.setblocking(False)
    return _Canaries(folder, tree, name, tcp, udp, unix)


def _listen(address: str, stack: ExitStack) -> socket.socket:
    listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    listener.bind(address)
    listener.listen(1)
    return listener
