"""REST endpoints of a repository's Dependabot alerts."""

from __future__ import annotations

from typing import Literal

from app.simulator.github.accounts import Actor
from app.simulator.github.answers import Answer, ApiError, Json, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.cursors import CursorKey, cursor_page
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.alerts import alert_json
from app.simulator.github.schemas.common import moment
from app.simulator.github.state.alerts import Alert

routes = Routes()
READ = "vulnerability_alerts=read"
WRITE = "vulnerability_alerts=write"
LONGEST_COMMENT = 280
CHOICES = {
    "state": {"auto_dismissed", "dismissed", "fixed", "open"},
    "severity": {"low", "medium", "high", "critical"},
    "scope": {"development", "runtime"},
    "has": {"patch"},
    "sort": {"created", "updated"},
    "direction": {"asc", "desc"},
}


class Decision(Input):
    """Body of a change of an alert."""

    state: Literal["dismissed", "open"]
    dismissed_reason: (
        Literal["fix_started", "inaccurate", "no_bandwidth", "not_used", "tolerable_risk"] | None
    ) = None
    dismissed_comment: str | None = None


@routes.add("GET", "/dependabot/alerts", needs=READ)
async def list_alerts(call: Call) -> Answer:
    """Return the alerts that fit, newest first, from a cursor on."""
    _refuse_where_disabled(call)
    _check_query(call)
    query, repository = call.request.query, call.repository
    newest_change = query.get("sort") == "updated"
    found: list[tuple[CursorKey, Json]] = [
        (
            (moment(alert.updated_at if newest_change else alert.created_at), alert.number),
            alert_json(call.world, alert),
        )
        for alert in repository.alerts.values()
        if _fits(call, alert)
    ]
    root = f"{call.world.api}/repositories/{repository.id}/dependabot/alerts"
    return cursor_page(call, found, root=root, descending=query.get("direction") != "asc")


@routes.add("GET", "/dependabot/alerts/{number}", needs=READ)
async def get_alert(call: Call) -> Json:
    """Return one alert."""
    return alert_json(call.world, _alert(call))


@routes.add("PATCH", "/dependabot/alerts/{number}", needs=WRITE)
async def update_alert(call: Call) -> Json:
    """Dismiss an alert, or reopen it."""
    alert, sent = _alert(call), call.parse_body(Decision)
    actor: Actor = call.actor
    if sent.state == "open":
        call.parts.alerts.reopen_alert(alert, actor)
        return alert_json(call.world, alert)
    if sent.dismissed_reason is None:
        raise ApiError(422, "Invalid request.\n\nA dismissed_reason is required to dismiss alerts.")
    if len(sent.dismissed_comment or "") > LONGEST_COMMENT:
        raise ApiError(422, f"Invalid request.\n\nOnly {LONGEST_COMMENT} characters are allowed.")
    call.parts.alerts.dismiss(alert, actor, sent.dismissed_reason, sent.dismissed_comment)
    return alert_json(call.world, alert)


def _alert(call: Call) -> Alert:
    _refuse_where_disabled(call)
    return require_found(call.repository.alerts.get(call.number()))


def _refuse_where_disabled(call: Call) -> None:
    if call.repository.archived:
        raise ApiError(403, "Dependabot alerts are not available for archived repositories.")
    if not call.repository.alerts_enabled:
        raise ApiError(403, "Dependabot alerts are disabled for this repository.")


def _check_query(call: Call) -> None:
    for name, allowed in CHOICES.items():
        for each in _parse_filter(call, name):
            if each not in allowed:
                raise ApiError(422, f"Invalid request.\n\n{each} is no value for {name}.")


def _parse_filter(call: Call, name: str) -> set[str]:
    """Return the values of a comma-separated filter; none of them: no filter."""
    return {each for each in call.request.query.get(name, "").split(",") if each}


def _fits(call: Call, alert: Alert) -> bool:
    facts = {
        "state": alert.state,
        "severity": alert.severity,
        "ecosystem": alert.affected.ecosystem,
        "package": alert.affected.package,
        "manifest": alert.manifest_path,
        "scope": alert.scope,
        "relationship": alert.relationship,
    }
    wanted = {name: _parse_filter(call, name) for name in facts}
    patchable = alert.affected.first_patched is not None or not _parse_filter(call, "has")
    return patchable and all(not wanted[name] or facts[name] in wanted[name] for name in facts)
