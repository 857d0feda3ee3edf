"""The system calls that a sandbox refuses, as a BPF program for `bwrap --seccomp`.

A deny list: what tests, compilers and git need is too wide for an allow list. It takes away
what reaches past the namespaces (vsock, io_uring, keyrings, new user namespaces, terminal input).
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

from agents.errors import ConfigError

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

# Offsets in `struct seccomp_data`; arguments are 64 bits wide, we look at their low halves.
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24

_X32_BIT = 0x40000000
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
_NEW_TIME = 0x80  # only unshare: for clone these bits are the exit signal
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK

# Since Linux 5.1 new calls have the same number everywhere.
_DENIED_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
}
_CLONE3 = 435


@dataclass(frozen=True)
class _Machine:
    architecture: int  # AUDIT_ARCH_*
    clone: int
    unshare: int
    ioctl: int
    socket: int
    denied: dict[str, int]
    x32: bool = False


_MACHINES = {
    "x86_64": _Machine(
        architecture=0xC000003E,
        clone=56,
        unshare=272,
        ioctl=16,
        socket=41,
        x32=True,
        denied={
            "acct": 163,
            "add_key": 248,
            "adjtimex": 159,
            "bpf": 321,
            "clock_adjtime": 305,
            "clock_settime": 227,
            "delete_module": 176,
            "fanotify_init": 300,
            "finit_module": 313,
            "init_module": 175,
            "ioperm": 173,
            "iopl": 172,
            "kcmp": 312,
            "kexec_file_load": 320,
            "kexec_load": 246,
            "keyctl": 250,
            "modify_ldt": 154,
            "mount": 165,
            "name_to_handle_at": 303,
            "open_by_handle_at": 304,
            "perf_event_open": 298,
            "pivot_root": 155,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "quotactl": 179,
            "reboot": 169,
            "request_key": 249,
            "setdomainname": 171,
            "sethostname": 170,
            "setns": 308,
            "settimeofday": 164,
            "swapoff": 168,
            "swapon": 167,
            "syslog": 103,
            "umount2": 166,
            "userfaultfd": 323,
        },
    ),
    "aarch64": _Machine(
        architecture=0xC00000B7,
        clone=220,
        unshare=97,
        ioctl=29,
        socket=198,
        denied={
            "acct": 89,
            "add_key": 217,
            "adjtimex": 171,
            "bpf": 280,
            "clock_adjtime": 266,
            "clock_settime": 112,
            "delete_module": 106,
            "fanotify_init": 262,
            "finit_module": 273,
            "init_module": 105,
            "kcmp": 272,
            "kexec_file_load": 294,
            "kexec_load": 104,
            "keyctl": 219,
            "mount": 40,
            "name_to_handle_at": 264,
            "open_by_handle_at": 265,
            "perf_event_open": 241,
            "pivot_root": 41,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "quotactl": 60,
            "reboot": 142,
            "request_key": 218,
            "setdomainname": 162,
            "sethostname": 161,
            "setns": 268,
            "settimeofday": 170,
            "swapoff": 225,
            "swapon": 224,
            "syslog": 116,
            "umount2": 39,
            "userfaultfd": 282,
        },
    ),
}


@dataclass(frozen=True)
class _Step:
    """One instruction; jumps count the instructions to skip."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


def build_filter(machine: str | None = None) -> bytes:
    """Return the filter for this machine, or the one named; ConfigError for an unknown one."""
    name = machine or platform.machine()
    if name not in _MACHINES:
        raise ConfigError(
            f"The sandbox has no system call filter for `{name}` machines. "
            f"Run Fettle on one of: {', '.join(sorted(_MACHINES))}."
        )
    return b"".join(
        struct.pack("=HBBI", step.code, step.if_true, step.if_false, step.value)
        for step in _program(_MACHINES[name])
    )


def _program(machine: _Machine) -> list[_Step]:
    steps = [
        _Step(_LOAD, _ARCHITECTURE),
        _Step(_EQUAL, machine.architecture, if_true=1),
        _Step(_RETURN, _KILL),
        _Step(_LOAD, _NUMBER),
    ]
    if machine.x32:
        steps += [_Step(_AT_LEAST, _X32_BIT, if_false=1), _Step(_RETURN, _KILL)]
    for number in (*machine.denied.values(), *_DENIED_EVERYWHERE.values()):
        steps += _call(number, _refuse(errno.EPERM))
    # Its flags lie behind a pointer, where no filter sees them; libraries fall back to clone.
    steps += _call(_CLONE3, _refuse(errno.ENOSYS))
    steps += _call(machine.clone, _unless_bits(_NEW_NAMESPACES))
    steps += _call(machine.unshare, _unless_bits(_NEW_NAMESPACES | _NEW_TIME))
    steps += _call(machine.ioctl, _unless_one_of(_SECOND, (_TIOCSTI, _TIOCLINUX)))
    steps += _call(machine.socket, _only(_FIRST, _FAMILIES, errno.EAFNOSUPPORT))
    return [*steps, _Step(_RETURN, _ALLOW)]


def _call(number: int, body: list[_Step]) -> list[_Step]:
    return [_Step(_EQUAL, number, if_false=len(body)), *body]


def _refuse(error: int) -> list[_Step]:
    return [_Step(_RETURN, _ERRNO | error)]


def _unless_bits(bits: int) -> list[_Step]:
    return [
        _Step(_LOAD, _FIRST),
        _Step(_ANY_BIT, bits, if_false=1),
        *_refuse(errno.EPERM),
        _Step(_RETURN, _ALLOW),
    ]


def _unless_one_of(argument: int, values: tuple[int, ...]) -> list[_Step]:
    return [
        _Step(_LOAD, argument),
        *_match_any(values, otherwise=1),
        *_refuse(errno.EPERM),
        _Step(_RETURN, _ALLOW),
    ]


def _only(argument: int, values: tuple[int, ...], error: int) -> list[_Step]:
    return [
        _Step(_LOAD, argument),
        *_match_any(values, otherwise=1),
        _Step(_RETURN, _ALLOW),
        *_refuse(error),
    ]


def _match_any(values: tuple[int, ...], otherwise: int) -> list[_Step]:
    """Return steps that go on for one of the values and skip `otherwise` steps for others."""
    last = len(values) - 1
    return [
        _Step(_EQUAL, value, if_true=last - at, if_false=otherwise if at == last else 0)
        for at, value in enumerate(values)
    ]
