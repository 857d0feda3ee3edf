"""Run uv with the package indexes, certificates and proxy that pip is configured with.

uv does not read pip's configuration, so a mirror that is set up for pip alone would be passed
by. What is said to uv itself, by its own variables, stands.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path


def _spaces(value: str) -> str:
    return " ".join(value.split())


def _commas(value: str) -> str:
    return ",".join(value.split())


VARIABLES: dict[str, tuple[str, Callable[[str], str]]] = {
    "cert": ("SSL_CERT_FILE", str),
    "client-cert": ("SSL_CLIENT_CERT", str),
    "default-timeout": ("UV_HTTP_TIMEOUT", str),
    "extra-index-url": ("UV_INDEX", _spaces),
    "find-links": ("UV_FIND_LINKS", _commas),
    "index-url": ("UV_DEFAULT_INDEX", str),
    "no-index": ("UV_NO_INDEX", str),
    "proxy": ("ALL_PROXY", str),
    "timeout": ("UV_HTTP_TIMEOUT", str),
    "trusted-host": ("UV_INSECURE_HOST", _spaces),
}


def pip_settings(listing: str) -> dict[str, str]:
    """Return what `pip install` goes by, out of `pip config list`: environment over files."""
    settings: dict[str, str] = {}
    for scope in ("global.", "install.", ":env:."):
        for line in listing.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(scope):
                settings[name.removeprefix(scope)] = str(ast.literal_eval(value))
    return settings


def uv_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return uv's variables for these settings of pip."""
    variables = {
        variable: form(settings[name])
        for name, (variable, form) in VARIABLES.items()
        if settings.get(name)
    }
    # pip takes the best match of all indexes. Every file is hash-locked, so uv may do the same.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **variables}


def main() -> None:
    """Become uv, with the arguments given."""
    pip = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(pip, check=True, capture_output=True, text=True).stdout
    uv = str(Path(sys.executable).with_name("uv"))
    environment = {**uv_variables(pip_settings(listing)), **os.environ}
    os.execve(uv, [uv, *sys.argv[1:]], environment)  # noqa: S606 no shell wanted


if __name__ == "__main__":
    main()
