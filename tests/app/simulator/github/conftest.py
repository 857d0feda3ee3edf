"""A local GitHub with an owner, a repository, an issue and an App that is installed there."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import jwt
import pytest
from yarl import URL

from app.simulator.github import LocalGitHub


@dataclass
class ApiAnswer:
    status: int
    headers: Any
    json: Any


class Http:
    """Calls the API with one credential; paths may be whole URLs."""

    def __init__(self, github, session, credential):
        self.github, self.session, self.credential = github, session, credential

    async def __call__(self, method, path, body=None, **headers):
        if self.credential:
            headers = {"Authorization": f"Bearer {self.credential}"} | headers
        url = path if "://" in path else f"{self.github.url}/api/v3{path}"
        send = self.session.request(
            method, URL(url, encoded=True), json=body, headers=headers, allow_redirects=False
        )
        async with send as answer:
            text = await answer.read()
            is_json = answer.content_type == "application/json"
            return ApiAnswer(answer.status, answer.headers, json.loads(text) if is_json else text)


@dataclass
class SimulatorScene:
    github: LocalGitHub
    owner: Any
    ada: Any
    repository: Any
    issue: Any
    credentials: Any
    installation: Any
    session: Any
    base: str = "/repos/forge/anvil"
    made: list = field(default_factory=list)

    def with_credential(self, credential):
        return Http(self.github, self.session, credential)

    def as_app(self, **claims):
        now = int(time.time())
        claims = {"iat": now - 60, "exp": now + 540, "iss": str(self.credentials.app_id)} | claims
        return self.with_credential(
            jwt.encode(claims, self.credentials.private_key, algorithm="RS256")
        )

    def token(self, **permissions):
        chosen = permissions or None
        return self.github.tokens.mint(self.installation, [self.repository], chosen).text

    def call(self, **permissions):
        return self.with_credential(self.token(**permissions))


@pytest.fixture
async def github(tmp_path):
    started = await LocalGitHub.start(tmp_path / "github")
    yield started
    await started.stop()


@pytest.fixture
async def scene(github):
    owner = github.create_user("forge")
    ada = github.create_user("ada", name="Ada Marsh")
    credentials = github.create_app("mender", owner=owner, webhook_secret="s3cret")
    repository = await github.create_repository(owner, "anvil")
    github.set_role(repository, ada, "maintain")
    installation = await github.install(credentials.app_id, [repository])
    issue = await github.create_issue(repository, ada, "It breaks", "Steps: none", labels=["bug"])
    async with aiohttp.ClientSession() as session:
        yield SimulatorScene(
            github, owner, ada, repository, issue, credentials, installation, session
        )
