"""The commands `fettle login` and `fettle api`: a server of Fettle, asked from another machine."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from agents.errors import ConfigError
from app.cli.terminal import DONE, FAILED, say

if TYPE_CHECKING:
    import aiohttp

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
LONGEST_WAIT = 30.0
OK = 200
NO_LOGIN = "You are signed in to no server. `fettle login https://fettle.example` does it."
OVER = "You were signed in until a while ago. `fettle login {url}` does it anew."


@dataclass(frozen=True)
class RemoteLogin:
    """A server, and with what it is asked."""

    url: str
    token: str
    name: str
    expires_at: float | None = None
    """Unix seconds; None: the server knows."""


def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the server's pages.")],
    *,
    with_token: Annotated[
        bool,
        typer.Option("--with-token", help="Read a token of `fettle token` from standard input."),
    ] = False,
) -> None:
    """Sign in, and keep it in a file that only you can read."""
    address = _check_address(url)
    if with_token:
        found = RemoteLogin(address, sys.stdin.readline().strip(), "a token")
        status, told = asyncio.run(_ask(found, "/runs"))
        if status != OK:
            raise ConfigError(_spell_refusal(status, told, address))
    else:
        found = asyncio.run(_sign_in(address))
    _keep(found)
    say(f"You are signed in to {address} as {found.name}.")


def api(
    path: Annotated[str, typer.Argument(metavar="PATH", help="Such as /runs.")],
    *,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", "-f", metavar="NAME=TEXT", help="Send this: a POST."),
    ] = None,
) -> None:
    """Print what the server answers."""
    found, fields = _read(), dict(_split(each) for each in field or ())
    status, told = asyncio.run(_ask(found, path, fields or None))
    typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
    sys.exit(DONE if status < 400 else FAILED)


# --- signing in -----------------------------------------------------------------------------------


async def _sign_in(url: str) -> RemoteLogin:
    async with _open_session() as session:
        status, begun = await _send(session, url, "/login/device", {})
        if status != 200:
            raise ConfigError(_spell_refusal(status, begun, url))
        say(f"Open {begun['verification_uri']} and type {begun['user_code']}.")
        until = time.monotonic() + float(begun["expires_in"])
        while time.monotonic() < until:
            await asyncio.sleep(min(float(begun["interval"]), LONGEST_WAIT))
            handle = {"handle": str(begun["handle"])}
            status, told = await _send(session, url, "/login/device/finish", handle)
            if status == 200:
                expires = time.time() + float(told["seconds"])
                return RemoteLogin(url, str(told["token"]), str(told["login"]), expires)
            if status not in (202, 429, 503):
                raise ConfigError(_spell_refusal(status, told, url))
    raise ConfigError("Nobody typed the code in time. Begin again.")


def _check_address(url: str) -> str:
    """Return the address without its end. Raises ConfigError where others could listen."""
    parts = urlsplit(url.rstrip("/"))
    if parts.scheme == "https" and parts.hostname and not parts.username:
        return url.rstrip("/")
    if parts.scheme == "http" and parts.hostname in LOOPBACK:
        return url.rstrip("/")
    raise ConfigError("Give the address of the server's pages: https://fettle.example.")


# --- the file -------------------------------------------------------------------------------------


def _find_file() -> Path:
    return Path("~/.config/fettle/login.json").expanduser()


def _keep(found: RemoteLogin) -> None:
    file = _find_file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = file.with_suffix(".new")
    made.unlink(missing_ok=True)
    made.touch(mode=0o600, exist_ok=False)
    made.write_text(json.dumps(found.__dict__))
    made.replace(file)


def _read() -> RemoteLogin:
    try:
        found = RemoteLogin(**json.loads(_find_file().read_text()))
    except (OSError, ValueError, TypeError):
        raise ConfigError(NO_LOGIN) from None
    if found.expires_at is not None and found.expires_at <= time.time():
        raise ConfigError(OVER.format(url=found.url))
    return found


# --- asking ---------------------------------------------------------------------------------------


async def _ask(
    found: RemoteLogin, path: str, fields: dict[str, str] | None = None
) -> tuple[int, Any]:
    if not path.startswith("/") or path.startswith("//"):
        raise ConfigError("The path begins with one slash, such as /runs.")
    async with _open_session() as session:
        status, told = await _send(session, found.url, path, fields, found.token)
    if status == 401:
        raise ConfigError(_spell_refusal(status, told, found.url))
    return status, told


async def _send(
    session: aiohttp.ClientSession,
    url: str,
    path: str,
    fields: dict[str, str] | None,
    token: str = "",
) -> tuple[int, Any]:
    """Return status and JSON of the answer; with fields it is a POST.

    Raises ConfigError where there is no such answer.
    """
    import aiohttp

    sent = {"Accept": "application/json", "Origin": url}
    sent |= {"Authorization": f"Bearer {token}"} if token else {}
    method = "GET" if fields is None else "POST"
    try:
        async with session.request(
            method, f"{url}{path}", headers=sent, allow_redirects=False, json=fields
        ) as answer:
            return answer.status, json.loads(await answer.text())
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        words = f"{url} does not answer as a server of Fettle does ({type(error).__name__})."
        raise ConfigError(f"{words} Compare the address with FETTLE_PAGES_URL there.") from None


def _open_session() -> aiohttp.ClientSession:
    import aiohttp

    from app.config.settings import load_settings

    outbound = load_settings(serving=False).outbound
    return outbound.open_session(timeout=aiohttp.ClientTimeout(total=LONGEST_WAIT))


def _spell_refusal(status: int, told: Any, url: str) -> str:
    text = told.get("text") if isinstance(told, dict) else None
    return f"{url} said no ({status}): {text or 'it gave no reason'}"


def _split(field: str) -> tuple[str, str]:
    name, equals, text = field.partition("=")
    if not name or not equals:
        raise ConfigError(f"`{field}` is no NAME=TEXT.")
    return name, text
