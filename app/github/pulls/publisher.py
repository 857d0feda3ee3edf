"""Step 9: publish a run's result: push its branch, open its pull request, answer on its issue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import structlog

from agents.errors import Moved, TransientError
from agents.policy import PullRequests
from agents.ports import PullRequest
from agents.requests import OnPull, RemediateAlert, Request
from agents.text import code_span
from app.git import BRANCH_PREFIX, GitRefused, Mirror, branch_ref, pull_ref
from app.github.pulls.attention import NOT_ASKED, Attention
from app.github.pulls.head_branch import PULL, choose_push_profile, require_pushable
from app.github.pulls.human_edits import make_ready, read_touched
from app.github.pulls.operator_branch import IntendedPush, is_named, require_free
from app.github.pulls.stack import PullStack
from app.github.pulls.text import KEY, LOWER_KEY, PullRequestBody
from app.github.transport import (
    SETTLE,
    GitHub,
    InstallationClient,
    InstallationGone,
    MarkedComments,
    NotFound,
    NotPermitted,
    OutgoingText,
    Profile,
    Scope,
    Unprocessable,
    made_once,
    make_marker,
)
from app.secrets.redaction import Redactor

log = structlog.get_logger()

EDITED_KEY, NOT_ASKED_KEY = "pull-request-text", "not-asked"
PULLS = "/repos/{owner}/{repo}/pulls"
PAUSES = (1, 2, 4, 8, 16)
"""From one attempt to the next, in times of `settle`: a minute in all."""
PASSING = (NotFound, NotPermitted, InstallationGone, GitRefused)
DELETED = "The branch {branch} was deleted while Fettle was at work. Nothing was pushed."

P = ParamSpec("P")
T = TypeVar("T")
Publish: TypeAlias = "Callable[Concatenate[GitHubPublisher, P], Coroutine[Any, Any, T]]"
RecordPush = Callable[[str, str], Awaitable[None]]
"""Notes durably that a branch is about to be pushed, with the commit that it will have."""
Opened = Callable[[int], Awaitable[None]]
"""Is told the number of the run's pull request as soon as it is known; maybe more than once."""


def _outlast(work: Publish[P, T]) -> Publish[P, T]:
    """Have it done in spite of refusals that may pass: all that led here was paid for."""

    @wraps(work)
    async def insist(self: GitHubPublisher, /, *given: P.args, **named: P.kwargs) -> T:
        for pause in PAUSES:
            try:
                return await work(self, *given, **named)
            except PASSING as error:
                log.warning("not published yet", reason=str(error))
                await asyncio.sleep(pause * self.settle)
        return await work(self, *given, **named)

    return insist


