"""The message of a commit, with the run that made it and the people whose change it is."""

from __future__ import annotations

from agents.requests import Person


def commit_message(
    subject: str, body: str, *, run: str, stage: str, credit: Person, noreply: str
) -> str:
    """Return the message with its trailers. `noreply` is the host of GitHub's own addresses."""
    trailers = [f"Fettle-Run: {run}", f"Fettle-Stage: {stage}"]
    if credit.id:
        address = f"{credit.id}+{credit.login}@{noreply}"
        trailers.append(f"Co-authored-by: {credit.login} <{address}>")
    return "\n\n".join(part for part in (subject, body, "\n".join(trailers)) if part) + "\n"
