"""Read `.github/fettle.yml` from GitHub, and keep missing, invalid and valid files apart.

The repository's default branch comes first, then the owner's repository `.github`, then defaults.
A pull request's branch is never read: its author proposes rules, which hold only after the merge.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from agents.errors import TransientError
from agents.policy import (
    POLICY_PATH,
    FolderEntry,
    Found,
    InvalidPolicy,
    MissingPolicy,
    PolicyFault,
    PolicyOrigin,
    ValidPolicy,
    found_in,
    listed_policy,
)
from app.github.transport import GitHub, InstallationClient, NotPermitted, Profile
from app.github.transport import NotFound as NotThere

CONTENTS = "/repos/{owner}/{repo}/contents/{+path}{?ref}"
REPOSITORY = "/repos/{owner}/{repo}"
FOLDER = POLICY_PATH.partition("/")[0]
OWNERS = ".github"
"""The repository in which an owner keeps what holds for all of theirs."""
MOST_ENTRIES = 1000
"""So many GitHub lists of a folder."""


class RepositoryLocation(Protocol):
    """What is needed to find a repository."""

    @property
    def id(self) -> int:
        """Return GitHub's id of the repository."""
        ...

    @property
    def owner(self) -> str:
        """Return the owner's login."""
        ...

    @property
    def name(self) -> str:
        """Return the repository's name, without its owner."""
        ...

    @property
    def private(self) -> bool:
        """Return whether the repository is not public."""
        ...


@dataclass(frozen=True)
class PolicyFile:
    """The policy file of one repository; `ref` is a commit, by default the newest.

    https://docs.github.com/rest/repos/contents#get-repository-content
    """

    client: InstallationClient
    owner: str
    name: str

    async def find(self, ref: str = "", *, named: bool = False) -> FolderEntry | PolicyFault | None:
        """Return the file's entry, or its fault; None where there is no file.

        A `.github` that is no folder holds no policy. `named`: a delivery named the commit, so a
        404 may pass in a few seconds.
        """
        try:
            found = await self.client.getitem(
                CONTENTS, self._url_variables(FOLDER, ref), named=named
            )
        except NotThere:
            await self._require_missing(ref)
            return None
        if not isinstance(found, list):
            return None
        if len(found) >= MOST_ENTRIES:
            return PolicyFault(
                1, 1, f"`{FOLDER}` has more files than GitHub lists ({MOST_ENTRIES})"
            )
        return listed_policy(map(_to_entry, found))

    async def _require_missing(self, ref: str) -> None:
        """Raise TransientError where the repository has the folder that GitHub did not find.

        One passing 404 would else take away all that the policy forbids.
        """
        try:
            root = await self.client.getitem(CONTENTS, self._url_variables("", ref))
        except NotThere:  # an empty repository, or none that the App may see
            return
        if any(entry["name"] == FOLDER and entry["type"] == "dir" for entry in root):
            raise TransientError(f"GitHub lists `{FOLDER}`, and does not find it.", retry_after=1)

    async def read(
        self, listed: FolderEntry, origin: PolicyOrigin, ref: str = ""
    ) -> ValidPolicy | InvalidPolicy:
        """Return the file's policy.

        Raises TransientError when the file changed since it was found.
        """
        file = await self.client.getitem(CONTENTS, self._url_variables(POLICY_PATH, ref))
        if isinstance(file, list) or file["type"] != "file" or file["sha"] != listed.id:
            raise TransientError("The policy changed while it was read.", retry_after=1)
        data = base64.b64decode(file["content"])
        return await asyncio.to_thread(found_in, data, origin)  # a second's work at the worst

    async def load(self, origin: PolicyOrigin) -> Found:
        """Return the policy of the default branch's newest commit."""
        try:
            listed = await self.find()
        except NotPermitted:  # which may pass; that there is no file is said in other words
            listed = await self.find(named=True)
        if listed is None:
            return MissingPolicy()
        origin = origin.model_copy(update={"repository": f"{self.owner}/{self.name}"})
        if isinstance(listed, PolicyFault):
            return InvalidPolicy((listed,), origin)
        return await self.read(listed, origin.model_copy(update={"url": listed.url}))

    async def secret(self) -> bool:
        """Tell whether the repository is not public."""
        where = {"owner": self.owner, "repo": self.name}
        return bool((await self.client.getitem(REPOSITORY, where))["private"])

    def _url_variables(self, path: str, ref: str) -> dict[str, str]:
        where = {"owner": self.owner, "repo": self.name, "path": path}
        return {**where, "ref": ref} if ref else where


async def read_policy(
    github: GitHub, installation_id: int, repository: RepositoryLocation
) -> Found:
    """Return the policy that holds in the repository now, or its faults.

    Raises InstallationGone, NotPermitted, TransientError or ConfigError.
    """
    client = await github.installation(installation_id, repository.id, Profile.READ)
    found = await PolicyFile(client, repository.owner, repository.name).load(PolicyOrigin())
    if not isinstance(found, MissingPolicy) or repository.name == OWNERS:
        return found
    return await _of_owner(github, installation_id, repository)


async def _of_owner(github: GitHub, installation_id: int, repository: RepositoryLocation) -> Found:
    """Return what the owner's own repository says, with a token that can read that one alone."""
    try:
        client = await github.client_by_name(installation_id, OWNERS, Profile.CONTENTS)
        named = (repository.id, repository.owner, repository.name)
        owner, _ = await github.installed.current_name(
            *named
        )  # a login is anybody's once it is given up
        file = PolicyFile(client, owner, OWNERS)
        found = await file.load(PolicyOrigin(owners=True))
        if isinstance(found, InvalidPolicy) and not repository.private and await file.secret():
            return replace(found, origin=found.origin.model_copy(update={"secret": True}))
    except (NotThere, NotPermitted):  # there is none, or the App is not installed on it
        return MissingPolicy()
    return found


def _to_entry(entry: Mapping[str, Any]) -> FolderEntry:
    kind = _KINDS.get(entry["type"], "folder")
    if kind == "file" and entry["download_url"] is None:  # how GitHub lists submodules
        kind = "submodule"
    return FolderEntry(
        name=entry["name"],
        kind=kind,
        size=entry["size"],
        id=entry["sha"],
        url=entry["html_url"] or "",
    )


_KINDS: Mapping[str, Any] = {
    "file": "file",
    "symlink": "symlink",
    "submodule": "submodule",
    "dir": "folder",
}
