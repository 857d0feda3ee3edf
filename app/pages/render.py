"""Answers of the pages: a view as HTML for browsers, as JSON for programs.

Texts of strangers and models are escaped, with every hidden character written out; nothing in them
is rendered. The policy lets the browser load nothing but our own style and script.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
from aiohttp import web

from app.pages.contract import VIEWS
from app.store.pages.logins import PageLogin
from app.views.text import format_dollars, format_moment, make_visible

FOLDER = Path(__file__).parent
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
LOGIN = web.RequestKey("login", PageLogin)
CSRF = web.RequestKey("csrf", str)
OPERATOR = web.RequestKey("operator", bool)
_FENCE = re.compile(r"(<untrusted-(\w+)>\n.*?\n</untrusted-\2>)", re.DOTALL)


async def answer(
    request: web.Request, name: str, view: Mapping[str, Any], *, status: int = 200
) -> web.Response:
    """Return the view in the form that was asked for. `name` is its template's.

    A thread writes it: views hold long texts of strangers, and the loop goes on meanwhile.
    """
    return await asyncio.to_thread(_write, request, name, view, status)


def _write(request: web.Request, name: str, view: Mapping[str, Any], status: int) -> web.Response:
    if wants_json(request):
        model = VIEWS[name]
        body = model.model_validate(view, extra="ignore").model_dump_json(indent=2, by_alias=True)
        return web.Response(status=status, text=body, content_type="application/json")
    html = (
        _templates()
        .get_template(f"{name}.html")
        .render(
            {
                "login": request.get(LOGIN),
                "csrf": request.get(CSRF, ""),
                "operator": request.get(OPERATOR, False),
                "version": version("fettle"),
                **view,
            }
        )
    )
    return web.Response(status=status, text=html, content_type="text/html")


def render_text(name: str, view: Mapping[str, Any]) -> str:
    """Return what the template of this name makes of the view, escaped as in pages."""
    return _templates().get_template(name).render(view)


def refuse(request: web.Request, status: int, title: str, text: str) -> web.Response:
    """Return why there is nothing to see, and what to do."""
    return _write(request, "refused", {"title": title, "text": text}, status)


def split_fences(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a prompt, each with whether it was fenced as a stranger's words."""
    for number, part in enumerate(_FENCE.split(text)):
        if number % 3 != 2 and part:  # every third one is only the fence's name
            yield number % 3 == 1, part


def wants_json(request: web.Request) -> bool:
    """Tell whether it is a program that asks: by its token, or by what it accepts."""
    if "Authorization" in request.headers:
        return True
    accepted = request.headers.get("Accept", "")
    return "application/json" in accepted and "text/html" not in accepted


@cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "shown": lambda text: make_visible(str(text)),
        "dollars": format_dollars,
        "moment": format_moment,
        "fences": split_fences,
    }
    return made
