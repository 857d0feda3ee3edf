"""What a repository's devcontainer.json says of the image that its work is done in.

https://containers.dev/implementors/json_reference/. Only `image` is followed: what else the file
may hold asks for a build, for commands with a network, or for privileges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DEVCONTAINERS = (".devcontainer/devcontainer.json", ".devcontainer.json")
"""Where the file may lie; the first that is there counts."""
LONGEST = 16_000  # bytes: its parser needs a second and a half for the worst of that size
DEEPEST = 20  # levels

_BUILDS = ("build", "dockerFile", "dockerComposeFile")
_LEFT_OUT = (
    *("features", "initializeCommand", "onCreateCommand", "updateContentCommand"),
    *("postCreateCommand", "postStartCommand", "postAttachCommand", "containerEnv", "remoteEnv"),
    *("mounts", "workspaceMount", "runArgs", "privileged", "capAdd", "securityOpt"),
    *("containerUser", "remoteUser", "entrypoint"),
)
_BUILT = (
    "it has its image built (`{key}`), and Fettle builds none: that would run commands of the "
    "repository with a network and as root. An `image` that is built elsewhere can be used"
)
_NONE = "it names no `image`"
_UNREADABLE = "it cannot be read: {why}"


@dataclass(frozen=True)
class Devcontainer:
    """What the file says of its image, and what of it is left out."""

    image: str = ""
    """As it stands there, untrusted; empty: `fault` says why."""
    fault: str = ""
    left_out: tuple[str, ...] = ()
    """Keys of the file that are not followed."""


def read_devcontainer(text: str) -> Devcontainer:
    """Return what the file says. It is a stranger's: read it apart from the event loop."""
    try:
        said = _parse(text)
    except ValueError as error:
        return Devcontainer(fault=_UNREADABLE.format(why=error))
    left_out = tuple(key for key in _LEFT_OUT if said.get(key))
    for key in _BUILDS:
        if key in said:
            return Devcontainer(fault=_BUILT.format(key=key), left_out=left_out)
    image = said.get("image")
    if not isinstance(image, str) or not image:
        return Devcontainer(fault=_NONE, left_out=left_out)
    return Devcontainer(image, left_out=left_out)


def _parse(text: str) -> dict[str, Any]:
    """Return the file's object. Raises ValueError, whose text is ours alone."""
    import json5  # noqa: PLC0415 - no server at rest needs it

    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise ValueError(f"it has more than {LONGEST} bytes")
    if _measure_depth(text) > DEEPEST:
        raise ValueError(f"it is nested deeper than {DEEPEST} levels")
    try:
        said = json5.loads(text.removeprefix("\ufeff"), allow_duplicate_keys=False)
    except (ValueError, RecursionError) as error:
        twice = "Duplicate key" in str(error)
        why = "a key stands there twice" if twice else "it is no JSON with comments"
        raise ValueError(why) from None
    if not isinstance(said, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - what is wrong is the file
    return said


def _measure_depth(text: str) -> int:
    """Return how deep it is nested at most; brackets in texts and comments count along."""
    depth = deepest = 0
    for sign in text:
        depth += (sign in "[{") - (sign in "]}")
        deepest = max(deepest, depth)
    return deepest
