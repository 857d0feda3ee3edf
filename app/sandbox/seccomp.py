"""The system calls that a sandbox refuses, as a BPF program for `bwrap --seccomp` (seccomp(2)).

A deny list: what tests, compilers and git need is too wide for an allow list. It takes away what
reaches past the namespaces (vsock, io_uring, keyrings, new user namespaces, terminal input), and
the set-user-id bit: a file with it would still lie there when the sandbox is gone.
"""

from __future__ import annotations

import errno
import platform
import stat
import struct
from dataclasses import dataclass

from agents.errors import ConfigError
from app.sandbox.syscall_numbers import (
    ARCHITECTURES,
    CLONE3,
    DENIED_EVERYWHERE,
    OPENAT2,
    Architecture,
)

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

# Offsets in `struct seccomp_data`; arguments are 64 bits wide, we look at their low halves.
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENTS = (16, 24, 32, 40)
_FIRST, _SECOND = _ARGUMENTS[:2]

_X32_BIT = 0x40000000
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
_NEW_TIME = 0x80  # only unshare: for clone these bits are the exit signal
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_SET_ID = stat.S_ISUID | stat.S_ISGID
_MAKES_A_FILE = 0x40 | 0x400000  # O_CREAT, O_TMPFILE: without them the mode is left-over bytes


@dataclass(frozen=True)
class _Instruction:
    """One BPF instruction; jumps count the instructions to skip (`struct sock_filter`)."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


def build_filter(machine: str | None = None) -> bytes:
    """Return the filter for this machine, or for the one named as uname(2) does.

    Raises ConfigError for a machine whose system calls are not known.
    """
    name = machine or platform.machine()
    if name not in ARCHITECTURES:
        raise ConfigError(
            f"The sandbox has no system call filter for `{name}` machines. "
            f"Run Fettle on one of: {', '.join(sorted(ARCHITECTURES))}."
        )
    return b"".join(
        struct.pack("=HBBI", step.code, step.if_true, step.if_false, step.value)
        for step in _build_program(ARCHITECTURES[name])
    )


def list_denied_calls() -> list[str]:
    """Return the names of the calls that are refused whatever their arguments."""
    named = {name for machine in ARCHITECTURES.values() for name in machine.denied}
    return sorted(named | set(DENIED_EVERYWHERE))


def _build_program(machine: Architecture) -> list[_Instruction]:
    steps = [
        _Instruction(_LOAD, _ARCHITECTURE),
        _Instruction(_EQUAL, machine.audit_arch, if_true=1),
        _Instruction(_RETURN, _KILL),
        _Instruction(_LOAD, _NUMBER),
    ]
    if machine.x32:
        steps += [_Instruction(_AT_LEAST, _X32_BIT, if_false=1), _Instruction(_RETURN, _KILL)]
    for number in (*machine.denied.values(), *DENIED_EVERYWHERE.values()):
        steps += _match_call(number, _refuse(errno.EPERM))
    # What these ask for lies behind a pointer, where no filter sees it; libraries have a way back.
    for number in (CLONE3, OPENAT2):
        steps += _match_call(number, _refuse(errno.ENOSYS))
    # Room on the disk is taken by writing, at a pace that can be watched; all know this answer.
    steps += _match_call(machine.fallocate, _refuse(errno.EOPNOTSUPP))
    steps += _match_call(machine.clone, _refuse_bits(_FIRST, _NEW_NAMESPACES))
    steps += _match_call(machine.unshare, _refuse_bits(_FIRST, _NEW_NAMESPACES | _NEW_TIME))
    steps += _match_call(machine.ioctl, _refuse_values(_SECOND, (_TIOCSTI, _TIOCLINUX)))
    steps += _match_call(machine.socket, _allow_only(_FIRST, _FAMILIES, errno.EAFNOSUPPORT))
    steps += _forbid_set_id(machine)
    return [*steps, _Instruction(_RETURN, _ALLOW)]


def _forbid_set_id(machine: Architecture) -> list[_Instruction]:
    """Return the steps that keep files from running as their owner, whoever starts them."""
    steps = []
    for number, at in (*machine.chmod.items(), *machine.mknod.items()):
        steps += _match_call(number, _refuse_bits(_ARGUMENTS[at], _SET_ID))
    for number, at in machine.open.items():
        mode = _refuse_bits(_ARGUMENTS[at], _SET_ID)
        steps += _match_call(number, _check_if_bits(_ARGUMENTS[at - 1], _MAKES_A_FILE, mode))
    return steps


def _match_call(number: int, body: list[_Instruction]) -> list[_Instruction]:
    return [_Instruction(_EQUAL, number, if_false=len(body)), *body]


def _refuse(error: int) -> list[_Instruction]:
    return [_Instruction(_RETURN, _ERRNO | error)]


def _check_if_bits(argument: int, bits: int, body: list[_Instruction]) -> list[_Instruction]:
    return [
        _Instruction(_LOAD, argument),
        _Instruction(_ANY_BIT, bits, if_true=1),
        _Instruction(_RETURN, _ALLOW),
        *body,
    ]


def _refuse_bits(argument: int, bits: int) -> list[_Instruction]:
    return [
        _Instruction(_LOAD, argument),
        _Instruction(_ANY_BIT, bits, if_false=1),
        *_refuse(errno.EPERM),
        _Instruction(_RETURN, _ALLOW),
    ]


def _refuse_values(argument: int, values: tuple[int, ...]) -> list[_Instruction]:
    return [
        _Instruction(_LOAD, argument),
        *_match_any(values, otherwise=1),
        *_refuse(errno.EPERM),
        _Instruction(_RETURN, _ALLOW),
    ]


def _allow_only(argument: int, values: tuple[int, ...], error: int) -> list[_Instruction]:
    return [
        _Instruction(_LOAD, argument),
        *_match_any(values, otherwise=1),
        _Instruction(_RETURN, _ALLOW),
        *_refuse(error),
    ]


def _match_any(values: tuple[int, ...], otherwise: int) -> list[_Instruction]:
    """Return steps that go on for one of the values and skip `otherwise` steps for others."""
    last = len(values) - 1
    return [
        _Instruction(_EQUAL, value, if_true=last - at, if_false=otherwise if at == last else 0)
        for at, value in enumerate(values)
    ]
