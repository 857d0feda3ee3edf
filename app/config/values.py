"""Parse the texts of settings into values; a ValueError says what is wrong, never the content."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
)
from pydantic_settings import NoDecode

from app.config.github_hosts import github_urls

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

# ruff: noqa: PLC0415 - cryptography and SQLAlchemy take longer to import than all else here

T = TypeVar("T")
Tier = Literal["strong", "fast", "judge"]  # as in agents.policy, which takes a while to import

_KEY_REMEDY = (
    "Give the file GitHub let you download, which begins with "
    "'-----BEGIN RSA PRIVATE KEY-----', as it is, with \\n for its line ends, or in base64"
)
_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


def default_data_dir() -> Path:
    """Return the default data folder: the system's for root, else the user's."""
    if os.geteuid() == 0:
        return Path("/var/lib/fettle")
    return Path.home() / ".local/share/fettle"


CALLBACK = "/login/github/callback"
"""Where GitHub leads people back to who sign in to the pages."""


def split_list(value: object) -> object:
    """Return the parts of a list that is JSON or separated by commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError("begins with [ but is not a JSON list") from None
    return [part.strip() for part in value.split(",")]


def split_named(value: object) -> object:
    """Return the parts as `split_list` does.

    Raises ValueError for an empty list, which could be mistaken for everybody.
    """
    found = split_list(value)
    if isinstance(value, str) and not found:
        raise ValueError("names nobody; leave it out, and it means everybody")
    return found


def split_places(value: object) -> object:
    """Return folders: a list as in `split_list`, or a JSON object by name."""
    try:
        if isinstance(value, str) and value.lstrip().startswith("{"):
            parts = json.loads(value)
        else:
            parts = split_list(value)
    except ValueError:
        raise ValueError("begins with { but is not a JSON object") from None
    if isinstance(parts, dict):
        return {name: Path(str(path)).expanduser() for name, path in parts.items()}
    return [Path(str(part)).expanduser() for part in parts] if isinstance(parts, list) else parts


def split_secrets(value: object) -> object:
    """Return the parts of a list of secrets, none of which may be empty."""
    parts = split_list(value)
    if isinstance(value, str) and isinstance(parts, list) and not all(parts or [""]):
        raise ValueError("has an empty secret in it: anybody could sign with that. Take it out")
    return parts


