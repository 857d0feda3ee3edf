"""REST endpoints of the public advisory database."""

from __future__ import annotations

from app.simulator.github.answers import Answer, ApiError, Json, require_found
from app.simulator.github.calls import Call
from app.simulator.github.cursors import CursorKey, cursor_page
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.alerts import advisory_json
from app.simulator.github.schemas.common import moment
from app.simulator.github.state.alerts import SCHEMES, Advisory, Affected

routes = Routes()
MOST_PACKAGES = 1000
ECOSYSTEMS = {"npm", "maven", "nuget", "composer", "actions", "pub", "other", "swift", *SCHEMES}
CHOICES = {
    "type": {"reviewed", "malware", "unreviewed"},
    "ecosystem": ECOSYSTEMS,
    "severity": {"unknown", "low", "medium", "high", "critical"},
    "sort": {"updated", "published"},
    "direction": {"asc", "desc"},
    "is_withdrawn": {"true", "false"},
}


@routes.add("GET", "/advisories", scope="anyone")
async def list_advisories(call: Call) -> Answer:
    """Return the advisories that fit, newest first, from a cursor on."""
    query = call.request.query
    for name, allowed in CHOICES.items():
        if name in query and query[name] not in allowed:
            raise ApiError(422, f"Invalid request.\n\n{query[name]} is no value for {name}.")
    packages = _packages(call)
    by_change = query.get("sort") == "updated"
    found: list[tuple[CursorKey, Json]] = [
        (
            (moment(each.updated_at if by_change else each.created_at), each.id),
            advisory_json(call.world, each),
        )
        for each in call.world.advisories.values()
        if _fits(call, each) and _touches(call, each, packages)
    ]
    root = f"{call.world.api}/advisories"
    return cursor_page(call, found, root=root, descending=query.get("direction") != "asc")


@routes.add("GET", "/advisories/{ghsa_id}", scope="anyone")
async def get_advisory(call: Call) -> Json:
    """Return one advisory, withdrawn or not."""
    found = require_found(call.world.advisories.get(call.request.match_info["ghsa_id"].upper()))
    return advisory_json(call.world, found)


def _fits(call: Call, advisory: Advisory) -> bool:
    query = call.request.query
    facts = {
        "ghsa_id": advisory.ghsa_id,
        "cve_id": advisory.cve_id,
        "severity": advisory.severity,
    }
    return (
        advisory.kind == query.get("type", "reviewed")
        and (query.get("is_withdrawn") != "true" or advisory.withdrawn_at is not None)
        and all(query.get(name) in (None, fact) for name, fact in facts.items())
    )


def _packages(call: Call) -> list[tuple[str, str]]:
    """Return what `affects` asks for as (package, version); the version may be empty."""
    query = call.request.query
    named = [each for text in query.getall("affects", []) for each in text.split(",")]
    named += query.getall("affects[]", [])
    if len(named) > MOST_PACKAGES:
        raise ApiError(422, f"Invalid request.\n\nNo more than {MOST_PACKAGES} items are allowed.")
    return [_package(each.strip()) for each in named if each.strip()]


def _package(text: str) -> tuple[str, str]:
    name, at, version = text.rpartition("@")
    return (name, version) if at and name else (text, "")


def _touches(call: Call, advisory: Advisory, packages: list[tuple[str, str]]) -> bool:
    """Say whether one range is of the ecosystem and, where packages are named, holds one."""
    ecosystem = call.request.query.get("ecosystem")
    ranges = [each for each in advisory.affected if ecosystem in (None, each.ecosystem)]
    if not packages:
        return bool(ranges)
    return any(_hit(each, *package) for each in ranges for package in packages)


def _hit(affected: Affected, name: str, version: str) -> bool:
    same = affected.package.lower() == name.lower()
    return same and (not version or affected.holds(version))
