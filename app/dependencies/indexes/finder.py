"""Find the package indexes of a set-up from the configuration of the operator's own tools."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from app.dependencies.certificate_authority import trust
from app.dependencies.indexes.cargo import cargo_indexes
from app.dependencies.indexes.composer import composer_indexes
from app.dependencies.indexes.go import go_indexes
from app.dependencies.indexes.hex import hex_indexes
from app.dependencies.indexes.jvm import gradle_indexes, maven_indexes
from app.dependencies.indexes.local_folders import mounts_of
from app.dependencies.indexes.npm import npm_indexes, yarn_indexes
from app.dependencies.indexes.nuget import nuget_indexes
from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.origins_of import Places
from app.dependencies.indexes.pip import pip_indexes, unconfigured_index
from app.dependencies.indexes.result import Configured, Index, Indexes
from app.dependencies.indexes.ruby import ruby_indexes
from app.dependencies.indexes.uv import mise_mirrors, uv_indexes, uv_mirrors
from app.dependencies.origins import remove_credentials
from app.network.addresses import Resolver, system_resolver
from app.network.outbound import DIRECT, Outbound

Reader = Callable[[Operator], Awaitable[Configured]]

_PYTHON: tuple[Reader, ...] = (pip_indexes, uv_indexes)
_NODES = (npm_indexes, yarn_indexes)
READERS: Mapping[str, tuple[Reader, ...]] = {
    **dict.fromkeys(("pip", "pdm", "pipenv", "hatch"), _PYTHON),
    "uv": (*_PYTHON, uv_mirrors),
    "poetry": (*_PYTHON, unconfigured_index),
    **dict.fromkeys(("npm", "pnpm", "bun"), (npm_indexes,)),
    "yarn": (yarn_indexes,),
    "cargo": (cargo_indexes,),
    "go": (go_indexes,),
    "mvn": (maven_indexes,),
    "gradle": (maven_indexes, gradle_indexes),
    "bundle": (ruby_indexes,),
    "composer": (composer_indexes,),
    "dotnet": (nuget_indexes,),
    "mix": (hex_indexes,),
    "mise": (mise_mirrors,),
}
"""How the configuration of each tool is found out."""

_USUAL = ("pip", "npm", "go")
_WHERE_INSTALLED = ("cargo", "mvn", "gradle", "bundle", "composer", "dotnet", "mix")
"""Tools whose public index is known without them: of no use where the tool is not there."""

FRESH = 600.0
"""Seconds for which what was found is used again."""

_AUTHORITIES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_SECRET_NAME = re.compile(r"token|secret|passw|_auth|credential|key$", re.IGNORECASE)


_Names = tuple[tuple[str, str], ...]


@dataclasses.dataclass
class _Read:
    """What tools were found to be configured for, each asked once."""

    at: float
    operator: Operator
    by_reader: dict[Reader, Configured] = dataclasses.field(default_factory=dict)

    async def list_configured(self, tools: Iterable[str]) -> list[Configured]:
        """Return what these tools are configured for."""
        readers = dict.fromkeys(reader for tool in tools for reader in READERS.get(tool, ()))
        for reader in readers:
            if reader not in self.by_reader:
                self.by_reader[reader] = await reader(self.operator)
        return [self.by_reader[reader] for reader in readers]


class IndexFinder:
    """Finds indexes; one finder serves the process, since asking takes a second or two."""

    def __init__(
        self,
        operator: Operator,
        owner: tuple[int, int],
        *,
        conceal: Callable[[str], None],
        resolver: Resolver = system_resolver,
        outbound: Outbound = DIRECT,
    ) -> None:
        """`conceal` is told each password and token, to keep them out of logs and reports."""
        self._operator = operator
        self.owner = owner
        """Who runs sandboxes: indexes that are folders must be readable for this user."""
        self._conceal = conceal
        self._resolver = resolver
        self.outbound = outbound
        """The way to indexes."""
        self._lock = asyncio.Lock()
        self._read = _Read(-FRESH, operator)
        self._kept: dict[_Names, tuple[float, Indexes]] = {}

    async def find(self, names: Mapping[str, str]) -> Indexes:
        """Return the indexes of set-ups with these tools.

        `names` maps each tool to one package that the repository depends on, or to nothing: some
        indexes hold their owner's packages alone. Without names all installed tools are meant.
        Raises ConfigError for malformed hosts in the settings.
        """
        what = tuple(sorted(names.items()))
        async with self._lock:
            now = time.monotonic()
            self._kept = {k: kept for k, kept in self._kept.items() if now - kept[0] < FRESH}
            if what not in self._kept:
                self._kept[what] = (now, await self._find(names))
            return self._kept[what][1]

    async def origins(self, names: Mapping[str, str]) -> Sequence[str]:
        """Return the addresses of these tools' indexes in order, without credentials.

        No index is asked for anything.
        """
        async with self._lock:
            _, found = await self._read_configuration(names)
        folders = (f"{each.tool} {folder}" for each in found for folder in each.folders)
        return [*(f"{i.tool} {i.kind} {i.url}" for each in found for i in each.indexes), *folders]

    async def _read_configuration(
        self, names: Mapping[str, str]
    ) -> tuple[Operator, Sequence[Configured]]:
        now = time.monotonic()
        if now - self._read.at >= FRESH:
            self._read = _Read(now, dataclasses.replace(self._operator))  # a copy, which asks anew
        operator = self._read.operator
        here = (*_USUAL, *filter(operator.find_program, _WHERE_INSTALLED))
        return operator, await self._read.list_configured(sorted(names) or here)

    async def _find(self, names: Mapping[str, str]) -> Indexes:
        operator, found = await self._read_configuration(names)
        notes = [note for each in found for note in each.notes if names or each.indexes]
        notes += [_unknown(tool) for tool in names if tool not in READERS]
        indexes = _merge_indexes(index for each in found for index in each.indexes)
        for index in indexes:
            for secret in (secret for key in index.keys for secret in key.secrets):
                self._conceal(secret.get_secret_value())
        certificates = _certificates(operator, found, self.outbound.authorities, notes)
        places = Places(trust(certificates), self._resolver, self.outbound)
        folders = dict.fromkeys(folder for each in found for folder in each.folders)
        return Indexes(
            allowed=(
                *await places.origins(indexes, _packages(names), notes),
                *await places.operators(operator.hosts),
            ),
            environment=_environment(operator, found, notes),
            files={name: text for each in found for name, text in each.files.items()},
            mounts=mounts_of(folders, self.owner, notes),
            certificates=certificates,
            notes=tuple(dict.fromkeys(notes)),
        )


def _merge_indexes(indexes: Iterable[Index]) -> list[Index]:
    """Return each index once; pip's and uv's are mostly the same."""
    return list({(i.url, i.kind, i.keys, i.stands_for): i for i in indexes}.values())


def _packages(names: Mapping[str, str]) -> dict[str, str]:
    """Return for each kind of index the name of a package that one of its tools will ask for."""
    kinds = {
        **{tool: "simple" for tool, readers in READERS.items() if _PYTHON[0] in readers},
        **{tool: "npm" for tool, readers in READERS.items() if readers[0] in _NODES},
    }
    return {kinds[tool]: name for tool, name in names.items() if name and tool in kinds}


def _environment(
    operator: Operator, found: Iterable[Configured], notes: list[str]
) -> dict[str, str]:
    """Return the variables that lead tools to the indexes, and those the operator passes on."""
    environment = {name: value for each in found for name, value in each.environment.items()}
    for name in operator.variables:
        if _SECRET_NAME.search(name):
            notes.append(
                f"`{name}` in FETTLE_SETUP_VARIABLES looks like a secret and was not passed on: "
                "set-ups run what strangers wrote. Fettle sends the credentials of indexes itself."
            )
        elif name in operator.environ:
            environment[name] = remove_credentials(operator.environ[name])
    return environment


def _certificates(
    operator: Operator, found: Iterable[Configured], authorities: str, notes: list[str]
) -> tuple[str, ...]:
    """Return the authorities that the operator and their tools trust, in PEM."""
    named = [operator.environ.get(name, "") for name in _AUTHORITIES]
    named += [path for each in found for path in each.certificates]
    texts = [text for each in found for text in each.authorities]
    texts += [authorities] if authorities else []
    for path in dict.fromkeys(filter(None, named)):
        try:
            texts.append(Path(path).expanduser().read_text("ascii", "ignore"))
        except OSError as error:
            notes.append(f"The certificates in `{path}` cannot be read ({error.strerror}).")
    good = []
    for text in dict.fromkeys(texts):
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
        except (ssl.SSLError, ValueError):
            notes.append("A file of certificates that a tool is configured for holds none.")
        else:
            good.append(text)
    return tuple(good)


def _unknown(tool: str) -> str:
    return (
        f"Fettle does not know where {tool} is configured for its packages. Name the hosts that "
        "it needs in FETTLE_SETUP_HOSTS."
    )