class GitHubPublisher:
    """The port `Publisher` for one run. Every call looks before it writes."""

    def __init__(
        self,
        github: GitHub,
        mirror: Mirror,
        request: Request,
        run_id: str,
        redactor: Redactor,
        *,
        settle: float = SETTLE,
        caution: str = "",
        opened: Opened | None = None,
        record: RecordPush | None = None,
    ) -> None:
        self._opened = opened
        self._record = record
        self._caution = caution
        self._github = github
        self._mirror = mirror
        self._request = request
        self._run_id = run_id
        self._wording = OutgoingText(github.urls, request, redactor)
        self.settle = settle
        self._comments = MarkedComments(github, request, run_id, settle=settle)
        self._where = {"owner": request.repository.owner, "repo": request.repository.name}

    @_outlast
    async def push(self, branch: str, commit: str, *, replacing: str = "") -> str:
        """Push the commit to the branch, and return the branch's page.

        The branch is Fettle's own, or that of the open pull request which the run is about, or one
        that the operator named. Raises Moved when somebody else has pushed; their commit stays.
        Only from `replacing` it may be moved to a commit that does not go on from there.
        """
        request, urls = self._request, self._github.urls
        if is_named(request, branch):
            return await self._push_to_named(branch, commit)
        of_pull = branch if await self._is_of_pull(branch) else None
        expected = await self._find_expected_head(branch, commit, of_pull, replacing)
        await self._push(branch, commit, expected, of_pull)
        return urls.branch(request.repository.full_name, branch)

    async def _push_to_named(self, branch: str, commit: str) -> str:
        """Push to a branch that the operator named, if it is nobody else's."""
        request, urls = self._request, self._github.urls
        assert isinstance(request, RemediateAlert), "no other request names one"
        client = await self._github.installation(
            request.installation_id, request.repository.id, Profile.READ
        )
        standing = await self._head_of(branch)
        meant = IntendedPush(request, self._run_id, commit, standing)
        await require_free(client, self._mirror, meant)
        await self._push(branch, commit, standing, branch)
        return urls.branch(request.repository.full_name, branch)

    async def _push(
        self, branch: str, commit: str, expected: str | None, vouched: str | None
    ) -> None:
        request = self._request
        place = (request.installation_id, request.repository.id)
        scope = Scope.for_one(*place, choose_push_profile(request))
        async with self._github.broker.lease(scope) as token:
            name = await self._github.installed.full_name(request.repository)
            url = self._github.urls.clone(name)  # git follows no redirect from an older one
            await self._github.require_writable()
            if self._record is not None:
                await self._record(branch, commit)
            await self._mirror.push(url, token.value, commit, branch, expected, of_pull=vouched)

    @_outlast
    async def open_pull_request(
        self,
        *,
        branch: str,
        commit: str,
        title: str,
        body: str,
        draft: bool,
        closes: Sequence[int] = (),
        evidence: str = "",
        terms: PullRequests | None = None,
        onto: str = "",
        lower: bool = False,
    ) -> PullRequest:
        """Open the pull request of this branch, or update the open one.

        `evidence`: how it was checked, folded below the text.
        `closes`: the only issues of this repository that the merge closes.
        `terms`: before whom it is brought once it is opened, and once it is no draft any more.
        `onto`: the branch that it stands on, if not the request's; `lower`: others stand on it.
        https://docs.github.com/rest/pulls/pulls#create-a-pull-request
        """
        request = self._request
        key = LOWER_KEY if lower else KEY
        text = PullRequestBody(self._wording, title, body, closes, evidence, key=key)
        wanted = {"title": text.title, "body": await text.write_whole(self._caution, self._run_id)}
        base = onto or getattr(request, "base_branch", "") or request.repository.default_branch
        async with self._github.lease_client(
            request.installation_id, request.repository.id, Profile.PULLS
        ) as client:
            found = await made_once(
                lambda: self._find(client, branch),
                lambda: self._open(
                    client, {**wanted, "head": branch, "base": base, "draft": draft}
                ),
                settle=self.settle,
            )
            if self._opened is not None and not lower:
                await self._opened(found["number"])
            before = found
            found = await self._move_onto(client, found, base)
            ready = not found["draft"] or draft
            if not ready or any(found[name] != said for name, said in wanted.items()):
                found = await self._up_to_date(client, found, wanted, text, draft=draft)
            if terms is not None:
                fresh = make_marker(self._run_id, key) in (before["body"] or "")
                await self._bring_before(client, before, terms, draft=found["draft"], fresh=fresh)
        return PullRequest(
            number=found["number"],
            url=found["html_url"],
            branch=branch,
            head=commit,
            base=found["base"]["ref"],
            title=found["title"],
            body=found["body"],
            draft=found["draft"],
        )

    async def _bring_before(
        self,
        client: InstallationClient,
        pull: dict[str, Any],
        terms: PullRequests,
        *,
        draft: bool,
        fresh: bool,
    ) -> None:
        """Bring it before people if it is fresh, or ended the draft that `pull` was."""
        attention = Attention(client, self._where, terms)
        ready = not draft and (fresh or pull["draft"])
        if refused := await attention.ask(pull, fresh=fresh, ready=ready):
            lines = "\n".join(f"- {line}" for line in refused)
            text = await self._wording.publish(NOT_ASKED.format(lines=lines))
            await self._comment_on(pull["number"], NOT_ASKED_KEY, text)

    async def comment(self, key: str, body: str) -> str:
        """Post a comment on the request's issue, once for each key; return its URL."""
        return (await self._comments.say(key, await self._wording.publish(body))).url

    async def _head_of(self, branch: str) -> str | None:
        request = self._request
        client = await self._github.installation(
            request.installation_id, request.repository.id, Profile.READ
        )
        where = {**self._where, "parts": branch.split("/")}  # `#` in a name would end the path
        try:
            found = await client.getitem("/repos/{owner}/{repo}/git/ref/heads{/parts*}", where)
        except NotFound:
            return None
        sha: str = found["object"]["sha"]
        return sha

    async def _is_of_pull(self, branch: str) -> bool:
        """Tell whether it is the branch of the run's pull request, by what GitHub says now.

        Raises RunError when it must not be pushed, or is neither that nor one of Fettle's own.
        """
        request = self._request
        if not isinstance(request, OnPull):
            return False
        client = await self._github.installation(
            request.installation_id, request.repository.id, Profile.READ
        )
        pull = await client.getitem(PULL, {**self._where, "number": str(request.number)})
        if branch != pull["head"]["ref"] and branch.startswith(BRANCH_PREFIX):
            return False  # like one for work that could not be put where it belongs
        require_pushable(pull, request.repository, branch)
        return True

    async def _find_expected_head(
        self, branch: str, commit: str, of_pull: str | None, replacing: str
    ) -> str | None:
        """Return where the branch has to be for the push: at ours, or where the run found it.

        What others have put there is not in this commit's history; what they have taken away is in
        it, and would come back.
        """
        standing = await self._head_of(branch)
        if standing is None and of_pull is not None:
            raise Moved(DELETED.format(branch=code_span(branch)))
        if standing is None or standing == replacing:
            return standing
        seen = await self._find_seen_head(branch, of_pull)
        for place in (standing, seen):
            going_on = seen is None or (place and await self._mirror.continues(place, seen))
            if place and going_on and await self._mirror.continues(commit, place):
                return place
        return None

    async def _find_seen_head(self, branch: str, of_pull: str | None) -> str | None:
        """Return where the run saw the branch when it looked."""
        seen = await self._mirror.resolve(branch_ref(self._run_id, branch))
        if seen is None and of_pull is not None:
            return await self._mirror.resolve(pull_ref(self._run_id, self._request.number))
        return seen

    async def _find(self, client: InstallationClient, branch: str) -> dict[str, Any] | None:
        name = await self._github.installed.full_name(self._request.repository)
        owner = name.partition("/")[0]
        found = await client.getitem(
            PULLS + "{?head,state}",
            {**self._where, "head": f"{owner}:{branch}", "state": "open"},
            named=True,
        )
        # A server that does not know the filter would list every pull request.
        return next((pull for pull in found if pull["head"]["ref"] == branch), None)

    async def _open(self, client: InstallationClient, wanted: dict[str, Any]) -> dict[str, Any]:
        try:
            opened: dict[str, Any] = await client.post(PULLS, self._where, data=wanted)
        except Unprocessable as error:
            if wanted["draft"] and "draft" in str(error).lower():  # not in every plan
                return await self._open(client, {**wanted, "draft": False})
            if (base := await self._find_renamed(client, wanted["base"])) is not None:
                return await self._open(client, {**wanted, "base": base})
            raise
        if "number" not in opened:  # it may be open all the same, and is looked for then
            raise TransientError("GitHub's answer to a new pull request cannot be read.")
        return opened

    async def _find_renamed(self, client: InstallationClient, base: str) -> str | None:
        """Return the default branch's present name, where it was called `base` when work began."""
        if base != self._request.repository.default_branch:
            return None
        found = await client.getitem("/repos/{owner}/{repo}", self._where)
        name: str = found["default_branch"]
        return name if name != base else None

    async def _move_onto(
        self, client: InstallationClient, found: dict[str, Any], base: str
    ) -> dict[str, Any]:
        """Have it stand on another branch, where it stood on one of Fettle's own."""
        standing = found["base"]["ref"]
        if standing == base or not standing.startswith(BRANCH_PREFIX):
            return found
        own = await self._github.identity(client)
        if not own.is_author(found):
            return found
        where = {**self._where, "number": str(found["number"])}
        moved: dict[str, Any] = await client.patch(PULL, where, data={"base": base})
        return moved

    async def stack(self, pulls: Sequence[PullRequest]) -> bool:
        """Have GitHub lead them as one stack, and close what earlier runs had in their place."""
        request = self._request
        async with self._github.lease_client(
            request.installation_id, request.repository.id, Profile.PULLS
        ) as client:
            stack = PullStack(
                self._github, client, request, self._run_id, self._wording, self.settle
            )
            if request.again is not None:
                await stack.retire([each.branch for each in pulls], pulls[-1].number or 0)
            return await stack.lead(pulls)

    async def _up_to_date(
        self,
        client: InstallationClient,
        found: dict[str, Any],
        wanted: dict[str, str],
        text: PullRequestBody,
        *,
        draft: bool,
    ) -> dict[str, Any]:
        """Change what is still as Fettle left it; what people changed since is theirs.

        So is what they opened from our branch. A draft is ended, never begun.
        """
        own = await self._github.identity(client)
        if not own.is_author(found):
            return found
        touched = await read_touched(client, self._request.repository, found["number"], own)
        changes = {
            name: said
            for name, said in wanted.items()
            if found[name] != said and name not in touched.by_others
        }
        if changes:
            where = {**self._where, "number": str(found["number"])}
            found = await client.patch(PULLS + "/{number}", where, data=changes)
        if "body" in touched.by_others:
            await self._say_beside(found["number"], text)
        if touched.draft and not draft and "draft" not in touched.by_others:
            found = {**found, "draft": not await make_ready(client, touched)}
        return found

    async def _say_beside(self, number: int, text: PullRequestBody) -> None:
        """Say in a comment what the description would have said."""
        await self._comment_on(number, EDITED_KEY, await text.write_beside())

    async def _comment_on(self, number: int, key: str, text: str) -> None:
        """Say this once on a pull request that is not the request's own."""
        there = self._request.model_copy(update={"number": number})
        comments = MarkedComments(self._github, there, self._run_id, settle=self.settle)
        await comments.say(key, text)
