"""The ports of a run on a clone: a branch instead of a push, texts instead of posts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.policy import PullRequests
from agents.ports import PullRequest, Reporter, Steps
from agents.ports.publishing import EVIDENCE
from agents.run import Outcome, RunPorts
from agents.text import one_line, publish
from app.git import Mirror, UserClone
from app.git.worktree import GitSource
from app.policies.gate import PolicyGate
from app.runs.admission import Admission
from app.runs.retry_from_stage import RetryFromStage
from app.secrets.redaction import Redactor
from handlers.access.issues import AskerFacts

LONGEST_TITLE = 200


@dataclass
class ClonePublisher:
    """The port `Publisher` on a clone."""

    clone: UserClone
    mirror: Mirror
    base: str
    redactor: Redactor
    comments: Path
    """The folder of what would be said on the issue: it must outlive the process."""
    caution: str = ""
    """What people must know of the machine that it ran on, as Markdown."""

    async def push(
        self,
        branch: str,
        commit: str,
        *,
        replacing: str = "",  # noqa: ARG002 - the port has it
    ) -> str:
        """Put the branch into the clone, where it is seen under its name; never over another."""
        await self.clone.deliver(self.mirror, commit, branch)
        return branch

    async def open_pull_request(
        self,
        *,
        branch: str,
        commit: str,
        title: str,
        body: str,
        draft: bool,
        closes: Sequence[int] = (),  # noqa: ARG002 - there are no issues that could be closed
        evidence: str = "",
        terms: PullRequests | None = None,  # noqa: ARG002 - nor people who could be asked
        onto: str = "",
        lower: bool = False,  # noqa: ARG002 - nothing is divided without a GitHub
    ) -> PullRequest:
        """Return what would be opened."""
        checked = f"### {EVIDENCE}\n\n{evidence}" if evidence else ""
        return PullRequest(
            number=None,
            url=branch,
            branch=branch,
            head=commit,
            base=onto or self.base,
            title=self.redactor.clean(one_line(self.redactor.clean(title), LONGEST_TITLE)),
            body="\n\n".join(filter(None, (self._clean(body), self._clean(checked), self.caution))),
            draft=draft,
        )

    async def stack(self, pulls: Sequence[PullRequest]) -> bool:  # noqa: ARG002 - the port has it
        """Return False: there is no GitHub that could lead them."""
        return False

    async def comment(self, key: str, body: str) -> str:
        """Keep what would be said on the issue; `key` tells one answer from another."""
        self.comments.mkdir(mode=0o700, exist_ok=True)
        (self.comments / f"{key}.md").write_text(self._clean(body), "utf-8")
        return key

    def _clean(self, markdown: str) -> str:
        """Take secrets out before and after: markup can hide them, and its end can show them."""
        return self.redactor.clean(publish(self.redactor.clean(markdown)))


@dataclass
class CloneEquipment:
    """Everything that one run on a clone holds. Whoever can start it may."""

    ports: RunPorts
    source: GitSource
    policy: PolicyGate
    parked: asyncio.Event
    """Set when the run waits for the person at the terminal."""
    retry: Callable[[Steps, Reporter], RetryFromStage] | None = None
    """Keeps what an earlier run did, where that goes on."""

    async def admit(self) -> Admission:
        """Let it run: the person at the terminal asks for it themselves, in words of their own."""
        refusal, given = await self.policy.judge(AskerFacts())
        return Admission(refusal=refusal, policy=given, tainted=False)

    async def recover(self) -> None:
        """Do nothing: the run's folder has its database and its commits."""

    async def rest(self) -> None:
        """Tell whoever runs the command; the work tree stays for the answer, which comes soon."""
        self.parked.set()

    async def finish(self, outcome: Outcome) -> None:  # noqa: ARG002 - the port has it
        """Remove the work tree; the commits go with the run's folder, once its result is told."""
        await self.source.discard(forget=False)

    async def close(self) -> None:
        """Let go of other servers."""
        if self.ports.toolsets is not None:
            await self.ports.toolsets.close()
