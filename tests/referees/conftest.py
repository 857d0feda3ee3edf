"""What the referees share: the packages they come in, and a local GitHub to judge."""

import json
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
import graphql
import jwt
import pytest
from yarl import URL

from app.simulator.github import LocalGitHub
from app.simulator.github.admin.apps import AppCredentials
from tests.referees.openapi import RestReferee
from tests.referees.packages import npm_packages, rest_description
from tests.referees.webhook_schemas import WebhookReferee

EVERYTHING = {
    "actions": "write",
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
    "vulnerability_alerts": "write",
}


@pytest.fixture(scope="session")
def packages():
    """`node_modules/@octokit` with the packages of package.json."""
    return npm_packages()


@pytest.fixture(scope="session")
def rest_referee():
    """Judges `github.requests`."""
    return RestReferee(rest_description().read_bytes())


@pytest.fixture(scope="session")
def webhook_referee(packages):
    """Judges `github.webhooks.log`."""
    return WebhookReferee(packages)


@pytest.fixture(scope="session")
def real_schema(packages):
    """GitHub's GraphQL schema, which takes half a second to read."""
    text = (packages / "graphql-schema" / "schema.graphql").read_text("utf-8")
    return graphql.build_schema(text, assume_valid=True, no_location=True)


@pytest.fixture
async def github(tmp_path):
    started = await LocalGitHub.start(tmp_path / "github")
    yield started
    await started.stop()


@pytest.fixture
async def receiver(aiohttp_server) -> str:
    """Return the address of somebody who takes every webhook."""

    async def take(request: aiohttp.web.Request) -> aiohttp.web.Response:
        await request.read()
        return aiohttp.web.Response(status=202)

    app = aiohttp.web.Application()
    app.router.add_post("/webhook", take)
    return str((await aiohttp_server(app)).make_url("/webhook"))


class Caller:
    """An App as an HTTP client: nothing of ours between it and the local GitHub."""

    def __init__(self, github, session, credential, scheme="Bearer"):
        self._github, self._session = github, session
        self._authorization = f"{scheme} {credential}"

    def with_credential(self, credential, scheme="Bearer"):
        return Caller(self._github, self._session, credential, scheme)

    async def __call__(self, method, path, body=None, *, follow=True, accept=None):
        return await self._ask(method, f"/api/v3{path}", body, follow, accept)

    async def graphql(self, body):
        return await self._ask("POST", "/api/graphql", body, follow=True)

    async def _ask(self, method, path, body, follow, accept=None):
        headers = {"Authorization": self._authorization}
        if accept:
            headers["Accept"] = f"application/vnd.github.{accept}+json"
        url = URL(f"{self._github.url}{path}", encoded=True)
        more = {"json": body, "headers": headers, "allow_redirects": follow}
        async with self._session.request(method, url, **more) as answer:
            text = await answer.read()
            return json.loads(text) if text else None


def app_jwt(credentials) -> str:
    now = int(time.time())
    claims = {"iat": now - 60, "exp": now + 540, "iss": credentials.client_id}
    return jwt.encode(claims, credentials.private_key, algorithm="RS256")


@dataclass
class RefereeScene:
    github: LocalGitHub
    repository: Any
    ada: Any
    credentials: AppCredentials
    installation: Any
    as_app: Caller
    call: Caller


@pytest.fixture
async def scene(github, receiver):
    """An owner, a repository with an issue, an App installed on it."""
    owner = github.create_organization("forge")
    ada = github.create_user("ada", name="Ada Marsh")
    credentials = github.create_app(
        "mender", webhook_url=receiver, webhook_secret="s3cret", permissions=EVERYTHING
    )
    repository = await github.create_repository(owner, "anvil")
    github.set_role(repository, ada, "maintain")
    installation = await github.install(credentials.app_id, [repository])
    await github.create_issue(repository, ada, "It breaks", "Steps: …", labels=["bug"])
    branch = {"main.py": "print('hello')\n", "README.md": None}
    await github.commit(repository, branch, author=ada, message="Fix", branch="bot/fix")
    async with aiohttp.ClientSession() as session:
        as_app = Caller(github, session, app_jwt(credentials))
        wanted = {"repository_ids": [repository.id], "permissions": EVERYTHING}
        path = f"/app/installations/{installation.id}/access_tokens"
        call = as_app.with_credential((await as_app("POST", path, wanted))["token"])
        yield RefereeScene(github, repository, ada, credentials, installation, as_app, call)
