"""The images that a container engine has: what Fettle takes from their settings, and what not.

Of https://github.com/opencontainers/image-spec/blob/main/config.md only where programs lie is
followed. User, entry point, health check and volumes are Fettle's own, or none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from agents.errors import ConfigError, TransientError
from app.sandbox.container.engines import ContainerEngine, ask
from app.sandbox.port import HOME, PATH, SCRATCH

FORMAT = "{{.Id}} {{json .Config}}"
_LISTED = "{{.Repository}}:{{.Tag}} {{.Digest}}"
_ABSENT = ("no such image", "image not known")
_ID = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_PLAIN = re.compile(r"[\x20-\x7e]{1,500}")
_FOLDER = re.compile(r"(?:/[\w.@+-]+){1,20}")
_MOST_FOLDERS, _MOST_VOLUMES, _MOST_LISTED = 40, 20, 1_000

_OURS = ("/workspace", "/git", "/setup", "/kits", "/run", HOME, SCRATCH)
"""Folders inside that are Fettle's: no program of an image is taken from there."""
_VARIABLES = (
    *("ANDROID_HOME", "ANDROID_SDK_ROOT", "DOTNET_ROOT", "ERLANG_HOME", "GOROOT", "GRADLE_HOME"),
    *("JAVA_HOME", "MAVEN_HOME", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT", "RUSTUP_HOME"),
    *("RUSTUP_TOOLCHAIN", "SDKMAN_DIR"),
)
"""What an image may set: where toolchains lie. Nothing that is written to, like GOPATH."""

_LABELLED = "it carries labels of Fettle's own, by which containers are told apart"
_ODD_VOLUMES = "it declares volumes that no container of Fettle's can do without"


@dataclass(frozen=True)
class LocalImage:
    """An image that the engine has."""

    id: str
    """64 hexadecimal digits; whatever a tag is moved to, they name this very image."""
    path: str = PATH
    """Where its programs lie, those of the system at the end."""
    variables: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    """Folders for which an engine would make writable ones on disk, beyond all limits."""


async def find_image(engine: ContainerEngine, reference: str) -> LocalImage | None:
    """Return the image of this name or id; None where the engine has none.

    Raises ConfigError for one that no container can be made of, and TransientError where the engine
    fails.
    """
    said = await ask(engine.program, "image", "inspect", f"--format={FORMAT}", reference)
    if said.code:
        if any(mark in said.text.lower() for mark in _ABSENT):
            return None
        raise TransientError(f"The engine tells nothing of its images: {said.text[-300:].strip()}")
    first, _, second = said.text.strip().partition(" ")
    try:
        identity = _ID.fullmatch(first)
        settings = dict(json.loads(second) or {})
        return _read_settings(identity[1] if identity else "", settings)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise TransientError("The engine's answer about an image cannot be read.") from error


async def list_images(engine: ContainerEngine) -> list[str]:
    """Return the images that the engine has, by tag and, where it knows one, by digest."""
    said = await ask(engine.program, "image", "ls", f"--format={_LISTED}")
    names = []
    for line in said.text.splitlines()[:_MOST_LISTED] if said.code == 0 else ():
        tagged, _, digest = line.strip().partition(" ")
        names += [tagged, *([f"{tagged.rpartition(':')[0]}@{digest}"] if ":" in digest else [])]
    return [name for name in names if "<none>" not in name]


def _read_settings(identity: str, settings: Mapping[str, Any]) -> LocalImage:
    if not identity:
        raise ValueError("no id stands there")
    pairs = [str(each).partition("=") for each in settings.get("Env") or ()]
    given = {name: value for name, _, value in pairs if _PLAIN.fullmatch(value)}
    volumes = tuple(sorted(map(str, settings.get("Volumes") or ())))
    if any(str(name).startswith("fettle.") for name in settings.get("Labels") or ()):
        raise ConfigError(_LABELLED)
    if len(volumes) > _MOST_VOLUMES or not all(map(_may_be_hidden, volumes)):
        raise ConfigError(_ODD_VOLUMES)
    paths = next((value for name, _, value in pairs if name == "PATH"), "")
    return LocalImage(
        identity,
        ":".join(_list_program_folders(paths[:4000].split(":"))),
        {name: given[name] for name in _VARIABLES if name in given},
        volumes,
    )


def _list_program_folders(found: Sequence[str]) -> Iterable[str]:
    kept = [folder for folder in found if _FOLDER.fullmatch(folder) and not _is_ours(folder)]
    return dict.fromkeys((*kept[:_MOST_FOLDERS], *PATH.split(":")))


def _is_ours(folder: str) -> bool:
    path = PurePosixPath(folder)
    return ".." in path.parts or any(path.is_relative_to(each) for each in _OURS)


def _may_be_hidden(volume: str) -> bool:
    """Tell whether something empty can take the place of a volume: not within what is mounted."""
    inside = _is_ours(volume) and volume not in _OURS
    return _FOLDER.fullmatch(volume) is not None and not inside


def hide_volumes(
    engine: ContainerEngine, image: LocalImage | None, taken: Iterable[str]
) -> Iterator[str]:
    """Yield the options that keep an image's volumes off this machine's disk.

    Podman can leave them out; docker gets something empty and read-only in the place of each.
    """
    if engine.name == "podman":
        yield "--image-volume=ignore"
        return
    for volume in image.volumes if image else ():
        if volume not in set(taken):
            yield f"--tmpfs={volume}:ro,nosuid,nodev,noexec,size=64k"
