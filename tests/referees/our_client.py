"""Fettle's own client of a scene of the referees, and a request of somebody there."""

from __future__ import annotations

from agents.requests import Person
from app.github.transport.client import GitHub
from app.secrets.redaction import Redactor
from tests.fakes.requests import build_repository, build_resolve_issue

REDACTOR = Redactor()


def open_client(scene):
    """Hold a client of the App that is installed there."""
    app = {"app_id": scene.credentials.app_id, "private_key": scene.credentials.private_key}
    url = scene.github.url
    return GitHub.open(github_url=url, redactor=REDACTOR, write_spacing=0, **app)


def request_for(scene, issue):
    """Return the request that the maintainer there makes by labelling the issue."""
    ada, id_ = Person(id=scene.ada.id, login="ada"), scene.repository.id
    return build_resolve_issue(
        installation_id=scene.installation.id,
        repository=build_repository(id=id_, owner="forge", name="anvil"),
        number=issue.number,
        title=issue.title,
        body=issue.body,
        author=ada,
        asked_by=ada,
        label="bug",
        url=f"{scene.github.url}/forge/anvil/issues/{issue.number}",
    )
