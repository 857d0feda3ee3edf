"""Open issues that carry a label, who labelled them, and their texts at that moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.github.access.edit_history import EditHistory
from app.github.graphql.documents import load_document
from app.github.transport import (
    COMMENTS,
    GitHub,
    InstallationClient,
    InstallationGone,
    NotFound,
    NotPermitted,
    Profile,
)
from app.github.transport.app_installations import AppInstallations
from handlers.payloads.common import Issue, RepositoryView

SEARCH = "/search/issues{?q,sort}"
PAGES = 10
"""Of 100 issues each: a search finds 1,000 at most."""

Json = Any


@dataclass(frozen=True)
class InstallationSince:
    """An installation, and since when it exists (unix seconds)."""

    id: int
    owner: str
    since: float


@dataclass(frozen=True)
class Candidate:
    """An open issue that carries the label, as a search shows it."""

    installation: InstallationSince
    owner: str
    repository: str
    item: Mapping[str, Json]

    @property
    def number(self) -> int:
        """Return the issue's number."""
        return int(self.item["number"])

    @property
    def full_name(self) -> str:
        """Return the issue's repository, as `owner/name`."""
        return f"{self.owner}/{self.repository}"

    @property
    def reference(self) -> str:
        """Return `owner/name#number`."""
        return f"{self.full_name}#{self.number}"

    @property
    def created_at(self) -> float:
        """Return when the issue was opened, in unix seconds."""
        return datetime.fromisoformat(self.item["created_at"]).timestamp()

    @property
    def version(self) -> tuple[str, str, int, str]:
        """Return a value that changes whenever the issue does."""
        return self.owner, self.repository, self.number, str(self.item["updated_at"])


@dataclass(frozen=True)
class LabelEvent:
    """Who set the label and when, with the payload that the delivery would have had."""

    event_id: str
    at: float
    """Unix seconds, by GitHub's clock."""
    repository_id: int
    payload: dict[str, Json]


class LabelledIssues:
    """Finds labelled issues; only the search's token sees a whole installation, and only issues."""

    def __init__(self, github: GitHub) -> None:
        self._github = github

    async def installations(self) -> AsyncIterator[InstallationSince]:
        """Yield the installations in which the App may work."""
        async for each in AppInstallations(self._github).list_installations():
            if each.suspended_at is None:
                yield InstallationSince(each.id, each.account, each.since)

    async def open_with(
        self, label: str, installation: InstallationSince, since: float
    ) -> list[Candidate]:
        """Return the installation's open issues with this label, updated since `since`.

        `since` is in unix seconds.
        https://docs.github.com/search-github/searching-on-github/searching-issues-and-pull-requests
        """
        day = datetime.fromtimestamp(since, UTC).date().isoformat()
        words = ("is:issue", "is:open", f'label:"{label}"', f"user:{installation.owner}")
        asked = {"q": " ".join([*words, f"updated:>={day}"]), "sort": "updated"}
        try:
            async with self._github.open_installation_client(
                installation.id, Profile.ISSUES
            ) as client:
                pages = client.getiter(SEARCH, asked, iterable_key="items", pages=PAGES)
                found = [item async for item in pages]
        except (InstallationGone, NotPermitted):
            return []
        return [_candidate(installation, item) for item in found]

    async def find_label_event(self, candidate: Candidate, label: str) -> LabelEvent | None:
        """Return who set the label; None where GitHub's events show no person.

        Labels set by bots do not count, as little as in a delivery. Issues outside of the
        installation, or with a later comment of Fettle's, do not count either.
        https://docs.github.com/graphql/reference/objects#labeledevent
        """
        try:
            repository = await self._repository(candidate)
            client = await self._github.installation(
                candidate.installation.id, repository["id"], Profile.READ
            )
            issue = await self._issue(client, candidate, repository["id"])
        except (NotFound, NotPermitted, InstallationGone):
            return None
        event = _event(issue, label) if issue else None
        if issue is None or event is None:
            return None
        at = datetime.fromisoformat(event["createdAt"]).timestamp()
        if await self._spoke_since(client, candidate, at):
            return None
        asker = event["actor"]
        shown = {
            "title": _title(issue, event["createdAt"]),
            "body": await _text(client, issue, event),
        }
        payload = {
            "action": "labeled",
            "issue": {**_select_fields(Issue, candidate.item), **shown},
            "label": {"name": label},
            "repository": _select_fields(RepositoryView, repository),
            "sender": {"id": asker["databaseId"], "login": asker["login"], "type": "User"},
            "installation": {"id": candidate.installation.id},
        }
        return LabelEvent(event["id"], at, repository["id"], payload)

    async def _repository(self, candidate: Candidate) -> dict[str, Json]:
        where = {"owner": candidate.owner, "repo": candidate.repository}
        async with self._github.open_search_client(
            candidate.installation.id, candidate.repository
        ) as client:
            found: dict[str, Json] = await client.getitem("/repos/{owner}/{repo}", where)
        return found

    async def _issue(
        self, client: InstallationClient, candidate: Candidate, repository_id: int
    ) -> Mapping[str, Json] | None:
        where = {"owner": candidate.owner, "name": candidate.repository}
        variables = {**where, "number": candidate.number}
        found = (await client.graphql(load_document("labelled"), variables))["repository"]
        issue = found and found["issueOrPullRequest"]
        if not issue or found["databaseId"] != repository_id or issue["__typename"] != "Issue":
            return None
        names = {each["name"] for each in issue["labels"]["nodes"]}
        return {**issue, "names": names} if issue["state"] == "OPEN" else None

    async def _spoke_since(
        self, client: InstallationClient, candidate: Candidate, at: float
    ) -> bool:
        """Tell whether a run has answered that label: its first word is a comment."""
        own = await self._github.identity(client)
        moment = datetime.fromtimestamp(at, UTC)
        where = {"owner": candidate.owner, "repo": candidate.repository}
        since = {"number": str(candidate.number), "since": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}
        async for comment in client.getiter(f"{COMMENTS}{{?since}}", {**where, **since}):
            if datetime.fromisoformat(comment["created_at"]) >= moment and own.is_author(comment):
                return True
        return False


def _candidate(installation: InstallationSince, item: Mapping[str, Json]) -> Candidate:
    owner, _, name = str(item["repository_url"]).rpartition("/repos/")[2].partition("/")
    return Candidate(installation, owner, name, item)


def _event(issue: Mapping[str, Json], label: str) -> Mapping[str, Json] | None:
    """Return the event by which a person put it on the last time, if it still is."""
    every = [each for each in issue["labelled"]["nodes"] if each["label"]["name"] == label]
    if label not in issue["names"] or not every:
        return None
    actor = every[-1]["actor"] or {}
    is_person = actor.get("__typename") == "User" and actor.get("databaseId") is not None
    return every[-1] if is_person else None


def _title(issue: Mapping[str, Json], moment: str) -> str:
    labelled = datetime.fromisoformat(moment)
    later = (
        each["previousTitle"]
        for each in issue["renamed"]["nodes"]
        if datetime.fromisoformat(each["createdAt"]) > labelled
    )
    return str(next(later, issue["title"]))


async def _text(
    client: InstallationClient, issue: Mapping[str, Json], event: Mapping[str, Json]
) -> str:
    """Return the text that the asker saw; of later edits only the asker's own count."""
    asked = EditHistory(client, datetime.fromisoformat(event["createdAt"]).timestamp())
    return await asked.text({**issue, "author": event["actor"]})


def _select_fields(
    shape: type[Issue | RepositoryView], thing: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the parts that handlers read."""
    return {name: thing[name] for name in shape.model_fields if name in thing}
