"""Have a run's commits made again, of the same files, and signed: by GitHub, or the operator's key.

The trees come to GitHub by git, byte for byte, under a ref that is no branch; it signs a commit
that an App makes of them, if nothing is said of who made it. Where it signs none (an Enterprise
Server may not), the operator's key does, if there is one.
https://docs.github.com/authentication/managing-commit-signature-verification/about-commit-signature-verification
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from agents.errors import RunError
from agents.requests import Request
from app.git import Mirror, RunObjects, aside_ref, signed_ref
from app.git.commit_key import CommitKey
from app.git.objects import CommitParts
from app.github.pulls.head_branch import choose_push_profile
from app.github.pulls.publisher import RecordPush
from app.github.transport import GitHub, InstallationClient, Scope

COMMITS = "/repos/{owner}/{repo}/git/commits"
_OTHER = (
    "GitHub made another commit than it was asked for in the place of {commit}, so it was not"
    " used. Say `commits: {{signing: none}}` in `.github/fettle.yml` to push without signatures."
)

log = structlog.get_logger()


class CommitSigner:
    """The port `Signer` for one run."""

    def __init__(
        self,
        github: GitHub,
        objects: RunObjects,
        request: Request,
        run_id: str,
        *,
        record: RecordPush | None = None,
        key: CommitKey | None = None,
    ) -> None:
        self._github = github
        self._key = key
        self._record = record
        self._objects = objects
        self._mirror: Mirror = objects.mirror
        self._request = request
        self._run_id = run_id
        self._where = {"owner": request.repository.owner, "repo": request.repository.name}

    async def has_signed(self, commit: str) -> bool:
        """Return whether the run has this commit signed already."""
        return await self._mirror.resolve(signed_ref(self._run_id, commit)) is not None

    async def sign(self, start: str, head: str, *, merging: str = "") -> Mapping[str, str]:
        """Return the signed commits by the ids of those that the run made.

        Empty where nobody signs. Raises RunError where it takes the files or the commits
        not; TransientError where it cannot be reached.
        """
        beyond = (start, merging) if merging else (start,)
        own = await self._mirror.list_commits(head, *beyond)
        parts = {commit: await self._mirror.parts_of(commit) for commit in own}
        signed = {commit: commit for commit, made_of in parts.items() if made_of.signed}
        for commit in own:
            known = await self._mirror.resolve(signed_ref(self._run_id, commit))
            signed |= {commit: known} if known else {}
        missing = {commit: parts[commit] for commit in own if commit not in signed}
        if missing:
            made = await self._make(head, missing, signed)
            if not made and self._key is not None:
                made = await self._key.sign_all(self._mirror, missing, signed)
            for commit, found in made.items():
                ref = signed_ref(self._run_id, commit)
                await self._mirror.keep(ref, found)
                await self._objects.record(ref, found)
            signed |= made
        return signed if len(signed) == len(own) else {}

    async def _make(
        self, head: str, missing: Mapping[str, CommitParts], signed: Mapping[str, str]
    ) -> dict[str, str]:
        """Make the commits at GitHub and fetch them; nothing of it is left there but these."""
        request, aside = self._request, aside_ref(self._run_id)
        place = (request.installation_id, request.repository.id)
        profile = choose_push_profile(request)
        async with (
            self._github.broker.lease(Scope.for_one(*place, profile)) as token,
            self._github.lease_client(*place, profile) as client,
        ):
            url = self._github.urls.clone(
                await self._github.installed.full_name(request.repository)
            )
            await self._github.require_writable()
            if self._record is not None:
                await self._record(aside, head)
            await self._mirror.push_hidden_ref(url, token.value, head, aside)
            made = await self._post_all(client, missing, signed)
            if made:
                newest = made[next(reversed(made))]
                kept = f"{signed_ref(self._run_id, head)}-fetched"
                await self._mirror.fetch_commit(url, token.value, newest, kept)
            await self._mirror.delete_hidden_ref(url, token.value, aside)
        for commit, found in made.items():
            if not await self._is_same(missing[commit], found, {**signed, **made}):
                raise RunError(_OTHER.format(commit=commit[:12]))
        return made

    async def _is_same(self, wanted: CommitParts, found: str, names: Mapping[str, str]) -> bool:
        """Return whether what GitHub made has the files, parents and message that it should."""
        if not await self._mirror.holds(found):
            return False
        made = await self._mirror.parts_of(found)
        parents = tuple(names.get(parent, parent) for parent in wanted.parents)
        same_files = (made.tree, made.parents) == (wanted.tree, parents)
        return same_files and made.message.rstrip("\n") == wanted.message.rstrip("\n")

    async def _post_all(
        self,
        client: InstallationClient,
        missing: Mapping[str, CommitParts],
        signed: Mapping[str, str],
    ) -> dict[str, str]:
        """Have GitHub make each commit, parents first; none where it does not sign."""
        made: dict[str, str] = {}
        for commit, parts in missing.items():
            names = {**signed, **made}
            data = {
                "message": parts.message,
                "tree": parts.tree,
                "parents": [names.get(parent, parent) for parent in parts.parents],
            }
            answer: dict[str, Any] = await client.post(COMMITS, self._where, data=data)
            if not answer["verification"]["verified"]:
                log.warning("GitHub does not sign", reason=answer["verification"]["reason"])
                return {}
            made[commit] = answer["sha"]
        return made
