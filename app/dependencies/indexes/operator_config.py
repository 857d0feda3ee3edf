"""The operator's package tools on this machine: variables, files, and answers of the tools."""

from __future__ import annotations

import netrc
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

from app.sandbox.output_buffer import FullBuffer
from app.sandbox.process_group import run_group

TOOL_VARIABLES = ("PIP_", "UV_", "NPM_CONFIG_", "YARN_", "CARGO_", "POETRY_", "GO")
"""How the variables begin that configure package tools."""

OTHER_VARIABLES = frozenset(
    {"HOME", "USER", "LANG", "TZ", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "NETRC"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
    | {"PYENV_ROOT", "PYENV_VERSION", "RUSTUP_HOME", "NVM_DIR", "ASDF_DIR"}
)

_ANSWER_LARGEST = 4 * 1024 * 1024
_SECONDS = 30.0


@dataclass(frozen=True)
class Operator:
    """The operator's own configuration of package tools; a repository has no part in it."""

    environ: Mapping[str, str] = field(repr=False)
    """The variables of Fettle's own process."""
    hosts: tuple[str, ...] = ()
    """FETTLE_SETUP_HOSTS."""
    variables: tuple[str, ...] = ()
    """FETTLE_SETUP_VARIABLES."""
    toolchains: tuple[Path, ...] = ()
    """FETTLE_TOOLCHAINS: where tools are looked for first."""
    _answers: dict[tuple[str, ...], str | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def home(self) -> Path:
        """Return the home folder."""
        return Path(self.environ.get("HOME") or "/nonexistent")

    @property
    def config(self) -> Path:
        """Return the folder of the user's configuration."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    async def ask(self, program: str, *arguments: str) -> str | None:
        """Return a tool's output, or None when the tool is absent or fails.

        The tool runs in `/`, where no repository's configuration applies. Answers are cached: ask a
        copy for a new one.
        """
        question = (program, *arguments)
        if question not in self._answers:
            self._answers[question] = await self._ask(program, *arguments)
        return self._answers[question]

    async def _ask(self, program: str, *arguments: str) -> str | None:
        found = self.find_program(program)
        if found is None:
            return None
        out, err = FullBuffer(_ANSWER_LARGEST), FullBuffer(_ANSWER_LARGEST)
        ended = await run_group(
            [found, *arguments],
            environment={**self._tool_variables(), "PATH": self._path, "COLUMNS": "1000"},
            timeout=_SECONDS,
            out=out,
            err=err,
        )
        if ended.why != "exit" or ended.code != 0:
            return None
        return out.data().decode("utf-8", "replace")

    def first_toml(self, paths: Sequence[Path]) -> dict[str, Any]:
        """Return the contents of the first of these files that is readable."""
        return next(self.tomls(paths), {})

    def tomls(self, paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
        """Return the contents of the readable ones of these files, in order."""
        for path in paths:
            try:
                yield tomllib.loads(path.read_text("utf-8"))
            except (OSError, ValueError):
                continue

    def xmls(self, paths: Sequence[Path]) -> Iterator[Element]:
        """Return the roots of the readable ones of these files, without their namespaces."""
        for path in paths:
            try:
                root = fromstring(path.read_bytes())  # noqa: S314 the operator's own file
            except (OSError, ParseError):
                continue
            for each in root.iter():
                each.tag = str(each.tag).rpartition("}")[2]
            yield root

    def find_program(self, name: str) -> str | None:
        """Return where the tool of this name is, in FETTLE_TOOLCHAINS or on PATH."""
        return shutil.which(name, path=self._path)

    def login(self, host: str) -> tuple[str, str] | None:
        """Return user and password for a host from the operator's .netrc."""
        path = Path(self.environ.get("NETRC") or self.home / ".netrc")
        try:
            found = netrc.netrc(str(path)).authenticators(host)
        except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
            return None
        return None if found is None else (found[0], found[2])

    @property
    def _path(self) -> str:
        own = (str(tool / "bin") for tool in self.toolchains)
        return os.pathsep.join([*own, self.environ.get("PATH", "")])

    def _tool_variables(self) -> dict[str, str]:
        return {
            name: value
            for name, value in self.environ.items()
            if name in OTHER_VARIABLES or name.upper().startswith(TOOL_VARIABLES)
        }