def fernet_keys(keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    """Return the keys; each has to be a valid Fernet key, and none may be listed twice."""
    from cryptography.fernet import Fernet

    for number, key in enumerate(keys, 1):
        try:
            Fernet(key.get_secret_value())
        except ValueError:
            raise ValueError(
                f"has something in place {number} that is no Fernet key. Make one: "
                "`fettle encrypt --new-key`"
            ) from None
    if len({key.get_secret_value() for key in keys}) < len(keys):
        raise ValueError("has a key twice. Take one away")
    return keys


def known_sandbox(name: object) -> object:
    """Return the sandbox's name, unless it is one that Fettle no longer has."""
    if name == "landlock":
        raise ValueError(
            "`landlock` is a sandbox no more: it left this machine's processes in sight. Leave "
            "FETTLE_SANDBOX out, or set it to bubblewrap or container"
        )
    return name


def web_address(address: str | None) -> str | None:
    """Return the address; raises if it carries credentials."""
    if address is not None and not re.fullmatch(r"https?://[^\s@]+", address):
        raise ValueError("must begin with https:// or http:// and hold no user name")
    return address


def proxy_address(value: SecretStr | None) -> SecretStr | None:
    """Return the URL of an HTTP proxy, which may hold a user name and a password."""
    if value is None:
        return None
    try:
        parts = urlsplit(value.get_secret_value())
        whole = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
    except ValueError:
        whole = False
    if not whole:
        raise ValueError("must be an HTTP proxy: http:// or https://, its host and its port")
    return value


def certificates_in_file(path: Path | None) -> Path | None:
    """Return the path; its file has to hold certificates."""
    path = readable_file(path)
    if path is not None:
        try:
            ssl.create_default_context(cadata=path.read_text("ascii"))
        except (ssl.SSLError, ValueError):
            raise ValueError(f"names {path}, which holds no certificates in PEM") from None
    return path


def webhook_address(address: str | None) -> str | None:
    """Return the address for GitHub's webhooks, with Fettle's path if it has none."""
    address = web_address(address.strip()) if address else None
    if address is None:
        return None
    parts = urlsplit(address)
    if not parts.hostname or parts.query or parts.fragment:
        raise ValueError("must be a host and a path alone, like https://fettle.example.com/webhook")
    return address.rstrip("/") + "/webhook" if parts.path in {"", "/"} else address


def parse_key(value: SecretStr) -> SecretStr:
    """Return the private key as PEM with real line ends, after parsing it."""
    text = value.get_secret_value().strip().strip("\"'").replace("\\n", "\n").strip()
    if not text.startswith("-----"):
        text = _from_base64(text)
    if fault := _key_fault(text):
        raise ValueError(f"{fault}. {_KEY_REMEDY}")
    return SecretStr(text + "\n")


def _key_fault(text: str) -> str:
    """Return what is wrong with the key, or nothing."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(
            text.encode(), password=None, unsafe_skip_rsa_key_validation=True
        )
    except (TypeError, ValueError):  # TypeError: the key has a passphrase
        return "is not a private key that can be read"
    if not isinstance(key, RSAPrivateKey):
        return "is a key of another kind than RSA"
    return "" if _signs(key) else "is a private key whose numbers do not fit each other"


def _signs(key: RSAPrivateKey) -> bool:
    """Tell whether the key signs as GitHub wants it, where to test its primes takes 26 ms."""
    from cryptography.exceptions import InternalError, InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        signature = key.sign(b"fettle", PKCS1v15(), SHA256())
        key.public_key().verify(signature, b"fettle", PKCS1v15(), SHA256())
    except (InternalError, InvalidSignature, ValueError):
        return False
    return True


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("ascii").strip()
    except (binascii.Error, ValueError):
        raise ValueError(f"is neither PEM nor base64 of PEM. {_KEY_REMEDY}") from None


def key_in_file(path: Path) -> Path:
    """Return the path after parsing the private key in its file."""
    path = path.expanduser()
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a text file"
        raise ValueError(f"names the file {path}, which cannot be read: {why}") from None
    parse_key(SecretStr(text))
    return path


def github_address(address: str) -> str:
    """Return the address of a GitHub, without a trailing slash."""
    return github_urls(address.strip()).git


def with_driver(value: SecretStr | None) -> SecretStr | None:
    """Return the database URL with the driver that Fettle brings along."""
    if value is None:
        return None
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(value.get_secret_value())
    except (ArgumentError, ValueError):
        raise ValueError("is not a database URL. Write sqlite:///FILE or postgresql://") from None
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise ValueError("names a database that Fettle does not know. Use sqlite or postgresql")
    if url.drivername == "sqlite" and not (url.database or "").startswith("/"):
        raise ValueError("must name a file from the root on: sqlite:////folder/fettle.db")
    return SecretStr(url.render_as_string(hide_password=False))


def cron_of(every: int) -> str:
    """Return the timetable of each multiple of so many seconds, with the seconds first."""
    if every < 60:
        return f"*/{every} * * * * *"
    if every < 3600:
        return f"0 */{every // 60} * * * *"
    return "0 0 * * * *" if every < 86_400 else "0 30 3 * * *"


def fits_clock(seconds: int) -> int:
    """Return the seconds; they have to divide a minute, or be minutes that divide an hour."""
    if (seconds < 60 and 60 % seconds == 0) or (seconds % 60 == 0 and 3600 % seconds == 0):
        return seconds
    raise ValueError("does not divide the clock evenly. Take 600, 300 or 60, say")


def readable_directories(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the folders; each has to exist, with an absolute path."""
    for path in paths:
        if not path.is_absolute() or not path.is_dir():
            raise ValueError(f"names {path}, which is not a folder given from the root on")
    return paths


def known_conversations(efforts: dict[str, T]) -> dict[str, T]:
    """Return them if each is for a conversation that runs hold; a misspelt one would do nothing."""
    if efforts:
        _require_known(efforts, "*")
    return efforts


def known_tiers(tiers: dict[str, Tier]) -> dict[str, Tier]:
    """Return them if each is for a conversation that runs hold, and none has changes judged badly.

    Raises ValueError.
    """
    if not tiers:
        return tiers
    from agents.policy.sections import no_fast_judge

    _require_known(tiers)
    return no_fast_judge(tiers)


def _require_known(names: Iterable[str], *more: str) -> None:
    from agents.policy.sections import SessionName

    known = (*more, *get_args(SessionName))
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"{unknown[0]} is none of {', '.join(known)}")


def in_home(path: Path | None) -> Path | None:
    """Return the path of a file that may have to be made yet, with `~` resolved."""
    return path.expanduser() if path is not None else None


def readable_file(path: Path | None) -> Path | None:
    """Return the path; its file has to be readable."""
    if path is None:
        return None
    path = path.expanduser()
    if not path.is_file() or not os.access(path, os.R_OK):
        raise ValueError(f"names {path}, which is not a file that can be read")
    return path


def allowed_images(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the patterns of images; each has to be one."""
    if patterns:
        from agents.policy.images import parse_image_patterns

        parse_image_patterns(patterns)
    return patterns


def engine_program(path: Path | None) -> Path | None:
    """Return the path of a container engine's program, whose name says which it is."""
    if path is None:
        return None
    if path.name not in {"podman", "docker"} or not path.is_absolute():
        raise ValueError("names no podman and no docker, from the root on")
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise ValueError(f"names {path}, which is no program that can be run")
    return path


Folders = Annotated[
    tuple[Path, ...],
    NoDecode,
    BeforeValidator(split_list),
    AfterValidator(readable_directories),
]
ImagePatterns = Annotated[
    tuple[str, ...], NoDecode, BeforeValidator(split_list), AfterValidator(allowed_images)
]
EngineProgram = Annotated[Path | None, AfterValidator(engine_program)]


class DeclaredCapabilities(BaseModel):
    """What the operator says of a model; what is left out is asked, or taken from our table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    effort: bool | None = None
    adaptive_thinking: bool | None = None
    strict_tools: bool | None = None
    cache_markers: bool | None = None
    compaction: bool | None = None
    longest_answer: Annotated[int, Field(ge=1_024)] | None = None
    context_window: Annotated[int, Field(ge=16_000)] | None = None


def expand_core(value: object) -> object:
    """Return `core` as what it stands for: nothing beyond the core of the Messages API."""
    if value != "core":
        return value
    flags = ("effort", "adaptive_thinking", "strict_tools", "cache_markers", "compaction")
    return dict.fromkeys(flags, False)
