"""The check run on a pull request that edits the policy: its effect, and each fault at its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.policy import POLICY_PATH, PolicyFault
from agents.requests import Repository
from app.github.approvals.check_run import CHECK_RUN, CHECK_RUNS, OF_COMMIT, is_own
from app.github.transport import BotIdentity, InstallationClient
from handlers.check_run import POLICY_CHECK

NAME = "fettle policy"
AT_ONCE = 50
"""Annotations that GitHub takes in one request; those of several add up."""
MOST = 200


@dataclass(frozen=True)
class PolicyConclusion:
    """Title, text and conclusion of the check run."""

    conclusion: Literal["success", "failure"]
    title: str
    summary: str
    faults: tuple[PolicyFault, ...]


@dataclass(frozen=True)
class PolicyCheckRun:
    """The check run on the newest commit of one pull request, created once.

    https://docs.github.com/rest/checks/runs
    """

    client: InstallationClient
    own: BotIdentity
    repository: Repository
    number: int
    head: str

    async def show(self, verdict: PolicyConclusion, *, again: bool = False) -> None:
        """Show the verdict unless it is shown; `again`: somebody asked for a rerun.

        One commit always has the same faults, so a rerun adds only annotations that a crash left
        out.
        """
        found = await self._find()
        output = found["output"] if found else {}
        left = _annotations(verdict.faults)[output.get("annotations_count") or 0 :]
        said = (found or {}).get("conclusion"), output.get("title"), output.get("summary")
        if said == (verdict.conclusion, verdict.title, verdict.summary) and not (left or again):
            return
        body = _body(verdict, left[:AT_ONCE])
        if found is None:
            new = {"name": NAME, "head_sha": self.head, "external_id": self._ident, **body}
            found = await self.client.post(CHECK_RUNS, self._url_variables(), data=new)
        else:
            await self._change(found, body)
        for start in range(AT_ONCE, len(left), AT_ONCE):
            await self._change(found, _body(verdict, left[start : start + AT_ONCE]))

    @property
    def _ident(self) -> str:
        return POLICY_CHECK.format(number=self.number)

    async def _find(self) -> Mapping[str, Any] | None:
        named = self.client.getiter(
            OF_COMMIT, self._url_variables(ref=self.head), iterable_key="check_runs"
        )
        async for each in named:
            if is_own(each, self.own, self._ident):
                return dict(each)
        return None

    async def _change(self, found: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        await self.client.patch(CHECK_RUN, self._url_variables(id=str(found["id"])), data=body)

    def _url_variables(self, **more: str) -> dict[str, str]:
        return {"owner": self.repository.owner, "repo": self.repository.name, **more}


def _body(verdict: PolicyConclusion, annotations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    output = {"title": verdict.title, "summary": verdict.summary, "annotations": list(annotations)}
    return {"status": "completed", "conclusion": verdict.conclusion, "output": output}


def _annotations(faults: Sequence[PolicyFault]) -> list[dict[str, Any]]:
    return [
        {
            "path": POLICY_PATH,
            "start_line": each.line,
            "end_line": each.line,
            "start_column": each.column,
            "end_column": each.column,
            "annotation_level": "failure",
            "message": each.text,
        }
        for each in faults[:MOST]
    ]
