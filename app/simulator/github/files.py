"""Files attached to issues: upload addresses, storage, and redirects to signed addresses."""

from __future__ import annotations

import re
import uuid

from aiohttp import web
from markdown_it import MarkdownIt

from app.simulator.github.answers import ApiError, Json
from app.simulator.github.calls import Call, Parts
from app.simulator.github.state.world import World
from app.simulator.github.tokens import bearer_of
from app.simulator.github.traces import Attachment

DOOR = "/user-attachments/assets"
STORAGE = "/_storage/files"
_ADDRESS = re.compile(rf"https?://[\w.:]+{DOOR}/([0-9a-f-]{{36}})")


def attach_file(world: World, repository_id: int, data: bytes, kind: str) -> str:
    """Keep a file as dropping it into a comment does; return the address that the text gets."""
    ident = str(uuid.uuid4())
    world.attachments[ident] = Attachment(repository_id, data, kind)
    return f"{world.url}{DOOR}/{ident}"


def in_full(call: Call, shape: Json) -> Json:
    """Add the text as HTML where the caller asks for it: its files can be read for a while."""
    if ".full+json" not in call.request.headers.get("Accept", ""):
        return shape
    html: str = MarkdownIt("commonmark", {"html": True}).render(shape["body"] or "")
    sealed = _ADDRESS.sub(lambda found: _signed_url(call.world, found[1]) or found[0], html)
    return shape | {"body_html": sealed}


def register_files(app: web.Application, parts: Parts) -> None:
    """Put the files' addresses and the storage on the server."""
    world = parts.world

    async def lead(request: web.Request) -> web.Response:
        """Send those who may see the repository to where the file is."""
        kept = world.attachments.get(request.match_info["ident"])
        if kept is None or not _may_see(parts, request, kept):
            return web.Response(status=404, text="Not Found")
        where = _signed_url(world, request.match_info["ident"]) or ""
        return web.Response(status=302, headers={"Location": where})

    async def store(request: web.Request) -> web.Response:
        """Hand the file out against its seal; credentials do not belong here."""
        if "Authorization" in request.headers:
            return web.Response(status=400, text="InvalidAuthenticationInfo")
        kept = world.attachments.get(request.match_info["ident"])
        if kept is None or request.query.get("jwt") != kept.seal:
            return web.Response(status=403, text="AuthenticationFailed")
        return web.Response(body=kept.data, content_type=kept.kind)

    app.router.add_get(f"{DOOR}/{{ident}}", lead)
    app.router.add_get(f"{STORAGE}/{{ident}}", store)


def _signed_url(world: World, ident: str) -> str | None:
    kept = world.attachments.get(ident)
    return f"{world.url}{STORAGE}/{ident}?jwt={kept.seal}" if kept else None


def _may_see(parts: Parts, request: web.Request, kept: Attachment) -> bool:
    repository = parts.world.repositories[kept.repository_id]
    credential = bearer_of(request.headers.get("Authorization"))
    if credential is None:
        return not repository.private
    try:
        return parts.tokens.find(credential).sees(repository)
    except ApiError:
        return False
