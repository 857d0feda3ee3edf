"""The likely cause and the one-line remedy for each message with which an engine fails."""

from __future__ import annotations

_CAUSES = (
    (
        ("No such image", "image not known", "nable to find image", "no such image"),
        "the image `{image}` is not on this machine; Fettle fetches none by itself",
        "run `{engine} pull {image}` as Fettle's user, or set FETTLE_SANDBOX_IMAGE",
    ),
    (
        ("permission denied while trying to connect", "ermission denied: connect"),
        "Fettle's user may not talk to the engine",
        "use rootless podman; the group `docker` would make that user as strong as root",
    ),
    (
        ("Cannot connect to the Docker daemon", "connection refused"),
        "the engine stopped",
        "start it again, for example with `systemctl start docker`",
    ),
    (
        ("executable file not found", "env: "),
        "the image `{image}` has no `env`, `timeout` or `sh`",
        "set FETTLE_SANDBOX_IMAGE to an image with coreutils, bash, git and perl",
    ),
    (
        ("subuid", "subgid", "newuidmap", "newgidmap"),
        "Fettle's user has no range of user ids for containers",
        "run `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER`",
    ),
    (
        ("hybrid mode",),
        "this machine mixes cgroup v1 and v2, which the runtime crun refuses",
        'boot with cgroup v2, or install runc and set `runtime = "runc"` in containers.conf',
    ),
    (
        ("cgroup",),
        "limits cannot be set: Fettle's user has no cgroups of its own",
        "use cgroup v2 and delegate them: `Delegate=yes` in the unit, or `loginctl enable-linger`",
    ),
    (
        ("bind source path does not exist", "statfs", "no such file or directory"),
        "the engine does not see the folders that Fettle keeps",
        "let engine and Fettle run on one machine, or set FETTLE_DATA_DIR to a shared folder",
    ),
    (
        ("rlimit",),
        "the engine may not set the limits of a command",
        "raise the hard limits of Fettle's unit: `LimitNOFILE=`, `LimitNPROC=`",
    ),
)


def diagnose(text: str, engine: str, image: str) -> tuple[str, str]:
    """Return the likely cause, and its remedy, of what an engine printed when it failed."""
    for marks, cause, remedy in _CAUSES:
        if any(mark in text for mark in marks):
            return cause.format(image=image), remedy.format(engine=engine, image=image)
    return (
        "unknown; the engine's own words are above",
        f"run `{engine} run --rm --network none {image} true` as Fettle's user",
    )
