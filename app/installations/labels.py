"""Create Fettle's labels in repositories that lack them, and read their policies on the way.

An organisation may have hundreds of repositories, and GitHub lets an App create 80 things a minute
and 500 an hour. So the rows keep what is left to do, each pass does a part of it, and more than
half of GitHub's limit is left to the work that people wait for.
https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import structlog

from agents.errors import FettleError, RunError
from agents.policy import InvalidPolicy
from agents.requests import WAITING_DESCRIPTION, WAITING_LABEL
from app.github.issues.labels import make_label
from app.github.policy.file import read_policy
from app.github.transport import GitHub, InstallationClient, InstallationGone, NotPermitted, Profile
from app.records.installations import KnownRepository
from app.store.installations import StoredInstallations, StoredLabels
from app.store.schedule_leases import PassLock
from handlers.access.permissions import list_lacking
from handlers.issues import RESOLVE_LABEL
from handlers.pull_request import ADDRESS_LABEL

NAME = "repositories"
LABELS = (
    (RESOLVE_LABEL, "5319e7", "Fettle turns this issue into a pull request"),
    (ADDRESS_LABEL, "1d76db", "Fettle does what the reviews of this pull request ask for"),
    (WAITING_LABEL, "bfd4f2", WAITING_DESCRIPTION),
)
"""Name, colour, description. Labels that people have made or changed stay as they are."""
AN_HOUR = 240
A_PASS = 30
LOOK_SECONDS = 60.0
AGAIN = 86_400.0
"""Seconds until the next try, after a failure or an invalid policy."""

log = structlog.get_logger()


class LabelMaker:
    """Creates labels where they are due: soon after a poke, else every minute."""

    def __init__(
        self,
        github: GitHub,
        stored: StoredInstallations,
        labels: StoredLabels,
        turn: PassLock,
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._github = github
        self._stored = stored
        self._labels = labels
        self._turn = turn
        self._look_seconds = look_seconds
        self._poked = asyncio.Event()

    def poke(self) -> None:
        """Make the next pass start soon: something new is due."""
        self._poked.set()

    async def run(self) -> None:
        """Go on until cancelled; a failed pass is logged and ends nothing else."""
        while True:
            try:
                async with asyncio.timeout(self._look_seconds):
                    await self._poked.wait()
            except TimeoutError:
                pass
            self._poked.clear()
            try:
                if await self._labels.list_due_installations(time.time()):
                    await self._turn.take(self.run_pass)
            except Exception:
                log.exception("labels not looked after, will be tried again")

    async def run_pass(self) -> None:
        """Make one pass: some repositories of each installation with labels to create."""
        for installation_id in await self._labels.list_due_installations(time.time()):
            try:
                await self._installation(installation_id)
            except FettleError as error:  # the others have their turn all the same
                log.warning("labels put off", installation=installation_id, reason=str(error))

    async def _installation(self, installation_id: int) -> None:
        known = await self._stored.installation(installation_id)
        if known is None or list_lacking(known.permissions, dict(Profile.LABELS.value)):
            await self._labels.leave(installation_id)  # until more is granted
            return
        now = time.time()
        an_hour = AN_HOUR - await self._labels.made_since(installation_id, now - 3600)
        a_minute = A_PASS - await self._labels.made_since(installation_id, now - 60)
        most = min(an_hour, a_minute) // len(LABELS)
        due = await self._labels.due(installation_id, now, most) if most > 0 else []
        if not due:
            return
        try:
            async with self._github.lease_shared_client(
                installation_id, due, Profile.LABELS
            ) as client:
                await self._repositories(client, due)
        except NotPermitted:  # one of them is out of reach, and GitHub gives a token for none
            await self._one_by_one(installation_id, due)
        except InstallationGone as error:
            log.info("no labels", installation=installation_id, reason=str(error))
            await self._labels.leave(installation_id)

    async def _one_by_one(self, installation_id: int, idents: Sequence[int]) -> None:
        for ident in idents:
            try:
                async with self._github.lease_client(
                    installation_id, ident, Profile.LABELS
                ) as client:
                    await self._repositories(client, [ident])
            except NotPermitted:
                again = time.time() + AGAIN
                await self._labels.record_pass(ident, made=0, again=again, policy_problem=None)

    async def _repositories(self, client: InstallationClient, idents: Sequence[int]) -> None:
        for ident in idents:
            repository = await self._stored.repository(ident)
            if repository is not None:
                await self._repository(client, repository)

    async def _repository(self, client: InstallationClient, repository: KnownRepository) -> None:
        where = {"owner": repository.owner, "repo": repository.name}
        made, problem, again = 0, None, None
        try:
            for name, colour, description in LABELS:
                told = {**where, "name": name}
                made += await make_label(client, told, description, colour=colour, yielding=True)
            problem = await self._policy_problem(repository)
            again = time.time() + AGAIN if problem else None
        except RunError as error:  # archived meanwhile, say
            log.info("labels put off", repository=repository.full_name, reason=str(error))
            again = time.time() + AGAIN
        await self._labels.record_pass(
            repository.id, made=made, again=again, policy_problem=problem
        )
        if made:
            log.info("labels made", repository=repository.full_name, number=made)

    async def _policy_problem(self, repository: KnownRepository) -> str | None:
        """Return why the policy cannot be read.

        It is for the operator's eyes alone. Whoever asks for something is told on the spot, and a
        pull request that edits the policy gets a check: an issue that nobody has asked for, in a
        repository that may never use Fettle, would only be in the way.
        """
        found = await read_policy(self._github, repository.installation_id, repository)
        if not isinstance(found, InvalidPolicy):
            return None
        problem = "; ".join(str(each) for each in found.faults)
        log.warning("policy is not valid", repository=repository.full_name, problem=problem)
        return problem
