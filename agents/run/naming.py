"""Names of branches and titles by the repository's policy, and messages of commits."""

from __future__ import annotations

import re

from agents.requests import Person

BELOW = "bot/"
"""Where all branches lie: others the machine does not push."""

_TYPED = re.compile(r"[a-z]{2,12}(?:\([^()\s]{1,40}\))?!?: \S")
_BY_STAGE = {
    "docs_review": "docs",
    "record_decision": "docs",
    "craft_decision_pr": "docs",
    "prove_again": "test",
    "keep_work": "chore",
}
_BY_KIND = {"feature": "feat", "refactor": "refactor", "docs": "docs", "question": "chore"}
OTHERWISE = "fix"


def to_conventional(subject: str, *, request: str, stage: str, about: str) -> str:
    """Return the subject with its type, unless it has one.

    `request` is the kind of what was asked for, `stage` what makes the change, `about` what the
    issue is about. Merges keep the words that git gives them.
    """
    if _TYPED.match(subject) or subject.startswith("Merge "):
        return subject
    kind = _BY_STAGE.get(stage) or _BY_KIND.get(about, OTHERWISE)
    if request == "remediate_alert":
        kind = "fix(deps)"
    if request in ("revert_change", "suspect_merge"):
        kind = "revert"
    kind = {"propose_guidance": "docs", "offer_setup": "chore"}.get(request, kind)
    plain = subject[1:2].islower() or subject[1:2] == " "
    return f"{kind}: {subject[:1].lower() if plain else subject[:1]}{subject[1:]}"


def branch_name(folder: str | None, *words: str) -> str:
    """Return the name of a branch of these words, some of which may be empty."""
    place = f"{BELOW}{folder}/" if folder else BELOW
    return place + "-".join(each for each in words if each)


def commit_message(
    subject: str, body: str, *, run: str, stage: str, credit: Person, noreply: str, pages: str = ""
) -> str:
    """Return the message with its trailers.

    `noreply` is the host of GitHub's own addresses; `pages` where readers can see the run, if they
    can.
    """
    trailers = [f"Fettle-Run: {run}", f"Fettle-Stage: {stage}"]
    if pages:
        trailers.append(f"Fettle-Page: {pages}/runs/{run}/stages/{stage}")
    if credit.id:
        address = f"{credit.id}+{credit.login}@{noreply}"
        trailers.append(f"Co-authored-by: {credit.login} <{address}>")
    return "\n\n".join(part for part in (subject, body, "\n".join(trailers)) if part) + "\n"
