"""A whole GitHub on loopback with one repository, one issue, an App installed, and its people."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from agents.requests import Person, ResolveIssue
from app.git.mirror.mirror import Mirror
from app.github.issues.adapter import GitHubIssues
from app.github.transport.app_jwt import AppJwt
from app.github.transport.client import GitHub
from app.github.transport.urls import Urls
from app.secrets.redaction import Redactor
from app.simulator.github import LocalGitHub
from app.store.database import Database
from tests.app.github.alerts.alert_scene import make_alert_scene
from tests.app.github.pull_scene import make_pull_scene
from tests.fakes.requests import build_repository, build_resolve_issue

LABEL = "bot:resolve"
MANIFEST = Path(__file__).parents[3] / "app.yml"
PERMISSIONS = yaml.safe_load(MANIFEST.read_text())["default_permissions"]
"""What the App asks for when it is installed: every call of these tests has to do with it."""


@dataclass
class SimulatorScene:
    """The fake world and our client of it; `slept` are the waits that did not take place."""

    server: LocalGitHub
    github: GitHub
    redactor: Redactor
    request: ResolveIssue
    repository: Any
    installation: Any
    app: Any
    people: dict[str, Any]
    slept: list[float]

    @property
    def issue(self) -> Any:
        return self.repository.issues[self.request.number]

    def calls(self, method: str, ending: str) -> list[Any]:
        """Return what was asked of the server so far."""
        return [
            each
            for each in self.server.requests
            if each.method == method and each.path.partition("?")[0].endswith(ending)
        ]


@pytest.fixture(scope="session")
def key():
    """One key for all tests: reading one takes longer than most tests."""
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="session")
def signer(key):
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    return AppJwt(0, key.private_bytes(serialization.Encoding.PEM, form, plain).decode())


def sign_as(signer, app_id):
    mine = copy(signer)
    mine._issuer = str(app_id)
    return mine


@pytest.fixture
async def scene(tmp_path, key, signer):
    server = await LocalGitHub.start(tmp_path / "github")
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    people = {name: server.create_user(name) for name in ("ada", "bob", "eve", "mallory")}
    repository = await server.create_repository(people["ada"], "parse")
    server.create_label(repository, LABEL)
    server.set_role(repository, people["bob"], "write")
    server.set_role(repository, people["eve"], "triage")
    app = server.create_app("fettle", owner=people["ada"], permissions=PERMISSIONS)
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, public).decode()
    server.world.apps[app.app_id].public_key = pem
    installation = await server.install(app.app_id, [repository])
    issue = await server.create_issue(
        repository, people["mallory"], "Six digits only", "It fails.\r\n", labels=[LABEL]
    )
    redactor = Redactor()
    async with aiohttp.ClientSession() as session:
        yield SimulatorScene(
            server=server,
            github=GitHub(
                Urls.from_web_url(server.url),
                sign_as(signer, app.app_id),
                redactor,
                session=session,
                write_spacing=0,
                sleep=sleep,
            ),
            redactor=redactor,
            request=build_resolve_issue(
                installation_id=installation.id,
                repository=build_repository(id=repository.id, owner="ada", name="parse"),
                number=issue.number,
                title=issue.title,
                body=issue.body,
                author=Person(id=people["mallory"].id, login="mallory"),
                asked_by=Person(id=people["bob"].id, login="bob"),
                label=LABEL,
                url=f"{server.url}/ada/parse/issues/{issue.number}",
            ),
            repository=repository,
            installation=installation,
            app=app,
            people=people,
            slept=slept,
        )
    await server.stop()


@pytest.fixture
def tracker(scene):
    """The tracker of a run that was asked for a minute ago."""
    run_id = f"{int((time.time() - 60) * 1e6):016x}-5e3f"
    return GitHubIssues(scene.github, scene.request, run_id, scene.redactor, settle=0)


@pytest.fixture
async def pulled(scene, sqlite_url):
    """A pull request of bob's, and a database for what runs remember of it."""
    database = Database(sqlite_url)
    yield await make_pull_scene(scene, database)
    database.close()


@pytest.fixture
async def alerted(scene, sqlite_url):
    """The repository with alerts to come, open to the public, and a database for runs."""
    database = Database(sqlite_url)
    yield make_alert_scene(scene, database)
    database.close()


@pytest.fixture
async def alerted_privately(scene, sqlite_url):
    """The same in a private repository."""
    database = Database(sqlite_url)
    yield make_alert_scene(scene, database, private=True)
    database.close()


@pytest.fixture
async def mirror(scene, tmp_path):
    """Return our mirror of the repository, as it is now: from its disk, in a third of the time."""
    path = tmp_path / "mirror.git"
    await Mirror(path, allow_files=True).fetch(f"file://{scene.repository.gitdir}", None)
    return Mirror(path)
