"""Register an App from a manifest: the form, and the exchange of its code for the App's key."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

import orjson
from aiohttp import web
from pydantic import Field, ValidationError

from app.simulator.github.accounts import Account
from app.simulator.github.admin.apps import AppCredentials, AppsAdmin
from app.simulator.github.answers import Answer, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.common import app_json

FORMS = ("/settings/apps/new", "/organizations/{org}/settings/apps/new")
MADE = web.AppKey("made", dict[str, AppCredentials])
"""Apps whose code nobody has exchanged yet, by that code."""

routes = Routes()


class _Hook(Input):
    url: str
    active: bool = True


class Manifest(Input):
    """What the form holds."""

    name: str
    url: str
    redirect_url: str
    hook_attributes: _Hook
    callback_urls: list[str] = Field(default_factory=list)
    public: bool = False
    default_permissions: dict[str, str] = Field(default_factory=dict)
    default_events: list[str] = Field(default_factory=list)


@routes.add("POST", "/app-manifests/{code}/conversions", scope="open")
async def convert(call: Call) -> Answer:
    """Hand out the App's secrets, once for each code."""
    made = require_found(call.request.app[MADE].pop(call.request.match_info["code"], None))
    app = call.world.apps[made.app_id]
    shape = app_json(call.world, app) | {
        "client_secret": app.client_secret,
        "webhook_secret": made.webhook_secret,
        "pem": made.private_key,
    }
    return Answer(201, shape)


def register_form(app: web.Application, admin: AppsAdmin) -> None:
    """Put the forms on the server: whoever sends one has, as it were, pressed the button too."""
    made = app[MADE] = {}

    async def submit_manifest(request: web.Request) -> web.Response:
        sent = await request.post()
        try:
            manifest = Manifest.model_validate(orjson.loads(str(sent.get("manifest", ""))))
            owner = _owner(admin, request.match_info)
            credentials = admin.create_app(
                _slug(manifest.name),
                owner=owner,
                webhook_url=manifest.hook_attributes.url,
                webhook_secret=secrets.token_hex(20),
                permissions=manifest.default_permissions,
                events=manifest.default_events,
                callback_urls=manifest.callback_urls,
            )
        except (orjson.JSONDecodeError, ValidationError, ValueError) as error:
            return web.Response(status=422, text=f"Invalid manifest: {error}\n")
        code = secrets.token_hex(20)
        made[code] = credentials
        back = {"code": code}
        if state := request.query.get("state"):
            back["state"] = state
        joint = "&" if urlsplit(manifest.redirect_url).query else "?"
        raise web.HTTPFound(f"{manifest.redirect_url}{joint}{urlencode(back)}")

    for path in FORMS:
        app.router.add_post(path, submit_manifest)


def _owner(admin: AppsAdmin, where: Mapping[str, str]) -> Account | None:
    """Return the organization of the path; None for whoever is signed in."""
    if "org" not in where:
        return None
    found = admin.world.account(where["org"])
    if found is None or found.kind != "Organization":
        raise web.HTTPNotFound
    return found


def _slug(name: str) -> str:
    kept = "".join(char if char.isalnum() else "-" for char in name.lower())
    return "-".join(part for part in kept.split("-") if part)
