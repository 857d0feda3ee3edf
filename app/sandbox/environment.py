"""The home folder, the search path and the variables of commands, the same in every sandbox."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

HOME = "/home/agent"
PATH = "/usr/local/bin:/usr/bin:/bin"


def build_environment(extra: Mapping[str, str], toolchains: Sequence[Path]) -> dict[str, str]:
    """Return the variables of a command: built from nothing, so none of Fettle's is there."""
    return {
        "PATH": os.pathsep.join([*(str(tool / "bin") for tool in toolchains), PATH]),
        "HOME": HOME,
        "USER": "agent",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",  # noqa: S108 # the sandbox's own
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",  # this machine's settings are not the repository's
        **extra,
    }
