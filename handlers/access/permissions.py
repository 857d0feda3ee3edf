"""Which permissions of the App a request takes, and whether the owners have granted them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import RemediateAlert, Request
from handlers.access.issues import WAYS, Refusal, refusal, way_of

LEVELS = ("", "read", "write", "admin")
CHANGING = {"contents": "write", "pull_requests": "write"}
NEEDS: Mapping[str, Mapping[str, str]] = {
    "resolve_issue": {**CHANGING, "issues": "write"},
    "address_review": CHANGING,
    "update_branch": CHANGING,
    "revert_change": CHANGING,
    "suspect_merge": CHANGING,
    **dict.fromkeys(("propose_guidance", "offer_setup"), CHANGING),
    "fix_checks": {**CHANGING, "checks": "read"},
    "remediate_alert": {**CHANGING, "vulnerability_alerts": "read"},
}
LOOKING = {"contents": "read", "vulnerability_alerts": "read"}
"""The permissions of a run that only reads alerts."""


def list_needed(request: Request) -> Mapping[str, str]:
    """Return the permissions that the request takes, each with its level."""
    if isinstance(request, RemediateAlert) and (request.dry_run or request.no_pr):
        return LOOKING
    return NEEDS[request.kind]


def permissions_granted(
    request: Request, held: Mapping[str, str], account: str, url: str
) -> Refusal | None:
    """Refuse what takes more than the owners have granted, and name the page where they can."""
    missing = list_lacking(held, list_needed(request))
    if not missing:
        return None
    names = ", ".join(f"`{each}`" for each in missing)
    again = "then " + way_of(request).again if request.via in WAYS else "then ask for it again"
    text = (
        f"the App needs {names} for this, which nobody has granted it on `{account}` yet. An owner"
        f" can accept it at `{url}`; {again}."
    )
    return refusal(permissions_granted.__name__, text)


def list_lacking(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Return the wanted permissions that are not held, or held at a lower level: `checks: read`."""
    return [
        f"{name}: {level}"
        for name, level in sorted(wanted.items())
        if _rank(held.get(name, "")) < _rank(level)
    ]


def _rank(level: object) -> int:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)
