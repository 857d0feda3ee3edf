"""The port `GuidanceRecords`: what people said in a repository, out of the records of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from agents.ports import ApprovalRequest, DeniedCall, GatheredEvidence, GuidanceEvidence, Json
from agents.text import printable
from agents.tools.paths import normalize
from app.records.approvals import StoredApproval
from app.store.proposals import PastRun, Proposals
from app.store.runs import History

MOST = 60
"""Things that people said: the newest ones count."""
LONGEST = 4_000
ANALYSIS = "stage/analyze_feedback/"
_CALL = "{tool} {arguments}\n\nIt was asked because: {reason}\n\nThey said: {said}"
_REVERT = "What was taken back: {title}"


@dataclass(frozen=True)
class StoredGuidance:
    """The records of one repository, for one run."""

    proposals: Proposals
    history: History
    run_id: str
    repository_id: int

    async def gather(self) -> GatheredEvidence:
        """Return what people said and no proposal was made of yet."""
        used = await self.proposals.list_used(self.repository_id)
        found = {each.about: each for each in await self._list_evidence() if each.about not in used}
        declined = await self.proposals.list_declined(self.repository_id)
        return GatheredEvidence(evidence=tuple(found.values())[-MOST:], declined=tuple(declined))

    async def remember(self, number: int, lines: Sequence[str], used: Sequence[str]) -> None:
        """Keep what a pull request proposes."""
        await self.proposals.remember(self.run_id, self.repository_id, number, lines, used)

    async def _list_evidence(self) -> list[GuidanceEvidence]:
        found: list[GuidanceEvidence] = []
        for run in await self.proposals.list_reviewed(self.repository_id):
            for step in await self.history.steps(run.id):
                if step.name.startswith(ANALYSIS):
                    found += _read_remarks(run, step.record)
        for run in await self.proposals.list_reversals(self.repository_id):
            found.append(_describe_reversal(run))
        found += _list_denials(await self.proposals.list_decided(self.repository_id))
        return found


def _read_remarks(run: PastRun, record: Json) -> Iterator[GuidanceEvidence]:
    """Yield what reviewers asked for, as a run sorted it; nothing where strangers had a say."""
    output, standing = _get(record, "output"), _get(record, "standing")
    changes, points = _get(output, "changes"), _get(output, "points")
    if _get(standing, "tainted") or not isinstance(changes, Mapping):
        return
    for point in points if isinstance(points, list) else ():
        key, about = _get(point, "key"), _get(point, "about")
        if key in changes and about:
            place = str(_get(point, "place") or "")
            yield GuidanceEvidence(
                about=f"remark:{about}",
                kind="remark",
                number=run.number,
                said_by=str(_get(point, "author") or ""),
                words=printable(f"{place}\n{_get(point, 'words')}".strip())[:LONGEST],
            )


def _describe_reversal(run: PastRun) -> GuidanceEvidence:
    return GuidanceEvidence(
        about=f"revert:{run.id}",
        kind="revert",
        number=run.number,
        said_by=run.asked_by,
        words=_REVERT.format(title=run.title),
    )


def _list_denials(decided: Sequence[StoredApproval]) -> Iterator[GuidanceEvidence]:
    """Yield what was denied; no rule can follow where the same was approved another time."""
    approved = {
        _find_subject(each.asking) for each in decided if each.state == "approved" and each.asking
    }
    for each in decided:
        if each.state != "denied" or each.asking is None:
            continue
        asking, subject = each.asking, _find_subject(each.asking)
        words = _CALL.format(
            tool=asking.tool,
            arguments=orjson.dumps(asking.arguments).decode()[:1_000],
            reason=asking.reason,
            said=each.reason or "nothing",
        )
        yield GuidanceEvidence(
            about=f"denial:{each.id}",
            kind="denial",
            number=each.number,
            said_by=each.decided_by,
            words=printable(words)[:LONGEST],
            denied=None if subject in approved else subject,
        )


def _find_subject(asking: ApprovalRequest) -> DeniedCall | None:
    """Return what a call was about, in the words of the policy's rules; None where it has none."""
    arguments = asking.arguments
    match asking.rule:
        case "dependency/new":
            return DeniedCall(field="dependencies")
        case "path/protected" if path := _get(arguments, "path"):
            return DeniedCall(field="path", value=normalize(str(path)))
        case "web/unlisted" if url := _get(arguments, "url"):
            try:
                host = urlsplit(str(url)).hostname
            except ValueError:
                return None
            return DeniedCall(field="host", value=host) if host else None
    return None


def _get(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, Mapping) else None
