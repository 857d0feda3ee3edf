"""Alerts and advisories as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from typing import Any

from app.simulator.github.schemas.common import account_json, maybe_moment, moment
from app.simulator.github.state.alerts import Advisory, Affected, Alert
from app.simulator.github.state.world import World

Json = Any
UNSCORED = {"vector_string": None, "score": 0.0}


def alert_json(world: World, alert: Alert) -> Json:
    """Return `dependabot-alert`."""
    full_name, by = alert.repository.full_name, alert.dismissed_by
    return {
        "number": alert.number,
        "state": alert.state,
        "dependency": {
            "package": _package_json(alert.affected),
            "manifest_path": alert.manifest_path,
            "scope": alert.scope,
            "relationship": alert.relationship,
        },
        "security_advisory": _advised_json(alert.advisory),
        "security_vulnerability": _range_json(alert.advisory, alert.affected),
        "url": f"{world.api}/repos/{full_name}/dependabot/alerts/{alert.number}",
        "html_url": f"{world.url}/{full_name}/security/dependabot/{alert.number}",
        "created_at": moment(alert.created_at),
        "updated_at": moment(alert.updated_at),
        "dismissed_at": maybe_moment(alert.dismissed_at),
        "dismissed_by": account_json(world, by) if by else None,
        "dismissed_reason": alert.dismissed_reason,
        "dismissed_comment": alert.dismissed_comment,
        "fixed_at": maybe_moment(alert.fixed_at),
        "auto_dismissed_at": maybe_moment(alert.auto_dismissed_at),
    }


def _package_json(affected: Affected) -> Json:
    return {"ecosystem": affected.ecosystem, "name": affected.package}


def _range_json(advisory: Advisory, affected: Affected) -> Json:
    patched = affected.first_patched
    return {
        "package": _package_json(affected),
        "severity": affected.severity or advisory.severity,
        "vulnerable_version_range": affected.vulnerable,
        "first_patched_version": {"identifier": patched} if patched else None,
    }


def _told_json(advisory: Advisory) -> dict[str, Json]:
    """Return what an alert and the database say of an advisory in the same words."""
    names = [("GHSA", advisory.ghsa_id), ("CVE", advisory.cve_id)]
    return {
        "ghsa_id": advisory.ghsa_id,
        "cve_id": advisory.cve_id,
        "summary": advisory.summary,
        "description": advisory.description,
        "severity": advisory.severity,
        "cvss": UNSCORED,
        "cvss_severities": {"cvss_v3": UNSCORED, "cvss_v4": UNSCORED},
        "cwes": [{"cwe_id": key, "name": name} for key, name in advisory.cwes.items()],
        "identifiers": [{"type": kind, "value": value} for kind, value in names if value],
        "published_at": moment(advisory.created_at),
        "updated_at": moment(advisory.updated_at),
        "withdrawn_at": maybe_moment(advisory.withdrawn_at),
    }


def _advised_json(advisory: Advisory) -> Json:
    return _told_json(advisory) | {
        "vulnerabilities": [_range_json(advisory, each) for each in advisory.affected],
        "references": [{"url": url} for url in advisory.references],
    }


def advisory_json(world: World, advisory: Advisory) -> Json:
    """Return `global-advisory`; here a first patched version is plain text."""
    reviewed = advisory.kind != "unreviewed"
    return _told_json(advisory) | {
        "url": f"{world.api}/advisories/{advisory.ghsa_id}",
        "html_url": f"{world.url}/advisories/{advisory.ghsa_id}",
        "repository_advisory_url": None,
        "type": advisory.kind,
        "source_code_location": "",
        "references": advisory.references,
        "github_reviewed_at": moment(advisory.created_at) if reviewed else None,
        "nvd_published_at": None,
        "vulnerabilities": [_vulnerability_json(each) for each in advisory.affected],
        "epss": None,
        "credits": [],
    }


def _vulnerability_json(affected: Affected) -> Json:
    return {
        "package": _package_json(affected),
        "vulnerable_version_range": affected.vulnerable,
        "first_patched_version": affected.first_patched,
        "vulnerable_functions": [],
    }
