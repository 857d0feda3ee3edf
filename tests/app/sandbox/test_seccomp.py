"""The filter gives the right verdict on both machines, and the kernel obeys it."""

import errno
import hashlib
import struct

import pytest

from agents.errors import ConfigError
from app.sandbox.base import Command
from app.sandbox.seccomp import build_filter

ALLOW, KILL = "allow", "kill"
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def verdict(program, architecture, number, first=0, second=0):
    """Run the BPF program, as the kernel would, on one system call."""
    data = struct.pack("=IIQQQQQQQ", number, architecture, 0, first, second, 0, 0, 0, 0)
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
    assert verdict(program, architecture, 437) == ALLOW  # openat2


def test_foreign_architectures_are_killed():
    assert verdict(build_filter("x86_64"), 0x40000003, 1) == KILL  # i386
    assert verdict(build_filter("x86_64"), ARCHITECTURE["x86_64"], 0x40000000) == KILL  # x32
    assert verdict(build_filter("aarch64"), 0x40000028, 1) == KILL  # arm


@pytest.mark.parametrize(
    ("machine", "digest"),
    [
        ("x86_64", "309cf6161d3350c90abf67ddff64618d"),
        ("aarch64", "d9d5a99ddb735e19ee8275c8eedfd52d"),
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
    result = await sandbox.run(Command(("perl", "-e", script), folder="/"))
    assert result.output.split("\n")[:3] == [f"vsock {errno.EAFNOSUPPORT}", "inet ok", "fork ok"]
    unshared = await sandbox.run(Command(("unshare", "-Ur", "true"), folder="/"))
    assert unshared.exit_code != 0
    assert "not permitted" in unshared.output
