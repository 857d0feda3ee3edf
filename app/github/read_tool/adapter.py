"""The port `Forge`: the read-only verbs of the model's `gh` tool, for one run's repository."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from agents.errors import ToolError, TransientError
from agents.ports import Json
from agents.requests import Request
from app.github.access.run_reader import RunReader, asked_at
from app.github.read_tool.checks import read_checks, read_log
from app.github.read_tool.issues import read_issue, read_pull_request
from app.github.read_tool.search import search
from app.github.transport import GitHub, NotFound, NotPermitted, Unprocessable

Verb = Callable[[RunReader, Mapping[str, Json]], Awaitable[str]]

VERBS: Mapping[str, Verb] = {
    "issue": read_issue,
    "pull_request": read_pull_request,
    "checks": read_checks,
    "log": read_log,
    "search": search,
}


class GitHubReads:
    """Reads with tokens that can only read, and that never leave this process."""

    def __init__(self, github: GitHub, request: Request, run_id: str) -> None:
        self._reading = RunReader.for_run(github, request, asked_at(run_id))

    async def read(self, verb: str, arguments: Mapping[str, Json]) -> str:
        """Return the answer of the verb.

        Raises ToolError for GitHub's refusals, so that the model goes on without.
        """
        try:
            return await VERBS[verb](self._reading, arguments)
        except NotPermitted as error:
            raise ToolError(f"The App may not read this. {error}") from error
        except (NotFound, Unprocessable) as error:
            raise ToolError(f"Nothing was found. {error}") from error
        except TransientError as error:
            raise ToolError(f"GitHub cannot be read now; go on without. {error}") from error
