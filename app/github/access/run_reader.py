"""What all readers of one run share: the repository, the token, and who counts as an author."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.requests import Request
from app.github.access.discussion import discussion
from app.github.access.roles import Writers
from app.github.transport import (
    GitHub,
    InstallationClient,
    Profile,
    clean_body,
    describe_left_out,
    join_sections,
)

REPOSITORY = "/repos/{owner}/{repo}"


@dataclass(frozen=True)
class RunReader:
    """Reads a repository for one run."""

    github: GitHub
    request: Request
    until: float
    """When the run was asked for (unix seconds): what was said later, nobody had read."""
    writers: Writers

    @classmethod
    def for_run(cls, github: GitHub, request: Request, until: float) -> RunReader:
        """Return the reader of a run, without any request to GitHub."""
        return cls(github, request, until, Writers(github, request.repository))

    async def client(self, profile: Profile = Profile.READ) -> InstallationClient:
        """Return a client with exactly this profile's permissions on exactly this repository."""
        request = self.request
        return await self.github.installation(
            request.installation_id, request.repository.id, profile
        )

    def url_variables(self, **more: object) -> dict[str, str]:
        """Return the URL variables of a path below REPOSITORY."""
        repository = self.request.repository
        texts = {name: str(value) for name, value in more.items()}
        return {"owner": repository.owner, "repo": repository.name, **texts}

    async def may_show(self, thing: Mapping[str, Any]) -> bool:
        """Tell whether an agent may see a text: somebody with write access wrote it."""
        return await self.writers.is_writer(await self.client(), thing)

    async def comments(self, number: int) -> str:
        """Return what people with write access said there before the run was asked for."""
        client = await self.client()
        said = await discussion(
            client,
            self.request.model_copy(update={"number": number}),
            await self.github.identity(client),
            until=self.until,
        )
        remarks = [
            f"## {each.author} ({each.role}) on {each.at:%Y-%m-%d}\n{await clean_body(each.body)}"
            for each in said.remarks
        ]
        skipped = [
            (said.by_outsiders, "comments by people without write access"),
            (said.too_late, "comments made or edited after this run was asked for"),
            (said.left_out, "older comments"),
        ]
        return join_sections([*remarks, describe_left_out(skipped)])


def asked_at(run_id: str) -> float:
    """Return when the run's delivery arrived, in unix seconds, as the run id holds it."""
    return int(run_id.partition("-")[0], 16) / 1e6
