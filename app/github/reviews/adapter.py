"""The port `Reviewing`: a pull request, what people say on it, and Fettle's answers.

https://docs.github.com/rest/pulls/pulls#get-a-pull-request
https://docs.github.com/rest/apps/apps#get-an-installation-for-the-authenticated-app
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from agents.errors import RunError
from agents.ports import (
    Batch,
    Feedback,
    PullSnapshot,
    Remark,
    ReviewText,
    Suggested,
    Thread,
    ThreadComment,
)
from agents.requests import AddressReview, OnPull, Person
from app.git import BRANCH_PREFIX
from app.github.access.authors import Authors
from app.github.access.edit_history import EditHistory
from app.github.access.run_reader import RunReader, asked_at
from app.github.pulls.earlier_pull_request import ACTIVITY
from app.github.pulls.head_branch import PULL, is_foreign, state_of, why_not
from app.github.pulls.publisher import PULLS
from app.github.pulls.stacked import StackedPulls
from app.github.reviews.replies import ReviewReplies
from app.github.reviews.request_review import ask_again
from app.github.reviews.suggestions import ReviewSuggestions
from app.github.reviews.summaries import ReviewTextReader
from app.github.reviews.threads import ThreadReader
from app.github.transport import (
    SETTLE,
    BotIdentity,
    CommentPlace,
    GitHub,
    InstallationClient,
    NotFound,
    OutgoingText,
    is_updater,
)
from app.secrets.redaction import Redactor

LOOKS = 3
"""How often GitHub is asked whether a pull request can be merged; it computes that meanwhile."""
REPLACED = "#{number} takes the place of this one. This one is closed; its branch stays."


class HandledFeedback(Protocol):
    """Keeps what each run has dealt with on a pull request."""

    async def remember(self, run_id: str, request: OnPull, batch: Batch) -> None:
        """Remember what the run has dealt with; a later word replaces the earlier one."""

    async def list_of_pull(
        self, repository_id: int, number: int, *, besides: str = ""
    ) -> tuple[Batch, ...]:
        """Return what runs other than `besides` have dealt with there, oldest first."""


class GitHubReviews:
    """The port `Reviewing`: reads with the profile `read`, answers with `report`."""

    def __init__(
        self,
        github: GitHub,
        request: OnPull,
        run_id: str,
        redactor: Redactor,
        batches: HandledFeedback,
        *,
        settle: float = SETTLE,
    ) -> None:
        self._github = github
        self._request = request
        self._run_id = run_id
        self._batches = batches
        self._settle = settle
        self._reading = RunReader.for_run(github, request, asked_at(run_id))
        wording = OutgoingText(github.urls, request, redactor)
        self._answers = ReviewReplies(self._reading, run_id, wording, settle=settle)
        self._suggestions = ReviewSuggestions(
            self._reading, run_id, wording, conceal=redactor.clean, settle=settle
        )

    async def pull(self) -> PullSnapshot:
        """Return the pull request as it is now."""
        client, repository = await self._reading.client(), self._request.repository
        found = await self._wait_for_mergeability(client)
        identity = await self._github.identity(client)
        foreign = is_foreign(found, repository)
        author = found["user"] or {}
        updates = bool(author) and is_updater(author["login"], bot=author["type"] == "Bot")
        pusher = None if foreign else await self._find_pusher(client, found["head"])
        return PullSnapshot(
            number=found["number"],
            title=found["title"],
            body=found["body"] or "",
            state=state_of(found),
            draft=found["draft"],
            own=identity.is_author(found),
            author_may_write=await self._reading.writers.is_writer(client, found),
            branch=found["head"]["ref"],
            head=found["head"]["sha"],
            base=found["base"]["ref"],
            conflicts=found["mergeable"] is False,
            foreign=foreign,
            why_not=why_not(found, repository),
            pushed_by_us=pusher == identity.bot.id,
            updater=author["login"] if updates else "",
            pushed_by_updater=updates and pusher == author["id"],
            update_base=await self._find_update_base(client, identity, found),
        )

    @property
    def _asked_at(self) -> float:
        """Return when the words were said that count; a delivery may come much later than that."""
        request = self._request
        submitted = request.submitted_at if isinstance(request, AddressReview) else 0.0
        return submitted or self._reading.until

    async def feedback(self, *, outsiders: bool = False) -> Feedback:
        """Return all feedback that waits for an answer, as it read when the run was asked for."""
        client = await self._reading.client()
        parts = (
            self._reading,
            client,
            Authors(self._reading, client, outsiders=outsiders),
            EditHistory(client, self._asked_at),
        )
        done = [each for each in await self.batches() if not each.kept_back]
        threads = await ThreadReader(*parts).read(may_resolve=await self._may_resolve())
        texts = await ReviewTextReader(*parts).read(
            dealt_with=frozenset(ident for batch in done for ident in batch.reviews),
            newest_remark=max((batch.newest_remark for batch in done), default=0),
        )
        spoken: list[tuple[ThreadComment | ReviewText | Remark, Person]] = [
            *threads.said_by,
            *texts.reviews,
            *texts.remarks,
        ]
        return Feedback(
            threads=tuple(threads.open),
            reviews=tuple(review for review, _ in reversed(texts.reviews)),
            remarks=tuple(remark for remark, _ in reversed(texts.remarks)),
            reviewers=_first_come((said.at, who) for said, who in spoken),
            covered=tuple(sorted(texts.covered)),
            newest_remark=texts.newest_remark,
            newest_at=texts.newest_at,
            resolved=threads.resolved,
            by_outsiders=threads.by_outsiders + texts.by_outsiders,
            from_outsiders=threads.from_outsiders + texts.from_outsiders,
            left_out=threads.left_out + texts.left_out,
        )

    async def reply(self, thread: Thread, verdict: str, body: str) -> str:
        """Answer in the thread, once in each run; return the answer's URL."""
        return await self._answers.reply(thread, verdict, body)

    async def has_answered(self, thread: Thread) -> bool:
        """Tell whether an answer of this run stands in the thread."""
        return await self._answers.has_answered(thread)

    async def resolve(self, thread: Thread) -> str:
        """Resolve the thread; return the reason why it stays open, empty when it is resolved."""
        return await self._answers.resolve(thread)

    async def ask_again(self, reviewers: Sequence[Person]) -> tuple[str, ...]:
        """Request reviews of these people again; return the logins that GitHub accepted."""
        return await ask_again(self._reading, reviewers)

    async def suggest(self, key: str, body: str, suggested: Sequence[Suggested]) -> str:
        """Post one review that suggests these changes; return its URL."""
        return await self._suggestions.post(key, body, suggested)

    async def dealt_with(self, batch: Batch) -> None:
        """Record the feedback that this run has dealt with."""
        await self._batches.remember(self._run_id, self._request, batch)

    async def batches(self) -> tuple[Batch, ...]:
        """Return the feedback that other runs dealt with on this pull request, oldest first."""
        request = self._request
        return await self._batches.list_of_pull(
            request.repository.id, request.number, besides=self._run_id
        )

    async def list_stacked(self) -> tuple[int, ...]:
        """Return the numbers of Fettle's pull requests that were made to stand on this one."""
        found = await self._find_stacked(await self._reading.client(), state="all")
        return tuple(pull["number"] for pull in found)

    async def replace_stacked(self, number: int) -> None:
        """Close those that are open but this one, with a word, unless others have pushed there."""
        own = await self._github.identity(await self._reading.client())
        for pull in await self._find_stacked(await self._reading.client(), state="open"):
            if pull["number"] != number:
                text = REPLACED.format(number=number)
                await self._stacked.close(own, pull, "stacked-replaced", text)

    @property
    def _stacked(self) -> StackedPulls:
        request = self._request
        place = CommentPlace(request.installation_id, request.repository, request.number)
        return StackedPulls(self._github, place, self._run_id, self._settle)

    async def _find_stacked(
        self, client: InstallationClient, *, state: Literal["open", "all"]
    ) -> Sequence[Mapping[str, Any]]:
        own = await self._github.identity(client)
        pull = await client.getitem(PULL, self._reading.url_variables(number=self._request.number))
        return await self._stacked.find(client, own, pull["head"]["ref"], state=state)

    async def _find_update_base(
        self, client: InstallationClient, own: BotIdentity, pull: Mapping[str, Any]
    ) -> str:
        """Return where the update wants to go that Fettle's pull request stands on; else nothing.

        https://docs.github.com/rest/pulls/pulls#list-pull-requests
        """
        base, repository = pull["base"]["ref"], self._request.repository
        usual = base == repository.default_branch or base.startswith(BRANCH_PREFIX)
        if usual or not own.is_author(pull):
            return ""
        asked = self._reading.url_variables(head=f"{repository.owner}:{base}", state="open")
        for below in await client.getitem(f"{PULLS}{{?head,state}}", asked):
            author = below["user"] or {"login": "", "type": ""}
            here = below["head"]["ref"] == base and not is_foreign(below, repository)
            if here and is_updater(author["login"], bot=author["type"] == "Bot"):
                return str(below["base"]["ref"])
        return ""

    async def _wait_for_mergeability(self, client: InstallationClient) -> Mapping[str, Any]:
        """Return the pull request once GitHub knows whether it can be merged, or time is up."""
        where = self._reading.url_variables(number=self._request.number)
        found: Mapping[str, Any] = await client.getitem(PULL, where)
        for _ in range(LOOKS - 1):
            if found["mergeable"] is not None or state_of(found) != "open":
                break
            await asyncio.sleep(self._settle)
            found = await client.getitem(PULL, where)
        return found

    async def _find_pusher(self, client: InstallationClient, head: Mapping[str, Any]) -> int | None:
        """Return who made the newest push that led to this head, by GitHub's record of pushes."""
        where = self._reading.url_variables(ref=f"refs/heads/{head['ref']}", per_page=100)
        try:
            moves = await client.getitem(ACTIVITY, where)
        except NotFound:  # an Enterprise Server that keeps no record
            return None
        actors = [move.get("actor") or {} for move in moves if move["after"] == head["sha"]]
        return actors[0].get("id") if actors else None

    async def _may_resolve(self) -> bool:
        """Tell whether the installation has what it takes; when in doubt, trying will tell."""
        try:
            found = await self._github.app.request(
                "GET",
                "/app/installations/{installation_id}",
                url_vars={"installation_id": str(self._request.installation_id)},
            )
        except RunError:
            return True
        needed = ("contents", "pull_requests")
        return all(found["permissions"].get(each) == "write" for each in needed)


def _first_come(heard: Iterable[tuple[datetime, Person]]) -> tuple[Person, ...]:
    """Return each of them once, in the order in which they spoke first."""
    found: dict[int, Person] = {}
    for _, person in sorted(heard, key=lambda each: each[0]):
        found.setdefault(person.id, person)
    return tuple(found.values())
