"""The check run of an approval: two buttons on the pull request, then the decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import Repository
from app.github.transport import BotIdentity, InstallationClient, NotFound, Unprocessable
from app.records.approvals import StoredApproval

NAME = "fettle: approval {id}"
CHECK_RUNS = "/repos/{owner}/{repo}/check-runs"
CHECK_RUN = "/repos/{owner}/{repo}/check-runs/{id}"
OF_COMMIT = "/repos/{owner}/{repo}/commits/{ref}/check-runs?filter=all"

TITLES = {
    "waiting": "Waiting for a decision",
    "approved": "Approved by {by}",
    "denied": "Denied by {by}",
    "expired": "Expired: nobody answered in time",
    "void": "Void: it can no longer be approved",
}
CONCLUSIONS = {
    "waiting": "action_required",
    "approved": "success",
    "denied": "neutral",
    "expired": "cancelled",
    "void": "cancelled",
}
SUMMARY = "Fettle asks [in the discussion]({url}) whether it may do this."


async def show_check(
    client: InstallationClient,
    own: BotIdentity,
    repository: Repository,
    stored: StoredApproval,
    *,
    ref: str,
    text: str,
    url: str,
) -> None:
    """Show the approval as one check run on the commit `ref`, and keep it current.

    https://docs.github.com/rest/checks/runs
    https://docs.github.com/rest/guides/using-the-rest-api-to-interact-with-checks
    """
    found = await find_check(client, own, repository, stored.id, ref)
    if found is not None and found["conclusion"] == CONCLUSIONS[stored.state]:
        return
    where = {"owner": repository.owner, "repo": repository.name}
    body = _body(stored, text, url)
    if found is not None:
        await client.patch(CHECK_RUN, {**where, "id": str(found["id"])}, data=body)
    elif stored.state == "waiting":
        named = {"name": NAME.format(id=stored.id), "head_sha": ref}
        await client.post(CHECK_RUNS, where, data={**named, "external_id": stored.id, **body})


async def find_check(
    client: InstallationClient, own: BotIdentity, repository: Repository, ident: str, ref: str
) -> dict[str, Any] | None:
    """Return Fettle's check run of this approval on that commit; None: there is none."""
    where = {"owner": repository.owner, "repo": repository.name, "ref": ref}
    try:
        async for each in client.getiter(OF_COMMIT, where, iterable_key="check_runs"):
            if is_own(each, own, ident):
                return dict(each)
    except (NotFound, Unprocessable):  # the branch is gone
        return None
    return None


def is_own(check_run: Mapping[str, Any], own: BotIdentity, ident: str) -> bool:
    """Tell whether Fettle made this check run, for this approval."""
    app = check_run.get("app") or {}
    return check_run.get("external_id") == ident and app.get("id") == own.app_id


def _body(stored: StoredApproval, text: str, url: str) -> dict[str, Any]:
    title = TITLES[stored.state].format(by=stored.decided_by)
    buttons = [
        {
            "label": label,
            "description": description,
            "identifier": f"{verb}:{stored.id}",
        }
        for label, description, verb in (
            ("Approve", "Let exactly this call run, once.", "approve"),
            ("Deny", "Refuse it; Fettle goes on without.", "deny"),
        )
    ]
    return {
        "status": "completed",
        "conclusion": CONCLUSIONS[stored.state],
        "actions": buttons if stored.state == "waiting" else [],
        "output": {"title": title, "summary": SUMMARY.format(url=url), "text": text},
    }
