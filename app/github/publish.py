"""Step 9: let a run's result out: push its branch, open its pull request, answer on its issue."""

from __future__ import annotations

from typing import Any

from agents.ports import PullRequest
from agents.requests import Request
from app.git.faults import GitFailed
from app.git.mirror import Mirror
from app.github.auth import Profile, Scope
from app.github.client import GitHub
from app.github.faults import Invalid, Missing
from app.github.installation import InstallationClient
from app.github.marked import SETTLE, MarkedComments, made_once, marker
from app.github.wording import Wording
from app.redaction import Redactor

KEY = "pull-request"
PULLS = "/repos/{owner}/{repo}/pulls"
LONGEST_TITLE = 200


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
    ) -> None:
        self._caution = f"\n\n{caution}" if caution else ""
        self._github = github
        self._mirror = mirror
        self._request = request
        self._run_id = run_id
        self._wording = Wording(github.urls, request, redactor)
        self._settle = settle
        self._comments = MarkedComments(github, request, run_id, settle=settle)
        self._where = {"owner": request.repository.owner, "repo": request.repository.name}

    async def push(self, branch: str, commit: str) -> None:
        """Put the commit on the run's branch; RunError when someone else moved it."""
        request = self._request
        standing = await self._head_of(branch)
        expected = standing if standing and await self._continues(commit, standing) else None
        url = self._github.urls.clone(request.repository.full_name)
        scope = Scope.of(request.installation_id, request.repository.id, Profile.PUSH)
        async with self._github.broker.lease(scope) as token:
            await self._mirror.push(url, token.value, commit, branch, expected)

    async def open_pull_request(
        self, *, branch: str, commit: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Open the pull request of this branch, or bring the open one up to date."""
        request = self._request
        wanted = {
            "title": self._wording.title(title, LONGEST_TITLE),
            "body": f"{self._wording.text(body, closes=True)}{self._caution}"
            f"\n\n{marker(self._run_id, KEY)}",
        }
        async with self._github.leased(
            request.installation_id, request.repository.id, Profile.PUSH
        ) as client:
            found = await made_once(
                lambda: self._find(client, branch),
                lambda: self._open(client, {**wanted, "head": branch, "draft": draft}),
                settle=self._settle,
            )
            found = await self._up_to_date(client, found, wanted)
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

    async def comment(self, key: str, body: str) -> str:
        """Say this on the request's issue once, whatever happens; return its URL."""
        return (await self._comments.say(key, self._wording.text(body))).url

    async def _head_of(self, branch: str) -> str | None:
        request = self._request
        client = await self._github.installation(
            request.installation_id, request.repository.id, Profile.READ
        )
        where = {**self._where, "branch": branch}
        try:
            found = await client.getitem("/repos/{owner}/{repo}/git/ref/heads/{+branch}", where)
        except Missing:
            return None
        sha: str = found["object"]["sha"]
        return sha

    async def _continues(self, commit: str, standing: str) -> bool:
        """Tell whether what stands there is ours: the commit, or one that it is built on."""
        if not await self._mirror.holds(standing):
            return False
        try:
            await self._mirror.git.local("merge-base", "--is-ancestor", standing, commit)
        except GitFailed as error:
            if error.code != 1:
                raise
            return False
        return True

    async def _find(self, client: InstallationClient, branch: str) -> dict[str, Any] | None:
        owner = self._request.repository.owner
        found = await client.getitem(
            PULLS + "{?head,state}", {**self._where, "head": f"{owner}:{branch}", "state": "open"}
        )
        # A server that does not know the filter would list every pull request.
        return next((pull for pull in found if pull["head"]["ref"] == branch), None)

    async def _open(self, client: InstallationClient, wanted: dict[str, Any]) -> dict[str, Any]:
        data = {**wanted, "base": self._request.repository.default_branch}
        try:
            opened: dict[str, Any] = await client.post(PULLS, self._where, data=data)
        except Invalid as error:
            if wanted["draft"] and "draft" in str(error).lower():  # not in every plan
                return await self._open(client, {**wanted, "draft": False})
            raise
        return opened

    async def _up_to_date(
        self, client: InstallationClient, found: dict[str, Any], wanted: dict[str, str]
    ) -> dict[str, Any]:
        own = await self._github.identity(client)
        # What a person opened from our branch is theirs; whether it is a draft is theirs anyway.
        if not own.wrote(found) or all(found[name] == text for name, text in wanted.items()):
            return found
        where = {**self._where, "number": str(found["number"])}
        changed: dict[str, Any] = await client.patch(PULLS + "/{number}", where, data=wanted)
        return changed
