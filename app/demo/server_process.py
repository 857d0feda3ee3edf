"""Run the real server as a process of its own, with an operator's settings."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import aiohttp
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from agents.errors import ConfigError
from app.config.values import with_driver
from app.sandbox.path_permissions import make_passable
from app.simulator.github.accounts import App
from app.simulator.github.admin.apps import AppCredentials

START_SECONDS = 120.0  # it is there within two, unless the machine has much else to do
STOP_SECONDS = 30.0


@dataclass
class ServerProcess:
    """`fettle serve`, on loopback."""

    data: Path
    github_url: str
    model_url: str | None
    toolchains: tuple[Path, ...] = ()
    more: dict[str, str] = field(default_factory=dict)
    """Further settings, by the name of their variable."""
    port: int = 0
    webhook_secret: str = field(default_factory=lambda: secrets.token_hex(20), repr=False)
    process: asyncio.subprocess.Process | None = None

    def __post_init__(self) -> None:
        """Choose a port now: GitHub has to know it before the server starts."""
        self.port = self.port or _free_port()

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def open_pages(self, app: App) -> str:
        """Have the server, once it starts, show its pages to this App's people; return where."""
        port = _free_port()
        address = f"http://127.0.0.1:{port}"
        self.more |= {"FETTLE_PAGES": "people", "FETTLE_PAGES_PORT": str(port)}
        app.callback_urls.append(f"{address}/login/github/callback")
        return address

    @property
    def log(self) -> Path:
        """Return the file with what the server said."""
        return self.data / "server.log"

    @property
    def database_url(self) -> str:
        """Return where the server keeps its database."""
        default = f"sqlite:///{self.data / 'fettle.db'}"
        given = with_driver(SecretStr(self.more.get("FETTLE_DATABASE_URL") or default))
        return given.get_secret_value() if given else default

    async def start(self, app: AppCredentials) -> None:
        """Start, and return once it is ready. Raises ConfigError with the end of its log."""
        make_passable(self.data)
        self._key.touch(mode=0o600)
        self._key.write_text(app.private_key)
        with self.log.open("ab") as log:
            self.process = await self._spawn(self.environment(app), log)
        await self._ready()

    async def _spawn(
        self, environment: dict[str, str], log: BinaryIO
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app", "serve"),
            env=environment,
            cwd=Path(__file__).parents[2],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )

    @property
    def _key(self) -> Path:
        return self.data / "app.pem"

    def environment(self, app: AppCredentials) -> dict[str, str]:
        """Return the variables with which the server runs, and its operator's commands."""
        settings = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "FETTLE_APP_ID": str(app.app_id),
            "FETTLE_PRIVATE_KEY_FILE": str(self._key),
            "FETTLE_WEBHOOK_SECRETS": self.webhook_secret,
            "FETTLE_CLIENT_ID": app.client_id,
            "FETTLE_CLIENT_SECRET": app.client_secret,
            "FETTLE_GITHUB_URL": self.github_url,
            "FETTLE_DATA_DIR": str(self.data),
            "FETTLE_PORT": str(self.port),
            "FETTLE_TOOLCHAINS": ",".join(map(str, self.toolchains)),
            "FETTLE_GITHUB_WRITE_SPACING": "0",  # a GitHub of our own has no limit to respect
        }
        if self.model_url is not None:
            settings |= {"ANTHROPIC_BASE_URL": self.model_url, "ANTHROPIC_API_KEY": "local"}
        return {name: text for name, text in (settings | self.more).items() if text}

    async def _ready(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                if await self._wait_until_ready():
                    return
        await self.kill()
        said = self.log.read_text("utf-8", "replace").strip()[-2000:]
        raise ConfigError(f"The server did not start:\n{said}")

    async def _wait_until_ready(self) -> bool:
        """Return True once the server is ready, False when its process ended instead."""
        async with aiohttp.ClientSession() as session:
            while not self.ended:
                with suppress(aiohttp.ClientError):
                    async with session.get(f"{self.url}/readyz") as answer:
                        if answer.status == 200:
                            return True
                await asyncio.sleep(0.05)
        return False

    @property
    def ended(self) -> bool:
        """Return whether the process is no longer there."""
        return self.process is None or self.process.returncode is not None

    async def numbers(self) -> dict[str, float]:
        """Return the server's metrics that have no labels, by name."""
        families = text_string_to_metric_families(await self.metrics())
        return {s.name: s.value for family in families for s in family.samples if not s.labels}

    async def metrics(self) -> str:
        """Return the server's metrics as Prometheus reads them."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/metrics") as answer:
            return await answer.text()

    async def kill(self) -> None:
        """End the process as a power cut would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask the process to drain and end."""
        await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> None:
        if self.process is None or self.ended:
            return
        self.process.send_signal(how)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


def _free_port() -> int:
    """Return a port that nobody listens on, and that the kernel gives to no connection meanwhile.

    Raises OSError when a hundred of them are taken.
    """
    for _ in range(100):
        port = secrets.choice(_NOT_EPHEMERAL)
        with socket.socket() as chosen, suppress(OSError):
            chosen.bind(("127.0.0.1", port))
            return port
    raise OSError("no port of 127.0.0.1 is free")


_NOT_EPHEMERAL = range(10_240, 32_768)
