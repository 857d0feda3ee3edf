"""Open pull requests about the same package: those of other bots, and Fettle's earlier ones."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agents.ports import OtherPull
from agents.remediation import branch_words
from agents.requests import RemediateAlert
from app.git import BRANCH_PREFIX
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.pulls.bot_branches import READ, SoughtPackage, is_moving
from app.github.pulls.earlier_pull_request import ACTIVITY, MARKER, NOBODY_KNOWS
from app.github.pulls.head_branch import is_foreign
from app.github.transport import BotIdentity, InstallationClient, NotFound, TooManyPages

PULLS = f"{REPOSITORY}/pulls{{?state,sort,direction}}"
COMMITS = f"{REPOSITORY}/pulls/{{number}}/commits"
PAGES = 10
"""Pages of a hundred open pull requests each, newest first."""
MOST = 10
"""Pull requests about one package whose pushes are looked at."""
WEB = 19_864_447
"""The account of GitHub's pages, which commits in the name of others."""

Pull = Mapping[str, Any]


class CompetingPullRequests:
    """Finds pull requests by their author first, since anybody can choose a branch's name."""

    def __init__(
        self,
        reading: RunReader,
        request: RemediateAlert,
        lane_of: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self._reading = reading
        self._request = request
        self._lane_of = lane_of

    async def read(self, ecosystem: str, package: str, directory: str) -> tuple[OtherPull, ...]:
        """Return the pull requests for this package in this folder, newest first, without forks.

        https://docs.github.com/rest/pulls/pulls#list-pull-requests
        """
        client, sought = await self._reading.client(), SoughtPackage(ecosystem, package, directory)
        own = await self._reading.github.identity(client)
        where = self._reading.url_variables(state="open", sort="created", direction="desc")
        found: list[OtherPull] = []
        try:
            async for pull in client.getiter(PULLS, where, pages=PAGES):
                if await self._is_about(pull, own, sought):
                    found.append(await self._to_other_pull(client, pull, own))
                if len(found) == MOST:
                    break
        except TooManyPages:  # what is older than a thousand others nobody is at any more
            pass
        return tuple(found)

    async def _is_about(self, pull: Pull, own: BotIdentity, sought: SoughtPackage) -> bool:
        if is_foreign(pull, self._request.repository):
            return False
        if own.is_author(pull):
            return await self._is_ours(pull, sought)
        author = pull["user"] or {}
        if author.get("type") != "Bot":
            return False
        words = f"{pull['title']}\n{(pull['body'] or '')[:READ]}"
        branch, base = pull["head"]["ref"], pull["base"]["ref"]
        return is_moving(author["login"], branch, base, words, sought)

    async def _is_ours(self, pull: Pull, sought: SoughtPackage) -> bool:
        """Tell whether a run about the same package made it: it knows, or else its branch."""
        marked = MARKER.findall(pull["body"] or "")
        about = self._request.model_copy(
            update={
                "ecosystem": sought.ecosystem,
                "package": sought.package,
                "directory": sought.directory,
            }
        )
        if marked and (lane := await self._lane_of(marked[-1])) is not None:
            return lane == about.lane
        words = re.escape("-".join(part for part in branch_words(about) if part))
        own_name = rf"{BRANCH_PREFIX}(?:.+/)?{words}-[0-9a-f]{{6}}"
        return re.fullmatch(own_name, pull["head"]["ref"]) is not None

    async def _to_other_pull(
        self, client: InstallationClient, pull: Pull, own: BotIdentity
    ) -> OtherPull:
        author = pull["user"] or {}
        return OtherPull(
            number=pull["number"],
            url=pull["html_url"],
            title=pull["title"],
            branch=pull["head"]["ref"],
            head=pull["head"]["sha"],
            base=pull["base"]["ref"],
            author=author.get("login", ""),
            own=own.is_author(pull),
            pushed_by=await self._pushed_by(client, pull),
        )

    async def _pushed_by(self, client: InstallationClient, pull: Pull) -> tuple[str, ...]:
        """Return who besides its author has pushed there, by GitHub's record of pushes.

        Where it keeps none, as on older servers, by its commits, of which anybody can say anything:
        a name too many only leaves the pull request to people.
        """
        author, ref = (pull["user"] or {}).get("id"), f"refs/heads/{pull['head']['ref']}"
        try:
            found = await client.getitem(
                ACTIVITY, self._reading.url_variables(ref=ref, per_page=100)
            )
            actors = [move.get("actor") or {} for move in found]
        except NotFound:
            found = await client.getitem(
                f"{COMMITS}{{?per_page}}",
                self._reading.url_variables(number=pull["number"], per_page=100),
            )
            every = [commit.get(role) or {} for commit in found for role in ("author", "committer")]
            actors = [each for each in every if each.get("id") != WEB]
        others = (each.get("login", NOBODY_KNOWS) for each in actors if each.get("id") != author)
        return tuple(dict.fromkeys(others))
