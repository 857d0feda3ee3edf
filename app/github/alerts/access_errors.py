"""Explain to people why GitHub shows no Dependabot alerts of a repository, with the remedy."""

from __future__ import annotations

from agents.errors import RunError
from agents.requests import Repository
from app.github.transport import NotPermitted

_DISABLED = (
    "Dependabot alerts are switched off for {repository}, so there is nothing to mend. Whoever"
    " administers the repository switches them on in its settings, under Advanced Security (in"
    " older versions: Code security), then Dependabot alerts. GitHub finds alerts within minutes."
)
_ARCHIVED = (
    "{repository} is archived, and GitHub has no alerts for archived repositories. Whoever"
    " administers it can unarchive it in its settings."
)
_NOT_PERMITTED = (
    "The App may not read the Dependabot alerts of {repository}. It takes two steps. Whoever runs"
    " Fettle: in the App's settings, under Permissions & events, give the repository permission"
    " `Dependabot alerts` the access `Read-only`. Then an owner of `{owner}`: in the settings of"
    " that account, under GitHub Apps, review the request next to the App and accept the new"
    " permission. After that, ask again."
)


class NoAlerts(RunError):
    """GitHub has no alerts: they are switched off, or the repository is archived."""


def alert_refusal(error: NotPermitted, repository: Repository) -> RunError:
    """Return the error that tells people how to let Fettle read the alerts.

    https://docs.github.com/rest/dependabot/alerts
    """
    said = str(error).lower()
    named = {"repository": f"`{repository.full_name}`", "owner": repository.owner}
    if "disabled" in said:
        return NoAlerts(_DISABLED.format(**named))
    if "archived" in said:
        return NoAlerts(_ARCHIVED.format(**named))
    return RunError(_NOT_PERMITTED.format(**named))
