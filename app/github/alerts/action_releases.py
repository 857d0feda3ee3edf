"""The port `ActionReleases`: tags and releases of the repositories whose actions workflows use.

What is public every installation token may read; of what is not, nothing is asked.
https://docs.github.com/rest/authentication/permissions-required-for-github-apps
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from agents.errors import RunError, TransientError
from agents.ports import ActionRepository
from agents.requests import Request
from app.github.access.run_reader import REPOSITORY
from app.github.transport import (
    GitHub,
    InstallationClient,
    InstallationGone,
    NotFound,
    NotPermitted,
    Profile,
    TooManyPages,
    Unprocessable,
)
from handlers.access.permissions import list_lacking

TAGS = f"{REPOSITORY}/tags"
REF = f"{REPOSITORY}/git/ref/{{+ref}}"
ANNOTATED = f"{REPOSITORY}/git/tags/{{sha}}"
COMPARED = f"{REPOSITORY}/compare/{{base}}...{{head}}{{?per_page,page}}"
RELEASE = f"{REPOSITORY}/releases/tags/{{+tag}}"
PAGES = 20
"""Pages of a hundred tags each."""
NOTES_LIMIT = 20_000
"""Characters of one release's words."""
DEEPEST = 5  # tags of tags
WRITES_WORKFLOWS = {"workflows": "write"}

_TOO_MANY = "`{name}` has more tags than Fettle reads ({most:,}). Move its refs by hand."


class _ReleaseView(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class _Target(_ReleaseView):
    sha: str
    url: str = ""
    type: str = "commit"


class _Tag(_ReleaseView):
    name: str
    commit: _Target


class _Ref(_ReleaseView):
    ref: str = ""
    object: _Target


class _Release(_ReleaseView):
    published_at: AwareDatetime | None = None
    body: str | None = None


class GitHubActionReleases:
    """Reads with the token profile `contents` of the run's own repository."""

    def __init__(self, github: GitHub, request: Request) -> None:
        self._github = github
        self._request = request

    async def find(self, repository: str) -> ActionRepository | None:
        """Return the repository with its tags, by its present name; None where none is seen."""
        client, tags, name = await self._client(), {}, repository
        try:
            async for each in client.getiter(TAGS, _place(repository), pages=PAGES):
                tag = _Tag.model_validate(each)
                tags[tag.name] = tag.commit.sha
                name = _name_in(tag.commit.url)  # of where a former name leads to
        except TooManyPages as error:
            raise RunError(_TOO_MANY.format(name=repository, most=PAGES * 100)) from error
        except InstallationGone:
            raise
        except (NotFound, NotPermitted, ValidationError):
            return None
        return ActionRepository(name=name, tags=tags)

    async def find_commit(self, repository: str, tag: str) -> str:
        """Return the commit of a tag; empty where it has none, or a branch is called the same."""
        if await self._get(REF, repository, ref=f"heads/{tag}") is not None:
            return ""
        found = await self._get(REF, repository, ref=f"tags/{tag}")
        for _ in range(DEEPEST):
            try:
                there = _Ref.model_validate(found).object
            except ValidationError:
                return ""
            if there.type != "tag":
                return there.sha if there.type == "commit" else ""
            found = await self._get(ANNOTATED, repository, sha=there.sha)
        return ""

    async def holds(self, repository: str, commit: str, ref: str) -> bool:
        """Return whether a ref is this commit, or goes on from there.

        GitHub lists changed files on the first page alone, and the second one says as much:
        https://docs.github.com/rest/commits/commits#compare-two-commits
        """
        page = {"per_page": "1", "page": "2"}
        found = await self._get(COMPARED, repository, base=commit, head=ref, **page)
        return isinstance(found, dict) and found.get("status") in ("ahead", "identical")

    async def find_day(self, repository: str, tag: str) -> date | None:
        """Return the day on which the tag's release was published; None: nobody says."""
        found = await self._get(RELEASE, repository, tag=tag)
        try:
            at = _Release.model_validate(found).published_at
        except ValidationError:
            return None
        return at.date() if at is not None else None

    async def read_notes(self, repository: str, tags: Sequence[str]) -> Mapping[str, str]:
        """Return what the releases of these tags say, by tag, as far as GitHub lets them be read.

        The first refusal or limit is the last question: what comes after would meet it as well.
        https://docs.github.com/rest/releases/releases#get-a-release-by-tag-name
        """
        notes = {}
        for tag in tags:
            try:
                found = await self._get(RELEASE, repository, tag=tag)
                said = _Release.model_validate(found).body if found is not None else None
            except (RunError, TransientError):
                break
            except ValidationError:
                continue
            if said and said.strip():
                notes[tag] = said[:NOTES_LIMIT]
        return notes

    async def may_change_workflows(self) -> bool:
        """Return whether the owners have granted it; where nobody knows, GitHub will say."""
        request = self._request
        permit = await self._github.installed.permit(
            request.installation_id, (request.repository.id,)
        )
        held = permit.permissions
        return held is None or not list_lacking(held, WRITES_WORKFLOWS)

    async def _get(self, url: str, repository: str, **variables: str) -> Any:
        """Return an object; None where there is none."""
        client = await self._client()
        try:
            return await client.getitem(url, {**_place(repository), **variables})
        except (NotFound, Unprocessable):
            return None

    async def _client(self) -> InstallationClient:
        request = self._request
        return await self._github.installation(
            request.installation_id, request.repository.id, Profile.CONTENTS
        )


def _place(repository: str) -> dict[str, str]:
    owner, _, name = repository.partition("/")
    return {"owner": owner, "repo": name}


def _name_in(url: str) -> str:
    """Return the repository in the address of one of its commits: `.../repos/owner/name/...`."""
    return "/".join(urlsplit(url).path.partition("/repos/")[2].split("/")[:2])
