"""The manifest flow of the local GitHub: a form, a code, its secrets once."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

MANIFEST = {
    "name": "Fettle of Octo",
    "url": "https://fettle.example.com",
    "redirect_url": "http://127.0.0.1:9/back",
    "hook_attributes": {"url": "https://fettle.example.com/webhook"},
    "default_permissions": {"issues": "write"},
    "default_events": ["issues"],
}


@pytest.fixture
async def send(github):
    async with aiohttp.ClientSession() as session:

        async def submit(path, manifest=MANIFEST):
            sent = {"manifest": manifest if isinstance(manifest, str) else json.dumps(manifest)}
            async with session.post(github.url + path, data=sent, allow_redirects=False) as answer:
                return answer.status, answer.headers.get("Location", "")

        submit.convert = lambda code: session.post(
            f"{github.url}/api/v3/app-manifests/{code}/conversions"
        )
        yield submit


async def test_a_code_is_good_for_the_secrets_once(github, send):
    status, back = await send("/settings/apps/new?state=xyz")
    query = parse_qs(urlsplit(back).query)
    assert (status, query["state"], back.split("?")[0]) == (302, ["xyz"], MANIFEST["redirect_url"])
    async with send.convert(query["code"][0]) as answer:
        made = await answer.json()
        assert answer.status == 201
    app = github.world.apps[made["id"]]
    assert (made["slug"], made["webhook_secret"]) == ("fettle-of-octo", app.webhook_secret)
    assert made["pem"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert (app.permissions, app.events) == ({"issues": "write"}, ["issues"])
    async with send.convert(query["code"][0]) as answer:
        assert answer.status == 404


async def test_an_organization_owns_it(github, send):
    github.create_organization("octo")
    assert (await send("/organizations/octo/settings/apps/new"))[0] == 302
    [app] = github.world.apps.values()
    assert app.owner.login == "octo"
    assert (await send("/organizations/nobody/settings/apps/new"))[0] == 404


@pytest.mark.parametrize("manifest", ["", "[]", "{", {"name": "x"}])
async def test_what_is_no_manifest(send, manifest):
    assert (await send("/settings/apps/new", manifest))[0] == 422
