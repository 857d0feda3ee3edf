"""Npm's registries, asked of npm itself; pnpm and yarn use the same ones."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add
from app.dependencies.indexes.result import Configured, Index, key_path
from app.dependencies.loopback_bridge import INSIDE
from app.dependencies.origins import Key, place_of

RC = "npmrc"
"""The file beside the proxy's socket that is the user's configuration inside."""

_SECRET = re.compile(r"^//(?P<where>[^\s=]+?)/?:(?P<what>_authToken|_auth|username|_password)$")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_FIXED = ("audit", "fund", "update_notifier")


async def npm_indexes(operator: Operator) -> Configured:
    """Return the registries that npm is configured for.

    https://docs.npmjs.com/cli/configuring-npm/npmrc
    """
    made = Configured("npm")
    printed = await operator.ask("npm", "config", "list", "--json")
    options = _options(printed) if printed else _own_options(operator)
    registries = {
        name: str(value)
        for name, value in options.items()
        if name == "registry" or (name.startswith("@") and name.endswith(":registry"))
    }
    if "registry" not in registries:
        made.notes.append(
            "npm cannot be asked for its registry here. Install it beside Fettle, or set "
            "npm_config_registry in its environment."
        )
    lines = []
    for name, url in registries.items():
        for clean in add(made, operator, [url], "npm"):
            lines.append(f"{name}={clean}")
            if name == "registry":
                made.environment |= _registry_variables(clean)
    secrets = dict(_secrets(operator, options))
    made.indexes = [_with_key(index, secrets) for index in made.indexes]
    made.files[RC] = "\n".join([*lines, ""])
    made.environment |= {f"npm_config_{name}": "false" for name in _FIXED}
    made.environment["npm_config_userconfig"] = f"{INSIDE}/{RC}"
    if options.get("cafile"):
        made.certificates.append(str(options["cafile"]))
    if options.get("ca"):
        ca = options["ca"]
        made.authorities += [ca] if isinstance(ca, str) else ca
    return made


async def yarn_indexes(operator: Operator) -> Configured:
    """Return npm's registries, and the one that yarn itself is configured for."""
    made = await npm_indexes(operator)
    for arguments in (("config", "get", "registry"), ("config", "get", "npmRegistryServer")):
        answer = (await operator.ask("yarn", *arguments) or "").strip()
        if answer.startswith(("http://", "https://")):
            add(made, operator, [answer], "npm")
    return made


def _registry_variables(registry: str) -> dict[str, str]:
    """Return the variables by which npm and its relatives are led to a registry."""
    names = ("npm_config_registry", "YARN_NPM_REGISTRY_SERVER", "COREPACK_NPM_REGISTRY")
    return dict.fromkeys(names, registry)


def _options(printed: str) -> dict[str, Any]:
    try:
        found = json.loads(printed)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _own_options(operator: Operator) -> dict[str, Any]:
    """Return what can be known without npm: variables win over the user's file."""
    options = dict(_lines([operator.home / ".npmrc"], operator.environ))
    for name, value in operator.environ.items():
        if name.lower().startswith("npm_config_"):
            options[name[11:].lower().replace("_", "-")] = value
    return options


def _secrets(operator: Operator, options: Mapping[str, Any]) -> Iterator[tuple[str, Key]]:
    """Yield where a key fits, and the key; npm prints none of them, so its files are read."""
    named = [options.get("globalconfig"), options.get("userconfig") or operator.home / ".npmrc"]
    values = dict(_lines([Path(str(name)) for name in named if name], operator.environ))
    values |= {n[11:]: v for n, v in operator.environ.items() if n.startswith("npm_config_//")}
    parts: dict[str, dict[str, str]] = {}
    for name, value in values.items():
        if match := _SECRET.match(name):
            parts.setdefault(match["where"], {})[match["what"]] = value
    for where, given in parts.items():
        if key := _key(where, given):
            yield where, key


def _key(where: str, given: Mapping[str, str]) -> Key | None:
    path = key_path(f"x://{where}", "npm")
    if given.get("_authToken"):
        return Key.bearer(path, given["_authToken"])
    if given.get("_auth"):
        user, _, password = _decode(given["_auth"]).partition(":")
        return Key.basic(path, user, password)
    if given.get("username") and given.get("_password"):
        return Key.basic(path, given["username"], _decode(given["_password"]))
    return None


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        return text


def _with_key(index: Index, secrets: Mapping[str, Key]) -> Index:
    """Return the index with the key that npm would open it with, for its own paths alone."""
    place, path = str(place_of(index.url)).partition("://")[2], key_path(index.url, "npm")
    fitting = [
        key
        for where, key in secrets.items()
        if where.partition("/")[0].lower() == place and path.startswith(key.path)
    ]
    if not fitting:
        return index
    closest = max(fitting, key=lambda key: len(key.path))
    return replace(index, keys=(*index.keys, replace(closest, path=path)))


def _lines(paths: Iterable[Path], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the settings in npm's files, with variables put in as npm does."""
    for path in paths:
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for line in text.splitlines():
            name, equals, value = line.partition("=")
            if equals and not name.lstrip().startswith(("#", ";")):
                value = _VARIABLE.sub(lambda m: environ.get(m[1], m[0]), value.strip().strip("\"'"))
                yield name.strip(), value
