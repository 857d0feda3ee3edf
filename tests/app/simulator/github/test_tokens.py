"""App JWTs and installation tokens: who is let in, how far, for how long."""

import time
from datetime import timedelta

import jwt
import pytest


async def test_an_app_signs_with_its_key(scene):
    answer = await scene.as_app()("GET", "/app")
    assert (answer.status, answer.json["slug"]) == (200, "mender")
    by_client_id = await scene.as_app(iss=scene.credentials.client_id)("GET", "/app")
    assert by_client_id.status == 200


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iat": time.time() + 3600}, "'Issued at'"),
        ({"exp": 5}, "future time"),
        ({"exp": int(time.time()) + 3600}, "too far in the future"),
    ],
)
async def test_a_jwt_must_keep_the_rules_about_time(scene, claims, reason):
    answer = await scene.as_app(**{k: int(v) for k, v in claims.items()})("GET", "/app")
    assert answer.status == 401
    assert reason in answer.json["message"]


async def test_githubs_clock_may_differ_and_its_date_header_tells(scene):
    scene.github.advance_clock(timedelta(hours=-2))
    answer = await scene.as_app()("GET", "/app")
    assert answer.status == 401
    told = time.mktime(time.strptime(answer.headers["Date"], "%a, %d %b %Y %H:%M:%S GMT"))
    assert abs(time.mktime(time.gmtime()) - told - 7200) < 5


async def test_a_foreign_key_or_app_is_not_let_in(scene):
    other = scene.github.create_app("other")
    now = int(time.time())
    claims = {"iat": now - 60, "exp": now + 60, "iss": str(scene.credentials.app_id)}
    forged = jwt.encode(claims, other.private_key, algorithm="RS256")
    assert (await scene.with_credential(forged)("GET", "/app")).status == 401
    assert (await scene.as_app(iss="999")("GET", "/app")).status == 404
    assert (await scene.with_credential(None)("GET", "/app")).status == 401
    assert (await scene.with_credential("nonsense")("GET", "/app")).status == 401


async def test_a_token_can_be_narrowed_but_not_widened(scene):
    path = f"/app/installations/{scene.installation.id}/access_tokens"
    wanted = {"repository_ids": [scene.repository.id], "permissions": {"issues": "read"}}
    minted = await scene.as_app()("POST", path, wanted)
    assert minted.status == 201
    assert minted.json["permissions"] == {"issues": "read", "metadata": "read"}
    assert minted.json["token"].startswith(f"ghs_{scene.credentials.app_id}_")
    assert len(minted.json["token"]) > 400
    call = scene.with_credential(minted.json["token"])
    assert (await call("GET", f"{scene.base}/issues/1")).status == 200
    refused = await call("POST", f"{scene.base}/issues/1/comments", {"body": "x"})
    assert refused.status == 403
    needs = refused.headers["X-Accepted-GitHub-Permissions"]
    assert needs == "issues=write; pull_requests=write"
    for more in ({"permissions": {"workflows": "write"}}, {"repository_ids": [1]}):
        assert (await scene.as_app()("POST", path, more)).status == 422


async def test_what_a_token_does_not_open_is_not_there(scene):
    await scene.github.create_repository(scene.owner, "secret")
    call = scene.call()
    for path in ("/repos/forge/secret", "/repos/forge/nothing", "/repositories/1"):
        assert (await call("GET", path)).status == 404


async def test_tokens_end(scene):
    scene.github.tokens.lifetime = timedelta(minutes=3)
    call = scene.call()
    assert (await call("GET", scene.base)).status == 200
    scene.github.advance_clock(timedelta(minutes=3))
    assert (await call("GET", scene.base)).status == 401
    fresh = scene.call()
    assert (await fresh("DELETE", "/installation/token")).status == 204
    assert (await fresh("GET", scene.base)).status == 401


async def test_a_suspended_installation_opens_nothing(scene):
    call = scene.call()
    await scene.github.suspend(scene.installation, scene.owner)
    refused = await call("GET", scene.base)
    assert refused.status == 403
    assert "suspended" in refused.json["message"]
    path = f"/app/installations/{scene.installation.id}/access_tokens"
    assert (await scene.as_app()("POST", path)).status == 403
    await scene.github.unsuspend(scene.installation)
    assert (await call("GET", scene.base)).status == 200
    await scene.github.uninstall(scene.installation)
    assert (await call("GET", scene.base)).status == 401
    assert (await scene.as_app()("POST", path)).status == 404
