"""Paths of installed dependencies inside sandboxes, and the environment of commands there."""

from __future__ import annotations

from collections.abc import Mapping

from agents.analysis.languages import TOOLS, VENV
from app.sandbox.port import HOME

PLACE = "/setup"
"""Belongs to the set-up alone: what knows its own path, like a virtual environment, lies here."""
SCRATCH = f"{PLACE}/tmp"  # noqa: S108 the set-up's own
"""For temporary files, which are larger than the sandbox's own /tmp when packages are built."""

_STAYS = {
    "UV_PROJECT_ENVIRONMENT": VENV,
    "UV_PYTHON_DOWNLOADS": "never",
    "POETRY_VIRTUALENVS_CREATE": "false",  # it takes the one that is there
    "BUNDLE_PATH": f"{PLACE}/bundle",
    "GOTOOLCHAIN": "local",
    "CARGO_REGISTRIES_CRATES_IO_PROTOCOL": "sparse",  # else Cargo 1.68 looks for what git fetched
    # A daemon would take memory until its command has ended, and serve no other.
    "GRADLE_OPTS": "-Dorg.gradle.daemon=false",
}

INSTALLING: Mapping[str, str] = {
    **_STAYS,
    "VIRTUAL_ENV": VENV,
    "TMPDIR": SCRATCH,
    "DO_NOT_TRACK": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_PROGRESS_BAR": "off",
    "PIP_RETRIES": "2",
    "UV_NO_PROGRESS": "1",
    "UV_LINK_MODE": "copy",
    "PDM_CHECK_UPDATE": "false",
    "GOFLAGS": "-modcacherw",
    "npm_config_cache": f"{SCRATCH}/npm",
    "npm_config_fetch_retries": "1",  # what is refused once is refused again
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_update_notifier": "false",
    "YARN_CACHE_FOLDER": f"{SCRATCH}/yarn",
    "COMPOSER_CACHE_DIR": f"{SCRATCH}/composer",
    "YARN_ENABLE_TELEMETRY": "0",
    "HUSKY": "0",
}
"""Environment of set-up commands, beside the variables for the indexes."""

ASKING: Mapping[str, str] = {
    **{name: value for name, value in INSTALLING.items() if VENV not in value},
    "XDG_CACHE_HOME": f"{SCRATCH}/cache",
    "XDG_DATA_HOME": f"{SCRATCH}/data",
}
"""Environment of commands that only read from indexes, and so have no place to install into."""

WORKING: Mapping[str, str] = {
    **_STAYS,
    # Without these the tools would look for an index that they cannot reach, some for minutes.
    "UV_OFFLINE": "1",
    "UV_NO_SYNC": "1",
    "GOPROXY": "off",
    "CARGO_NET_OFFLINE": "true",
    "npm_config_offline": "true",
    "YARN_ENABLE_NETWORK": "0",
    "COREPACK_ENABLE_NETWORK": "0",
}
"""Environment of a run's commands where dependencies were installed."""

PROGRAMS = (
    f"{VENV}/bin",
    f"{TOOLS}/bin",
    f"{PLACE}/bundle/bin",
    f"{HOME}/.local/bin",
    f"{HOME}/.cargo/bin",
    f"{HOME}/go/bin",
)
"""Folders of programs that come first on PATH, of those that are there."""

DROPPED = ("GIT_", "LD_", "PYTHON", "NODE_OPTIONS", "BASH_ENV", "ENV", "PATH", "HOME", "TMPDIR")
"""How the variables begin, or are, that no operator's list passes on: they change who runs."""

OPENED = ("", ".cache", ".local", ".local/share")
"""Folders of HOME whose parts are kept one by one, so that tools can still write beside them."""

LEFT_OUT = frozenset(
    # Settings, which may hold credentials.
    {".config", ".ssh", ".gnupg", ".aws", ".docker", ".azure", ".kube", ".subversion"}
    # What only saves time, and which tools give up on when they cannot write to it.
    | {".npm", ".pnpm-store", ".local/state", ".local/share/pnpm"}
    | {f".cache/{name}" for name in ("pip", "uv", "yarn", "pnpm", "pdm", "composer")}
    | {f".cache/{name}" for name in ("pypoetry", "pipenv", "virtualenv", "node-gyp", "node")}
)
"""Parts of HOME that are not kept."""

BUILT = frozenset(
    {"target", "build", "dist", "out", "coverage", "htmlcov", "tmp", "temp", "log", "logs"}
    | {"__pycache__", ".eggs", ".tox", ".nox", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
    | {".next", ".nuxt", ".turbo", ".parcel-cache", ".cache", ".gradle", ".git"}
)
"""Names of folders that builds write to: read-only they would be in the way of the next build."""

WRITTEN = (".cache", ".vite", ".vite-temp")
"""Folders in `node_modules` that tools write to."""
