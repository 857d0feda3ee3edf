"""Verify, on a clone and without a network, what was stated of a commit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.attestation.envelope import NotAttested, open_envelope
from app.attestation.signing_keys import TrustedKeys
from app.attestation.statement import CHANGE, STATEMENT
from app.git import GitObjects
from app.git.mirror.notes import NOTES, read_note

NO_NOTE = (
    f"there is none here. `git fetch origin {NOTES}:{NOTES}` brings what the repository has; what"
    " Fettle pushed before it signed anything has none"
)
_RUN = "Fettle-Run: "

ClaimResult = Literal["holds", "does not hold", "cannot be told"]


@dataclass(frozen=True)
class Claim:
    """One thing that the statement says, and whether this clone agrees."""

    what: str
    answer: ClaimResult
    why: str


@dataclass(frozen=True)
class Verification:
    """What came of verifying one commit."""

    commit: str
    claims: tuple[Claim, ...]
    statement: Mapping[str, Any] | None
    """What was signed; None where nothing can be believed."""

    @property
    def verdict(self) -> ClaimResult:
        """Return the worst of all answers."""
        answers = {each.answer for each in self.claims}
        order: tuple[ClaimResult, ...] = ("does not hold", "cannot be told", "holds")
        return next(each for each in order if each in answers)


async def verify(objects: GitObjects, commit: str, trusted: TrustedKeys) -> Verification:
    """Return what holds of the statement on this commit."""
    note = await read_note(objects.git, commit)
    if note is None:
        absent = Claim("A signed statement", "cannot be told", NO_NOTE)
        return Verification(commit, (absent,), None)
    try:
        statement, keyid = open_envelope(note, trusted)
    except NotAttested as error:
        broken = Claim("The signature", "does not hold", str(error))
        return Verification(commit, (broken,), None)
    signed = Claim("The signature", "holds", f"by the key {keyid[:16]}")
    if (statement.get("_type"), statement.get("predicateType")) != (STATEMENT, CHANGE):
        unknown = Claim("The statement", "cannot be told", "it is of a kind that is unknown here")
        return Verification(commit, (signed, unknown), None)
    claims = [claim async for claim in _list_claims(objects, commit, statement)]
    return Verification(commit, (signed, *claims), statement)


async def _list_claims(
    objects: GitObjects, commit: str, statement: Mapping[str, Any]
) -> AsyncIterator[Claim]:
    digest, predicate = statement["subject"][0]["digest"], statement["predicate"]
    tree = await objects.tree_of(commit)
    yield _compare("The commit", digest["gitCommit"], commit)
    yield _compare("Its files", digest["gitTree"], tree)
    message = await objects.message(commit)
    runs = [line.removeprefix(_RUN) for line in message.splitlines() if line.startswith(_RUN)]
    yield _compare("The run that made it", predicate["run"], runs[-1] if runs else "none named")
    base = predicate["base"]
    if not base or not await objects.holds(base):
        yield Claim("What it was compared with", "cannot be told", f"{base[:12]} is not here")
    elif await objects.continues(commit, base):
        yield Claim("What it was compared with", "holds", f"{base[:12]} is in its history")
    else:
        yield Claim("What it was compared with", "does not hold", f"it is not built on {base[:12]}")


def _compare(what: str, stated: str, found: str) -> Claim:
    if stated == found:
        return Claim(what, "holds", found[:40])
    return Claim(what, "does not hold", f"{stated[:40]} was signed, and here is {found[:40]}")


def list_checks(statement: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield each command that was run, as stage, command and exit code, once each."""
    checks = ((c["stage"], c["command"], c["exit_code"]) for c in statement["predicate"]["checks"])
    yield from dict.fromkeys(checks)
