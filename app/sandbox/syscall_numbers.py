"""The numbers of the system calls that the filter knows, for each kind of machine (syscalls(2))."""

from __future__ import annotations

from dataclasses import dataclass

# Since Linux 5.1 new calls have the same number everywhere.
DENIED_EVERYWHERE = {
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
    "open_tree_attr": 467,
}
CLONE3, OPENAT2 = 435, 437


@dataclass(frozen=True)
class Architecture:
    """One kind of machine; calls that take a mode stand with the index of that argument."""

    audit_arch: int  # AUDIT_ARCH_*
    clone: int
    unshare: int
    ioctl: int
    socket: int
    fallocate: int
    become: tuple[int, int, int]
    """The calls setgroups, setresgid and setresuid."""
    chmod: dict[int, int]
    """Calls that change a file's mode."""
    mknod: dict[int, int]
    """Calls that always make a file, and with which mode."""
    open: dict[int, int]
    """Calls that make a file if the argument before the mode, their flags, asks for it."""
    denied: dict[str, int]
    x32: bool = False


ARCHITECTURES = {
    "x86_64": Architecture(
        audit_arch=0xC000003E,
        clone=56,
        unshare=272,
        ioctl=16,
        socket=41,
        fallocate=285,
        become=(116, 119, 117),
        chmod={90: 1, 91: 1, 268: 2, 452: 2},  # chmod, fchmod, fchmodat, fchmodat2
        mknod={85: 1, 133: 1, 259: 2},  # creat, mknod, mknodat
        open={2: 2, 257: 3},  # open, openat
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
    "aarch64": Architecture(
        audit_arch=0xC00000B7,
        clone=220,
        unshare=97,
        ioctl=29,
        socket=198,
        fallocate=47,
        become=(159, 149, 147),
        chmod={52: 1, 53: 2, 452: 2},  # fchmod, fchmodat, fchmodat2
        mknod={33: 2},  # mknodat
        open={56: 3},  # openat
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
