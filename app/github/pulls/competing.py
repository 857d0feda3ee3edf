"""Open pull requests about the same package: those of other bots, and Fettle's earlier ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol

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
MOST_BESIDE = 100
"""Fettle's own about other packages of the folder, which are looked at as well."""
WEB = 19_864_447
"""The account of GitHub's pages, which commits in the name of others."""

PullData = Mapping[str, Any]


class EarlierRun(NamedTuple):
    """A run of Fettle's that is on record."""

    lane: str
    alerts: tuple[int, ...] = ()
    """The open ones that its pull request is for."""


class EarlierRuns(Protocol):
    """The record of Fettle's earlier runs about alerts."""

    async def find(self, run_id: str) -> EarlierRun | None:
        """Return the run under its present lane; None: its record is gone."""
        ...

    async def list_declined(self, repository_id: int) -> Collection[int]:
        """Return the alerts for which people have declined a fix."""
        ...

    async def replace(self, repository_id: int, number: int) -> None:
        """Note that another pull request takes the place of this one."""
        ...


class CompetingPullRequests:
    """Finds pull requests by their author first, since anybody can choose a branch's name."""

    def __init__(
        self,
        reading: RunReader,
        request: RemediateAlert,
        earlier: EarlierRuns,
    ) -> None:
        self._reading = reading
        self._request = request
        self._earlier = earlier

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
                if (other := await self._read_one(client, pull, own, sought)) is not None:
                    found.append(other)
                about = sum(each.of_package for each in found)
                if about == MOST or len(found) - about == MOST_BESIDE:
                    break
        except TooManyPages:  # what is older than a thousand others nobody is at any more
            pass
        return tuple(found)

    async def _read_one(
        self, client: InstallationClient, pull: PullData, own: BotIdentity, sought: SoughtPackage
    ) -> OtherPull | None:
        """Return the pull request if it may be about the package; None: it is not."""
        if is_foreign(pull, self._request.repository):
            return None
        if own.is_author(pull):
            run, same = await self._find_run(pull, sought)
            if run is None and not same:
                return None
            return await self._to_other_pull(
                client, pull, own=True, of_package=same, alerts=run.alerts if run else ()
            )
        author = pull["user"] or {}
        words = f"{pull['title']}\n{(pull['body'] or '')[:READ]}"
        branch, base = pull["head"]["ref"], pull["base"]["ref"]
        if author.get("type") != "Bot" or not is_moving(
            author["login"], branch, base, words, sought
        ):
            return None
        return await self._to_other_pull(client, pull)

    async def _find_run(
        self, pull: PullData, sought: SoughtPackage
    ) -> tuple[EarlierRun | None, bool]:
        """Return the run that opened it, if it is of the folder, and whether of the same package.

        Where its record is gone, its branch tells.
        """
        marked = MARKER.findall(pull["body"] or "")
        about = self._request.model_copy(
            update={
                "ecosystem": sought.ecosystem,
                "package": sought.package,
                "directory": sought.directory,
            }
        )
        if marked and (run := await self._earlier.find(marked[-1])) is not None:
            of_folder = run.lane.rpartition("!")[0] == about.lane.rpartition("!")[0]
            return (run if of_folder else None), run.lane == about.lane
        words = re.escape("-".join(part for part in branch_words(about) if part))
        own_name = rf"{BRANCH_PREFIX}(?:.+/)?{words}-[0-9a-f]{{6}}"
        return None, re.fullmatch(own_name, pull["head"]["ref"]) is not None

    async def _to_other_pull(
        self, client: InstallationClient, pull: PullData, **more: Any
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
            draft=bool(pull.get("draft")),
            pushed_by=await self._pushed_by(client, pull),
            **more,
        )

    async def _pushed_by(self, client: InstallationClient, pull: PullData) -> tuple[str, ...]:
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
