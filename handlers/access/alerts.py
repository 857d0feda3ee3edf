"""The rules for runs that alerts or the clock ask for; decided from facts, without I/O.

No person asked for such a run or waits for it: where a rule speaks against it, it ends without a
comment. The policy's severities come first, because most alerts are below them.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.policy import POLICY_PATH, Remediation
from agents.requests import AlertSummary, Frozen, OnMerge, RemediateAlert
from handlers.access.issues import AskerFacts, Refusal, asker_human, asker_may_write, refusal


class AlertFacts(Frozen):
    """What GitHub says of the repository and its alerts when the run begins."""

    archived: bool = False
    still_open: int = 1
    """How many alerts about the package are open in the folder."""


def not_covered(request: RemediateAlert, found: Sequence[frozenset[int]]) -> Refusal | None:
    """Pass over alerts that another run of the folder has read meanwhile, whatever came of it."""
    asking = {told.alert for told in request.told}
    if not asking or not any(asking <= each for each in found):
        return None
    return _refuse_silently(
        not_covered.__name__, "another run has dealt with these alerts meanwhile."
    )


def policy_wants(request: RemediateAlert, policy: Remediation) -> Refusal | None:
    """Pass over alerts that the owners' policy leaves alone."""
    if request.via == "schedule" and policy.schedule == "never":
        why = "open alerts are never looked at by the clock"
    else:
        why = find_objection(request.told, policy)
    if not why:
        return None
    text = f"the policy leaves it alone: {why} (`remediation` in `{POLICY_PATH}`)."
    return _refuse_silently(policy_wants.__name__, text)


def find_objection(told: Sequence[AlertSummary], policy: Remediation) -> str:
    """Return why none of these alerts is worth a run to the policy; empty where one is."""
    severe = [each for each in told if each.severity in policy.severities]
    if told and not severe:
        return f"the severity is {', '.join(sorted({each.severity for each in told}))}"
    if severe and policy.scope == "runtime" and all(_for_development(each) for each in severe):
        return "only development needs the package"
    return ""


def decide(request: RemediateAlert, facts: AlertFacts) -> Refusal | None:
    """Return the first rule that speaks against the request, or None when it may run."""
    if facts.archived:
        text = f"`{request.repository.full_name}` is archived, so nothing can be pushed to it."
        return _refuse_silently("repository_writable", text)
    if not facts.still_open:
        text = "there is no open alert about the package in this folder any more."
        return _refuse_silently("alerts_open", text)
    return None


def asked_by_people(request: RemediateAlert | OnMerge, asker: AskerFacts) -> Refusal | None:
    """Return the first rule that speaks against the asker; only commands in comments have one."""
    if request.via != "command":
        return None
    for rule in (asker_human, asker_may_write):
        if text := rule(request, asker):
            return refusal(rule.__name__, text)
    return None


def stays_private(request: RemediateAlert, *, public: bool) -> Refusal | None:
    """Refuse to publish a run that began while the repository was private."""
    if not (request.repository.private and public):
        return None
    name = stays_private.__name__
    text = f"`{request.repository.full_name}` was made public meanwhile. Ask for it again."
    return refusal(name, text, silent=request.unasked)


def refuse_suspended(request: RemediateAlert) -> Refusal:
    """Return the refusal of an installation where nothing may be done."""
    text = f"the app's installation on `{request.repository.owner}` is suspended or removed."
    return _refuse_silently("installation_active", text)


def _for_development(told: AlertSummary) -> bool:
    return told.scope == "development"


def _refuse_silently(rule: str, text: str) -> Refusal:
    return refusal(rule, text, silent=True)
