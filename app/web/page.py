"""Fettle's own HTML pages: no scripts, nothing from other sites, nothing cached."""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path

import jinja2
from aiohttp import web

_FOLDER = Path(__file__).parent / "templates"


def page(name: str, *, status: int = 200, **values: object) -> web.Response:
    """Return a rendered template as an HTTP response."""
    nonce = secrets.token_urlsafe(16)
    html = _templates().get_template(f"{name}.html").render(nonce=nonce, **values)
    headers = {
        # No form-action: browsers hold it against every redirect, sign-ins of companies included.
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; "
            "frame-ancestors 'none'"
        ),
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return web.Response(status=status, text=html, content_type="text/html", headers=headers)


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
