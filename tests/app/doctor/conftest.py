"""A local GitHub whose App is as app.yml says, installed once, with a receiver of its webhooks."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from app.config.settings import AppCredentials
from app.doctor.github_client import open_client
from app.registration.manifest import app_manifest
from app.simulator.github import LocalGitHub


@dataclass
class StatusReceiver:
    """Answers webhooks with `status`, and a GET as Fettle does."""

    url: str = ""
    status: int = 202
    get_status: int = 405


@dataclass
class DoctorScene:
    github: LocalGitHub
    repository: Any
    ada: Any
    made: Any
    installation: Any
    receiver: StatusReceiver

    @property
    def app(self):
        return self.github.world.apps[self.made.app_id]

    @property
    def credentials(self):
        secret = SecretStr(self.made.webhook_secret)
        return AppCredentials(str(self.made.app_id), SecretStr(self.made.private_key), (secret,))

    @asynccontextmanager
    async def open(self, credentials=None):
        async def at_once(_):
            return None

        chosen = credentials or self.credentials
        async with open_client(self.github.url, chosen, sleep=at_once) as as_app:
            yield as_app

    async def label(self, name):
        """Have GitHub send a delivery."""
        await self.github.label_issue(self.repository, 1, name, self.ada)


@pytest.fixture
async def receiver():
    made = StatusReceiver()

    async def take(request):
        status = made.get_status if request.method == "GET" else made.status
        return web.Response(status=status, text="told")

    application = web.Application()
    application.router.add_route("*", "/webhook", take)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    yield made
    await runner.cleanup()


@pytest.fixture
async def scene(tmp_path, receiver):
    github = await LocalGitHub.start(tmp_path / "github")
    manifest = app_manifest()
    ada = github.create_user("ada")
    made = github.create_app(
        "mender",
        owner=ada,
        webhook_url=receiver.url,
        webhook_secret="s3cret-of-the-hook",
        permissions=manifest.default_permissions,
        events=manifest.default_events,
    )
    repository = await github.create_repository(ada, "anvil")
    installation = await github.install(made.app_id, [repository])
    await github.create_issue(repository, ada, "It breaks", "")
    await github.webhooks.wait_until_settled()
    yield DoctorScene(github, repository, ada, made, installation, receiver)
    await github.stop()


def by_subject(findings):
    """Return the findings by what they are about; the last of several."""
    return {each.about: each for each in findings}


def levels(findings):
    return {each.about: each.level for each in findings}
