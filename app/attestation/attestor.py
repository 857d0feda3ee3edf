"""State, signed, how each pushed change was made and checked, in a note on its commit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version

import structlog

from agents.errors import RunError
from agents.policy import POLICY_PATH
from agents.requests import Request
from agents.run import Outcome
from app.attestation.envelope import seal_statement
from app.attestation.signing_keys import SigningKeys
from app.attestation.stages import find_standing, list_stages
from app.attestation.statement import Evidence, build_statement
from app.attestation.verdict import build_verdict
from app.git import CommitIdentity, Mirror
from app.github.checks.verdict import Verdict, show_verdict
from app.github.transport import GitHub, OutgoingText, Profile, Scope
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.runs import StoredJournal
from app.store.runs.history import History
from app.views.text import redact

_TOLD = (
    "Which models made this, how it was checked and who agreed to what is signed, in a git note on"
    " the commit: `fettle verify` in a clone says whether that holds."
)

log = structlog.get_logger()


@dataclass(frozen=True)
class Attestor:
    """Publishes what is known of each pushed change: signed, and as a check run."""

    keys: SigningKeys | None
    """None: nothing is signed, and the check run alone tells."""
    github: GitHub
    database: Database
    redactor: Redactor
    pages: str = ""
    """The address of the pages where people can sign in; empty: there are none."""

    @property
    def told(self) -> str:
        """Return what people are told of a signature; empty where nothing is signed."""
        return _TOLD if self.keys is not None else ""

    async def attest(
        self,
        run_id: str,
        request: Request,
        mirror: Mirror,
        identity: CommitIdentity,
        outcome: Outcome,
    ) -> None:
        """State what the run pushed, if it pushed anything. A second time changes nothing.

        A repository that takes no notes keeps no run from its end: the log says so. Raises
        TransientError where GitHub cannot be reached.
        """
        history = History(self.database)
        stages = list_stages(await history.steps(run_id))
        standing = find_standing(stages)
        pull, number = outcome.pull_request, getattr(request, "number", 0)
        commit = pull.head if pull else standing.head if standing.pushed else ""
        if not commit or not await mirror.holds(commit):
            return
        url = f"{self.pages}/runs/{run_id}" if self.pages else ""
        verdict = build_verdict(outcome, stages, signed=self.keys is not None, url=url)
        evidence = Evidence(
            run_id=run_id,
            request=request,
            version=version("fettle"),
            commit=commit,
            tree=await mirror.tree_of(commit),
            base=standing.base,
            pull_request=(pull.number if pull else None) or number,
            policy=await mirror.show(standing.trunk, POLICY_PATH) if standing.trunk else None,
            stages=stages,
            signed=standing.signed,
            turns=await history.turns(run_id, content=True),
            approvals=await history.approvals(run_id),
            spent=await StoredJournal(self.database, run_id).sum_usage(),
        )
        parts = [
            replace(
                evidence,
                commit=each.head,
                tree=await mirror.tree_of(each.head),
                pull_request=each.number or 0,
            )
            for each in outcome.lower
        ]
        for each in (*parts, evidence):
            await self._tell(each, mirror, identity, verdict)

    async def _tell(
        self, evidence: Evidence, mirror: Mirror, identity: CommitIdentity, verdict: Verdict
    ) -> None:
        """Show the verdict at a commit, and sign what is known of it."""
        request, commit = evidence.request, evidence.commit
        wording = OutgoingText(self.github.urls, request, self.redactor)
        try:
            await show_verdict(self.github, request, wording, commit, verdict)
        except RunError as error:
            log.warning("no check run", commit=commit, reason=str(error))
        if self.keys is None:
            return
        statement = redact(build_statement(evidence), self.redactor)
        note = seal_statement(statement, self.keys.current)
        try:
            await self._publish(request, mirror, commit, note, identity)
        except RunError as error:
            log.warning("not attested", commit=commit, reason=str(error))

    async def _publish(
        self,
        request: Request,
        mirror: Mirror,
        commit: str,
        note: bytes,
        identity: CommitIdentity,
    ) -> None:
        scope = Scope.for_one(request.installation_id, request.repository.id, Profile.PUSH)
        async with self.github.broker.lease(scope) as token:
            url = self.github.urls.clone(await self.github.installed.full_name(request.repository))
            await self.github.require_writable()
            await mirror.publish_note(url, token.value, commit, note, identity)
