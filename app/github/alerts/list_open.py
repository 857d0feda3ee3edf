"""List all open alerts of a repository, and see whether the manifests they name have moved.

Each repository is read with a token for it alone: the list of a whole organisation would show
repositories that the App was never given.
https://docs.github.com/rest/dependabot/alerts#list-dependabot-alerts-for-a-repository
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from agents.requests import Repository
from app.github.alerts.schema import alert_in
from app.github.transport import GitHub, InstallationClient, NotFound, Profile, TooManyPages
from handlers.payloads.alerts import AlertView

ALERTS = "/repos/{owner}/{repo}/dependabot/alerts{?state}"
FOLDER = "/repos/{owner}/{repo}/contents{/path*}{?ref}"
PAGES = 30
"""Pages of a hundred alerts each, newest first."""


class OpenAlerts:
    """Reads with the profiles `alerts` and `contents`."""

    def __init__(self, github: GitHub) -> None:
        self._github = github

    async def read(self, installation_id: int, repository: Repository) -> list[AlertView]:
        """Return the open alerts that Fettle can act on.

        Raises NotPermitted where alerts are switched off, or the App may not read them.
        """
        client = await self._client(installation_id, repository, Profile.ALERTS)
        where = {"owner": repository.owner, "repo": repository.name, "state": "open"}
        found: list[AlertView] = []
        try:
            async for each in client.getiter(ALERTS, where, pages=PAGES):
                alert = _alert(each)
                if alert is not None and alert.state == "open" and not alert.fault:
                    found.append(alert)
        except TooManyPages:  # these come first; the others have their turn when they are mended
            pass
        return found

    async def has_changed_files(
        self,
        installation_id: int,
        repository: Repository,
        since: str,
        directory: str,
        names: Collection[str],
    ) -> bool:
        """Tell whether any of these files in the folder has changed since that commit."""
        client = await self._client(installation_id, repository, Profile.CONTENTS)
        then = await _files(client, repository, directory, since)
        now = await _files(client, repository, directory, "")
        return any(then.get(name) != now.get(name) for name in names)

    async def _client(
        self, installation_id: int, repository: Repository, profile: Profile
    ) -> InstallationClient:
        return await self._github.installation(installation_id, repository.id, profile)


def _alert(found: Any) -> AlertView | None:
    """Return the alert; None where a run would leave it out, and so come to nothing."""
    if alert_in(found, str) is None:
        return None
    try:
        return AlertView.model_validate(found)
    except ValidationError:
        return None


async def _files(
    client: InstallationClient, repository: Repository, directory: str, ref: str
) -> Mapping[str, str]:
    """Return the files of a folder with git's ids of them; none where it is not there."""
    where: dict[str, Any] = {"owner": repository.owner, "repo": repository.name}
    where |= {"path": directory.split("/")} if directory else {}
    where |= {"ref": ref} if ref else {}
    try:
        found = await client.getitem(FOLDER, where)
    except NotFound:
        return {}
    return {each["name"]: each["sha"] for each in found} if isinstance(found, list) else {}
