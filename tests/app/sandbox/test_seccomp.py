"""The filter gives the right verdict on both machines, and the kernel obeys it."""

import errno
import hashlib
import struct

import pytest

from agents.errors import ConfigError
from app.sandbox.port import SandboxCommand
from app.sandbox.seccomp import build_filter

ALLOW, KILL = "allow", "kill"
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def verdict(program, architecture, number, *arguments):
    """Run the BPF program, as the kernel would, on one system call."""
    arguments += (0,) * (6 - len(arguments))
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments)
    steps = list(struct.iter_unpack("=HBBI", program))
    at = accumulator = 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x06:
            return {0x7FFF0000: ALLOW, 0x80000000: KILL}.get(value) or errno.errorcode[
                value & 0xFFFF
            ]
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            at += if_true if holds else if_false


X86 = {"read": 0, "clone": 56, "unshare": 272, "ioctl": 16, "socket": 41, "keyctl": 250, "bpf": 321}
ARM = {
    "read": 63,
    "clone": 220,
    "unshare": 97,
    "ioctl": 29,
    "socket": 198,
    "keyctl": 219,
    "bpf": 280,
}

CASES = [
    ("read", 0, 0, ALLOW),
    ("keyctl", 0, 0, "EPERM"),
    ("bpf", 0, 0, "EPERM"),
    ("clone", 0x1200011, 0, ALLOW),  # fork by the C library
    ("clone", 0x3D0F00, 0, ALLOW),  # a thread
    ("clone", 0x10000011, 0, "EPERM"),
    ("clone", 0x20000011, 0, "EPERM"),
    ("clone", 0x40000011, 0, "EPERM"),
    ("unshare", 0x400, 0, ALLOW),
    ("unshare", 0x10000000, 0, "EPERM"),
    ("unshare", 0x80, 0, "EPERM"),
    ("ioctl", 0, 0x5401, ALLOW),
    ("ioctl", 0, 0x5412, "EPERM"),
    ("ioctl", 0, 0x541C, "EPERM"),
    ("ioctl", 0, 0xFFFFFFFF00005412, "EPERM"),  # the kernel looks at 32 bits only
    ("socket", 1, 0, ALLOW),
    ("socket", 2, 0, ALLOW),
    ("socket", 10, 0, ALLOW),
    ("socket", 16, 0, ALLOW),
    ("socket", 40, 0, "EAFNOSUPPORT"),
    ("socket", 38, 0, "EAFNOSUPPORT"),
    ("socket", 17, 0, "EAFNOSUPPORT"),
]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(("call", "first", "second", "expected"), CASES)
def test_verdicts(machine, call, first, second, expected):
    number = (X86 if machine == "x86_64" else ARM)[call]
    program = build_filter(machine)
    assert verdict(program, ARCHITECTURE[machine], number, first, second) == expected


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_that_are_new_everywhere(machine):
    program, architecture = build_filter(machine), ARCHITECTURE[machine]
    assert verdict(program, architecture, 425) == "EPERM"  # io_uring_setup
    assert verdict(program, architecture, 435) == "ENOSYS"  # clone3
    assert verdict(program, architecture, 437) == "ENOSYS"  # openat2
    assert verdict(program, architecture, 439) == ALLOW  # faccessat2


CREATE, TEMPORARY, DIRECTORY = 0x40, 0x410000, 0x10000
SET_UID, SET_GID, STICKY = 0o4755, 0o102755, 0o1777
MODES = [  # call, arguments with None for the mode
    ("chmod", {"x86_64": 90}, (0, None)),
    ("fchmod", {"x86_64": 91, "aarch64": 52}, (3, None)),
    ("fchmodat", {"x86_64": 268, "aarch64": 53}, (-100 % 2**64, 0, None)),
    ("fchmodat2", {"x86_64": 452, "aarch64": 452}, (3, 0, None, 0x100)),
    ("mknod", {"x86_64": 133}, (0, None, 0)),
    ("mknodat", {"x86_64": 259, "aarch64": 33}, (3, 0, None, 0)),
    ("creat", {"x86_64": 85}, (0, None)),
    ("open", {"x86_64": 2}, (0, CREATE, None)),
    ("openat", {"x86_64": 257, "aarch64": 56}, (3, 0, CREATE | 2, None)),
    ("openat", {"x86_64": 257, "aarch64": 56}, (3, 0, TEMPORARY | 2, None)),
]


@pytest.mark.parametrize(
    ("machine", "number", "arguments"),
    [
        pytest.param(machine, number, arguments, id=f"{call}-{machine}-{number}-{at}")
        for at, (call, numbers, arguments) in enumerate(MODES)
        for machine, number in numbers.items()
    ],
)
def test_no_file_runs_as_its_owner(machine, number, arguments):
    def find_verdict(mode):
        filled = (mode if each is None else each for each in arguments)
        return verdict(build_filter(machine), ARCHITECTURE[machine], number, *filled)

    assert find_verdict(SET_UID) == "EPERM"
    assert find_verdict(SET_GID) == "EPERM"
    assert find_verdict(SET_UID | 0xFFFF_0000_0000_0000) == "EPERM"
    assert find_verdict(STICKY) == ALLOW
    assert find_verdict(0o644) == ALLOW


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 257), ("aarch64", 56)])
def test_where_no_file_is_made_the_mode_is_whatever_was_left_there(machine, number):
    program, architecture = build_filter(machine), ARCHITECTURE[machine]
    assert verdict(program, architecture, number, 3, 0, 0, SET_UID) == ALLOW
    assert verdict(program, architecture, number, 3, 0, DIRECTORY, SET_UID) == ALLOW


def test_foreign_architectures_are_killed():
    assert verdict(build_filter("x86_64"), 0x40000003, 1) == KILL  # i386
    assert verdict(build_filter("x86_64"), ARCHITECTURE["x86_64"], 0x40000000) == KILL  # x32
    assert verdict(build_filter("aarch64"), 0x40000028, 1) == KILL  # arm


@pytest.mark.parametrize(
    ("machine", "digest"),
    [
        ("x86_64", "79c3fe36204e539714bfe33a98326b91"),
        ("aarch64", "734bc363ddbe3a55e67b8ced16474087"),
    ],
)
def test_golden(machine, digest):
    """Whoever changes the filter looks at it twice."""
    assert hashlib.sha256(build_filter(machine)).hexdigest()[:32] == digest


def test_unknown_machine_is_refused():
    with pytest.raises(ConfigError, match="riscv64"):
        build_filter("riscv64")


async def test_the_kernel_obeys_inside(sandbox):
    script = """
use strict; use Socket; $! = 0;
my $buffer = "\\0" x 120;
sub told { my ($name, $result) = @_; print "$name ", ($result >= 0 ? "ok" : $! + 0), "\\n" }
told("vsock", socket(my $a, 40, SOCK_STREAM, 0) ? 0 : -1);
told("inet", socket(my $b, 2, SOCK_STREAM, 0) ? 0 : -1);
told("fork", defined(my $pid = fork) ? 0 : -1); exit 0 if defined $pid && !$pid; wait;
"""
    result = await sandbox.run(SandboxCommand(("perl", "-e", script), folder="/"))
    assert result.output.split("\n")[:3] == [f"vsock {errno.EAFNOSUPPORT}", "inet ok", "fork ok"]
    unshared = await sandbox.run(SandboxCommand(("unshare", "-Ur", "true"), folder="/"))
    assert unshared.exit_code != 0
    assert "not permitted" in unshared.output
