"""Texts of the tracking issue of a package; in public they name the package and nothing else."""

from __future__ import annotations

from agents.remediation import rule_of
from agents.requests import RemediateAlert, Request
from agents.run import Outcome

TITLE = "Update {package}{folder}: a decision is needed"
BODY = """Fettle is to move {package}{folder} to another release, and cannot do it without a person.
What it needs is said below, and kept current.

Whoever may write to this repository can answer. `/bot status` says where it stands, `/bot retry` \
has it tried again, and `/bot cancel` calls it off, as does closing this issue. Fettle closes it \
when nothing is left to decide."""

PUBLIC_REASON = (
    "What it has to move to differs more from the release in use than a run may go by itself."
    " What uses it may break. The change is made, and was held against the repository's checks as"
    " far as they run: with a yes it is opened, as a draft where they fail."
)
IN_PUBLIC = (
    "This call needs a person's approval, and it must not be shown in this public repository: what"
    " the run is about is not public yet. Do it without, or leave it."
)

_FAILED = {
    rule_of("fix_failed"): "Fettle found no release that it could move to by itself.",
    rule_of(
        "by_hand"
    ): "Fettle knows what has to move, and cannot prove a change of those files itself.",
    rule_of("verify_failed"): "Fettle made the change, and what was checked of it did not hold.",
}
_DECIDE = (
    "Somebody has to decide what is to be done instead. Whoever may see the repository's alerts"
    " finds the reasons with them; whoever runs Fettle finds all of it in the record of the run."
)
_BROKEN = "It could not be finished. Whoever runs Fettle finds the reason in the record of the run."
_OVER = "Nothing is left to be done."


def in_folder(directory: str) -> str:
    """Return ` in folder`; nothing for the repository's root."""
    folder = directory.strip("/")
    return f" in {folder}" if folder else ""


def is_discreet(request: Request) -> bool:
    """Tell whether more people can read the run's progress than its alerts."""
    return isinstance(request, RemediateAlert) and not request.repository.private


def public_text(outcome: Outcome) -> str:
    """Return how the run ended, without the vulnerabilities that it found."""
    if outcome.kind == "failed":
        found = _FAILED.get(outcome.rule or "")
        return f"{found} {_DECIDE}" if found else _BROKEN
    return _OVER if outcome.kind == "covered" else outcome.text
