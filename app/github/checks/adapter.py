"""The port `Checking`: check runs and commit statuses of a commit, and the logs behind them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from agents.ports import CheckConclusion, ForeignCheck
from agents.requests import Request
from agents.text import printable
from app.github.access.run_reader import REPOSITORY, RunReader, asked_at
from app.github.checks.job_log import read_part_log
from app.github.transport import (
    GitHub,
    InstallationClient,
    NotFound,
    NotPermitted,
    Profile,
    Unprocessable,
    clean_body,
    clean_line,
)
from app.secrets.redaction import Redactor

RUNS = f"{REPOSITORY}/commits/{{sha}}/check-runs?filter=all"
STATUS = f"{REPOSITORY}/commits/{{sha}}/status"
ANNOTATIONS = f"{REPOSITORY}/check-runs/{{id}}/annotations{{?per_page}}"
ORIGINS = f"{REPOSITORY}/actions/runs{{?head_sha}}"
ACTIONS = "github-actions"
STATUS_APP = "commit status"
"""Stands for the App's name where the check is a commit status."""

SUMMARY = 4_000
MOST_ANNOTATIONS = 30
KEPT = 400_000
"""Bytes from the end of a log that are looked at for what failed steps wrote."""

ENDINGS: tuple[CheckConclusion, ...] = get_args(CheckConclusion)
FINE = ("success", "neutral", "skipped", "")
STATES: Mapping[str, CheckConclusion] = {
    "success": "success",
    "failure": "failure",
    "error": "failure",
}

NO_LOG = "There is no log that Fettle could read: {app} keeps it, not GitHub Actions."
NOT_PERMITTED = (
    "The log cannot be read: that takes the permission `actions: read`, which the App has not got"
    " here."
)
LOST = "The log cannot be read: GitHub does not have it, or not any more."
BY_OUTSIDERS = (
    "The log is not shown: it ran on a commit of a fork, or somebody without write access started"
    " it, so it may hold their words."
)

Run = Mapping[str, Any]


class GitHubCiChecks:
    """Reads with the token profiles `checks` and `logs` alone."""

    def __init__(self, github: GitHub, request: Request, run_id: str, redactor: Redactor) -> None:
        self._github = github
        self._reading = RunReader.for_run(github, request, asked_at(run_id))
        self._redactor = redactor

    async def list_checks(self, commit: str) -> tuple[ForeignCheck, ...]:
        """Return the newest run of each check on the commit, and its commit statuses.

        https://docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference
        """
        client, where = (
            await self._reading.client(Profile.CHECKS),
            self._reading.url_variables(sha=commit),
        )
        own = (await self._github.identity(client)).app_id
        runs = [
            run
            async for run in client.getiter(RUNS, where, iterable_key="check_runs")
            if (run["app"] or {}).get("id") != own
        ]
        checks = [await self._check(client, each) for each in await self._attempts(commit, runs)]
        statuses = client.getiter(STATUS, where, iterable_key="statuses")
        checks += [self._status(each) async for each in statuses]
        return tuple(checks)

    async def log(self, check: ForeignCheck, *, limit: int) -> str:
        """Return the end of the failed steps' output; where GitHub has none, the reason."""
        if not check.has_log:
            return NO_LOG.format(app=check.app)
        try:
            log = await read_part_log(self._reading, check.id, keep=KEPT)
        except NotPermitted:
            return NOT_PERMITTED
        except (NotFound, Unprocessable):
            return LOST
        if log is None:
            return BY_OUTSIDERS
        head = f"Failed: {', '.join(map(clean_line, log.failed))}\n" if log.failed else ""
        room = max(0, limit - len(head))
        text = self._redactor.clean(printable(log.tail_of_failed(room)))
        return f"{head}{text or '(empty)'}"[:limit]

    async def _attempts(self, commit: str, runs: Iterable[Run]) -> list[list[Run]]:
        """Return the runs of each check, oldest first.

        One of the same name is another check when another workflow, or another event, has made it;
        GitHub Actions has a suite for each of these, and for each time that they were started.
        """
        named: dict[tuple[object, str], list[Run]] = defaultdict(list)
        for run in sorted(runs, key=lambda each: int(each["id"])):
            named[_app(run)["id"], run["name"]].append(run)
        if all(len({_suite(run) for run in each}) == 1 for each in named.values()):
            return list(named.values())
        origins = await self._origins(commit)
        found: dict[tuple[object, ...], list[Run]] = defaultdict(list)
        for key, several in named.items():
            for run in several:
                actions = _app(run)["slug"] == ACTIONS
                origin = origins.get(_suite(run), (_suite(run),)) if actions else ()
                found[*key, *origin].append(run)
        return list(found.values())

    async def _origins(self, commit: str) -> dict[object, tuple[object, ...]]:
        """Return by suite which workflow and which event it is of, as far as the App may know."""
        try:
            client = await self._reading.client(Profile.LOGS)
            where = self._reading.url_variables(head_sha=commit)
            runs = client.getiter(ORIGINS, where, iterable_key="workflow_runs")
            return {run["check_suite_id"]: (run["workflow_id"], run["event"]) async for run in runs}
        except (NotPermitted, NotFound):
            return {}

    async def _check(self, client: InstallationClient, attempts: list[Run]) -> ForeignCheck:
        run, ended = attempts[-1], _to_ending(attempts[-1])
        return ForeignCheck(
            id=run["id"],
            name=clean_line(run["name"]),
            app=clean_line(_app(run)["name"]),
            ended=ended,
            attempts=tuple(each for each in map(_to_ending, attempts[:-1]) if each),
            summary=await self._summary(client, run) if ended not in FINE else "",
            url=run["html_url"] or run["details_url"] or "",
            has_log=_app(run)["slug"] == ACTIONS and ended not in ("", "skipped"),
        )

    async def _summary(self, client: InstallationClient, run: Run) -> str:
        output = run["output"] or {}
        parts = [output.get("title"), output.get("summary"), output.get("text")]
        if output.get("annotations_count"):
            parts += await self._annotations(client, run)
        words = "\n".join(part for part in parts if part)
        return await clean_body(self._redactor.clean(words), SUMMARY) if words else ""

    async def _annotations(self, client: InstallationClient, run: Run) -> list[str]:
        where = self._reading.url_variables(id=run["id"], per_page=MOST_ANNOTATIONS)
        try:
            found = await client.getitem(ANNOTATIONS, where)
        except NotFound:
            return []
        return [
            f"- {each['path']}:{each['start_line']}: {each['annotation_level']}: {each['message']}"
            for each in found
        ]

    def _status(self, status: Mapping[str, Any]) -> ForeignCheck:
        ended = STATES.get(status["state"], "")
        words = clean_line(self._redactor.clean(status["description"] or ""))
        return ForeignCheck(
            id=status["id"],
            name=clean_line(status["context"]),
            app=STATUS_APP,
            ended=ended,
            summary=words if ended not in FINE else "",
            url=status["target_url"] or "",
            has_log=False,
        )


def _app(run: Run) -> Mapping[str, Any]:
    return run["app"] or {"id": 0, "name": "", "slug": ""}


def _suite(run: Run) -> object:
    return (run["check_suite"] or {}).get("id")


def _to_ending(run: Run) -> CheckConclusion:
    """Return how it ended; what GitHub may come to call endings some day counts as neither."""
    said = run["conclusion"] or ""
    return next((each for each in ENDINGS if each == said), "neutral")
