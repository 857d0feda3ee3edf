"""The likely cause and the one-line remedy for each message with which bwrap fails to start."""

from __future__ import annotations

_APPARMOR_REMEDY = (
    "add an AppArmor profile for /usr/bin/bwrap with `userns,`, or run "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
)
_DOCKER_REMEDY = (
    "in Docker: `--user 10001 --security-opt seccomp=deploy/seccomp.json --security-opt "
    "systempaths=unconfined`; elsewhere: `sysctl kernel.unprivileged_userns_clone=1`"
)

_CAUSES = (
    (
        "RTM_NEWADDR",
        "AppArmor restricts user namespaces (Ubuntu 24.04 and later)",
        _APPARMOR_REMEDY,
    ),
    (
        "setting up uid map",
        "AppArmor restricts user namespaces (Ubuntu 24.04 and later)",
        _APPARMOR_REMEDY,
    ),
    (
        "No permissions to creat",
        "user namespaces are switched off, or a container's seccomp profile refuses them",
        _DOCKER_REMEDY,
    ),
    (
        "Creating new namespace failed",
        "user namespaces are switched off or used up",
        "run `sysctl user.max_user_namespaces=15000`",
    ),
    (
        "mount proc",
        "/proc is partly masked (container, or systemd's ProtectKernelTunables, ProtectKernelLogs)",
        "in Docker add `--security-opt systempaths=unconfined`; in a unit remove those settings",
    ),
    (
        "make / slave",
        "an AppArmor profile, such as docker-default, refuses mounts",
        "in Docker add `--security-opt apparmor=unconfined`",
    ),
    (
        "pivot_root",
        "the container's root cannot be replaced",
        "run the container as an ordinary user with `--cap-drop ALL`, not with SYS_ADMIN",
    ),
    (
        "nknown option",
        "bubblewrap is older than 0.8",
        "install bubblewrap 0.8 or later",
    ),
)

_UNKNOWN = (
    "unknown; bubblewrap's own words are above",
    "run `bwrap --unshare-user --unshare-net --ro-bind / / --proc /proc true` as Fettle's user",
)


def diagnose(text: str) -> tuple[str, str]:
    """Return the likely cause, and its remedy, of what bwrap printed when it failed."""
    for mark, cause, remedy in _CAUSES:
        if mark in text:
            return cause, remedy
    return _UNKNOWN
