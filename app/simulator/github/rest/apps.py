"""REST endpoints of Apps: the App, its installations and tokens, its webhook's deliveries."""

from __future__ import annotations

from app.simulator.github.accounts import App
from app.simulator.github.answers import Answer, ApiError, Json, not_found, require_found
from app.simulator.github.calls import LONGEST_PAGE, Call, Input
from app.simulator.github.routing import Routes, find_repository
from app.simulator.github.schemas.common import (
    app_json,
    full_repository_json,
    installation_json,
    moment,
    repository_json,
)
from app.simulator.github.state.world import Installation, Repository
from app.simulator.github.tokens import Token
from app.simulator.github.webhooks import Delivery

routes = Routes()


class TokenWanted(Input):
    """Body of a token request."""

    repositories: list[str] | None = None
    repository_ids: list[int] | None = None
    permissions: dict[str, str] | None = None


class HookConfig(Input):
    """Body of a change of the webhook's settings."""

    url: str | None = None
    secret: str | None = None


def _app(call: Call) -> App:
    assert call.app
    return call.app


def _token(call: Call) -> Token:
    assert call.token
    return call.token


def _installation(call: Call) -> Installation:
    found = call.world.installations.get(call.number("installation_id"))
    if found is None or found.app is not call.app:
        raise not_found()
    return found


@routes.add("GET", "/app", scope="app")
async def get_app(call: Call) -> Json:
    """Return the App that asks."""
    mine = [each for each in call.world.installations.values() if each.app is call.app]
    return app_json(call.world, _app(call)) | {"installations_count": len(mine)}


@routes.add("GET", "/app/installations", scope="app")
async def list_installations(call: Call) -> Answer:
    """Return where the App is installed."""
    mine = [each for each in call.world.installations.values() if each.app is call.app]
    return call.page([installation_json(call.world, each) for each in mine])


@routes.add("GET", "/app/installations/{installation_id}", scope="app")
async def get_installation(call: Call) -> Json:
    """Return one installation."""
    return installation_json(call.world, _installation(call))


@routes.add("GET", "/repos/{owner}/{repo}/installation", scope="app")
async def get_repository_installation(call: Call) -> Json:
    """Return the App's installation on a repository."""

    def list_own(repository: Repository) -> list[Installation]:
        every = call.world.installations_on(repository)
        return [each for each in every if each.app is call.app]

    found = find_repository(call.world, call.request, lambda repository: bool(list_own(repository)))
    for installation in list_own(found):
        return installation_json(call.world, installation)
    raise not_found()


@routes.add("GET", "/orgs/{login}/installation", scope="app")
async def get_organization_installation(call: Call) -> Json:
    """Return the App's installation on an organization."""
    return _of_account(call, "Organization")


@routes.add("GET", "/users/{login}/installation", scope="app")
async def get_user_installation(call: Call) -> Json:
    """Return the App's installation on a person's account."""
    return _of_account(call, "User")


def _of_account(call: Call, kind: str) -> Json:
    login = call.request.match_info["login"].lower()
    for installation in call.world.installations.values():
        account = installation.account
        if installation.app is call.app and account.login.lower() == login and account.kind == kind:
            return installation_json(call.world, installation)
    raise not_found()


@routes.add("POST", "/app/installations/{installation_id}/access_tokens", scope="app")
async def mint_token(call: Call) -> Answer:
    """Make an installation token, narrowed as asked."""
    installation, wanted = _installation(call), call.parse_body(TokenWanted)
    chosen = _select_repositories(installation, wanted)
    token = call.parts.tokens.mint(installation, chosen, wanted.permissions)
    shape = {
        "token": token.text,
        "expires_at": moment(token.expires_at),
        "permissions": token.permissions,
        "repository_selection": installation.selection if chosen is None else "selected",
    }
    if chosen is not None:
        shape["repositories"] = [repository_json(call.world, each) for each in chosen]
    return Answer(201, shape)


def _select_repositories(
    installation: Installation, wanted: TokenWanted
) -> list[Repository] | None:
    if wanted.repositories is None and wanted.repository_ids is None:
        return None
    by_id = {each.id: each for each in installation.repositories}
    by_name = {each.name: each for each in installation.repositories}
    try:
        chosen = [by_id[each] for each in wanted.repository_ids or []]
        return chosen + [by_name[each] for each in wanted.repositories or []]
    except KeyError:
        raise ApiError(
            422,
            "There is at least one repository that does not exist or is not accessible to the"
            " parent installation.",
        ) from None


@routes.add("GET", "/installation/repositories", scope="token")
async def list_repositories(call: Call) -> Answer:
    """Return the repositories that the token opens."""
    token = _token(call)
    seen = [each for each in token.installation.repositories if token.sees(each)]
    shapes = [full_repository_json(call.world, each) for each in seen]
    selection = "selected" if token.repositories is not None else token.installation.selection
    known = {"total_count": len(shapes), "repository_selection": selection}
    return call.page(shapes, lambda page: known | {"repositories": page})


@routes.add("DELETE", "/installation/token", scope="token")
async def revoke_token(call: Call) -> Answer:
    """End the token."""
    call.parts.tokens.revoke(_token(call))
    return Answer(204, None)


@routes.add("GET", "/app/hook/config", scope="app")
async def get_hook_config(call: Call) -> Json:
    """Return the webhook's settings, the secret hidden."""
    app = _app(call)
    return {
        "content_type": "json",
        "insecure_ssl": "0",
        **({"secret": "********"} if app.webhook_secret else {}),
        "url": app.webhook_url or "",
    }


@routes.add("PATCH", "/app/hook/config", scope="app")
async def set_hook_config(call: Call) -> Json:
    """Change where webhooks go and how they are signed."""
    app, sent = _app(call), call.parse_body(HookConfig)
    app.webhook_url = sent.url or app.webhook_url
    app.webhook_secret = sent.secret or app.webhook_secret
    return await get_hook_config(call)


@routes.add("GET", "/app/hook/deliveries", scope="app")
async def list_deliveries(call: Call) -> Answer:
    """Return deliveries, newest first, from a cursor on."""
    query = call.request.query
    size = min(call.query_number("per_page", 30), LONGEST_PAGE)
    wanted = [each for each in reversed(call.parts.webhooks.log) if each.app is call.app]
    if query.get("status") in ("success", "failure"):
        wanted = [each for each in wanted if each.ok is (query["status"] == "success")]
    if "cursor" in query:
        start = query["cursor"].removeprefix("v1_")
        if not start.isdecimal():
            raise ApiError(400, "Invalid cursor")
        wanted = [each for each in wanted if each.id <= int(start)]
    headers = {}
    if len(wanted) > size:
        more = call.request.rel_url.update_query(cursor=f"v1_{wanted[size].id}")
        headers["Link"] = f'<{call.world.url}{more}>; rel="next"'
    return Answer(200, [each.item_json() for each in wanted[:size]], headers)


def _delivery(call: Call) -> Delivery:
    return require_found(call.parts.webhooks.find(_app(call), call.number("delivery_id")))


@routes.add("GET", "/app/hook/deliveries/{delivery_id}", scope="app")
async def get_delivery(call: Call) -> Json:
    """Return one delivery with what was sent and answered."""
    return _delivery(call).whole_json()


@routes.add("POST", "/app/hook/deliveries/{delivery_id}/attempts", scope="app")
async def redeliver(call: Call) -> Answer:
    """Send a delivery again."""
    call.parts.webhooks.redeliver(_delivery(call))
    return Answer(202, {})
