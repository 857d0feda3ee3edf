"""Judge pull requests that edit the policy file, in a check run on their newest commit.

Anybody may write a proposed policy. Fettle reads it within limits, reports on it in words that
cannot act, and never obeys it: the policy on the default branch holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.policy import (
    POLICY_PATH,
    FolderEntry,
    InvalidPolicy,
    MissingPolicy,
    Policy,
    PolicyFault,
    PolicyOrigin,
    ValidPolicy,
    describe_changes,
    list_faults,
)
from agents.ports import Json
from agents.text import publish_in_child
from app.github.policy.check_run import PolicyCheckRun, PolicyConclusion
from app.github.policy.file import OWNERS, REPOSITORY, PolicyFile
from app.github.transport import GitHub, InstallationClient, Profile
from app.github.transport import NotFound as NotThere
from app.secrets.redaction import Redactor
from app.webhooks.notifications import NotificationHandler
from handlers.notifications import PullChanged

PULL = f"{REPOSITORY}/pulls/{{number}}"
COMPARE = f"{REPOSITORY}/compare/{{base}}...{{head}}{{?per_page}}"

Proposed = MissingPolicy | ValidPolicy | InvalidPolicy


@dataclass(frozen=True)
class ProposedPolicies:
    """Checks pull requests that may edit the policy."""

    github: GitHub
    redactor: Redactor
    models: frozenset[str]
    """Names of the models that the operator lets policies name."""

    @property
    def takers(self) -> dict[type[Any], NotificationHandler]:
        """Return the notifications that it handles."""
        return {PullChanged: self}

    async def take(self, notice: PullChanged, ident: str) -> Json:  # noqa: ARG002 - the port has it
        """Show a check run on the pull request's head, if it edits a policy."""
        place = (notice.installation_id, notice.repository.id)
        client = await self.github.installation(*place, Profile.READ)
        base = notice.base or await _base_of(client, notice)
        file = PolicyFile(client, notice.repository.owner, notice.repository.name)
        old, new = await file.find(base), await file.find(notice.head)
        if new is None and old is not None:  # perhaps GitHub does not show the commit yet
            new = await file.find(notice.head, named=True)
        if _is_same(old, new) or _is_same(await self._fork_point(file, base, notice.head), new):
            return {"policy": "not touched"}
        before = await _read(file, old, base)
        verdict = await self._verdict(notice, before, await _read(file, new, notice.head))
        writing = await self.github.installation(*place, Profile.REPORT)
        own = await self.github.identity(writing)
        check = PolicyCheckRun(writing, own, notice.repository, notice.number, notice.head)
        await check.show(verdict, again=notice.again)
        return {"policy": verdict.conclusion}

    async def _fork_point(
        self, file: PolicyFile, base: str, head: str
    ) -> FolderEntry | PolicyFault | None:
        """Return the file where the branch left its base, which may have moved on since."""
        where = {"owner": file.owner, "repo": file.name, "base": base, "head": head}
        try:
            found = await file.client.getitem(COMPARE, {**where, "per_page": "1"})
        except NotThere:  # nothing in common: all of it is new
            return None
        return await file.find(found["merge_base_commit"]["sha"])

    async def _verdict(
        self, notice: PullChanged, before: Proposed, after: Proposed
    ) -> PolicyConclusion:
        if isinstance(after, InvalidPolicy):
            title = f"Not valid: {list_faults(after.faults, 1)[0]}"[:200]
            lines = [_NOT_VALID, *(f"- {each}" for each in list_faults(after.faults, 20))]
            summary = await self._clean(notice, lines)
            return PolicyConclusion("failure", title, summary, after.faults)
        old = Policy() if isinstance(before, InvalidPolicy) else before.policy
        lines = [f"- {each}" for each in describe_changes(old, after.policy)] or [
            "Nothing changes by it."
        ]
        wrong = sorted({*after.policy.models.named.values()} - self.models)
        title = "Valid"
        if wrong:
            title = "It names models that the operator of Fettle does not allow"
            lines.append(_MODELS.format(models=", ".join(f"`{name}`" for name in wrong)))
        head = _HEADS[type(after), isinstance(before, MissingPolicy)]
        foot = _HOLDS.format(branch=notice.repository.default_branch)
        if notice.repository.name == OWNERS:
            foot = f"{foot} {_OWNERS.format(owner=notice.repository.owner)}"
        summary = await self._clean(notice, [head, "", *lines, "", foot])
        return PolicyConclusion("failure" if wrong else "success", title, summary, ())

    async def _clean(self, notice: PullChanged, lines: list[str]) -> str:
        """Take out secrets and what GitHub would act on: some of the words are the file's."""
        page = f"{self.github.urls.web}/{notice.repository.full_name}"
        told = await self.redactor.clean_beside("\n".join(lines))
        safe = await publish_in_child(told, repository_url=page, limit=20_000)
        return await self.redactor.clean_beside(safe)


async def _base_of(client: InstallationClient, notice: PullChanged) -> str:
    repository = notice.repository
    where = {"owner": repository.owner, "repo": repository.name, "number": str(notice.number)}
    return str((await client.getitem(PULL, where))["base"]["sha"])


async def _read(file: PolicyFile, listed: FolderEntry | PolicyFault | None, ref: str) -> Proposed:
    if listed is None:
        return MissingPolicy()
    if isinstance(listed, PolicyFault):
        return InvalidPolicy((listed,), PolicyOrigin())
    return await file.read(listed, PolicyOrigin(url=listed.url), ref)


def _is_same(old: FolderEntry | PolicyFault | None, new: FolderEntry | PolicyFault | None) -> bool:
    if isinstance(old, FolderEntry) and isinstance(new, FolderEntry):
        return old.id == new.id
    return old == new


_NOT_VALID = (
    f"While `{POLICY_PATH}` is like this on the default branch, Fettle does nothing here: nobody"
    " can say what it allows."
)
_HEADS: dict[tuple[Any, bool], str] = {
    (ValidPolicy, True): "The repository gets a policy of its own. Against what holds by itself:",
    (ValidPolicy, False): "The policy changes:",
    (
        MissingPolicy,
        False,
    ): "The policy is taken away. What changes where the owner has none either:",
}
_HOLDS = "It holds once it is on `{branch}`, and for runs that begin after that."
_OWNERS = "Then it is that of all repositories of `{owner}` which have none of their own."
_MODELS = (
    "Runs would be refused, because the operator does not allow {models}. They can add it to"
    " FETTLE_MODELS_ALLOWED."
)
