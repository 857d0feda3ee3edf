"""The table of the REST API: every subject with its routes."""

from __future__ import annotations

from aiohttp import web

from app.simulator.github.admin.apps import AppsAdmin
from app.simulator.github.rest import (
    actions,
    advisories,
    alerts,
    apps,
    checks,
    contents,
    git_data,
    issues,
    labels,
    links,
    manifests,
    oauth,
    pulls,
    reading,
    releases,
    remarks,
    repositories,
    reviews,
    stacks,
)
from app.simulator.github.routing import PARTS, register

SUBJECTS = (
    apps,
    manifests,
    oauth,
    repositories,
    contents,
    git_data,
    releases,
    issues,
    labels,
    links,
    pulls,
    stacks,
    reviews,
    remarks,
    checks,
    actions,
    reading,
    alerts,
    advisories,
)


def register_rest(app: web.Application, admin: AppsAdmin) -> None:
    """Serve all subjects, the storage of logs, the form that makes an App, and sign-in."""
    for subject in SUBJECTS:
        register(app, subject.routes)
    actions.register_storage(app, app[PARTS].world)
    manifests.register_form(app, admin)
    oauth.register_sign_in(app, admin)
