"""The verbs `checks` and `log` of the model's `gh` tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.errors import ToolError
from agents.ports import Json
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.checks.job_log import read_part_log
from app.github.transport import NotFound, Profile, Unprocessable, clean_body, clean_line

KEPT = 60_000  # bytes from the end of a log: what failed stands there
SHOWN = 16_000  # characters
SUMMARY = 1_000

NOT_OURS = (
    "[No branch of this repository holds this commit: what checks say about it may be words of"
    " people without write access, and is not shown]"
)
STARTED_BY_OUTSIDERS = (
    "This job ran on a commit of a fork, or was started by somebody without write access: its log"
    " may hold their words, and is not shown. Go on without it."
)


async def read_checks(reading: RunReader, arguments: Mapping[str, Json]) -> str:
    """Return the check runs and commit statuses of a commit, as text."""
    client, where = (
        await reading.client(Profile.CHECKS),
        reading.url_variables(ref=arguments["ref"]),
    )
    path = f"{REPOSITORY}/commits/{{ref}}/check-runs"
    runs = [each async for each in client.getiter(path, where, iterable_key="check_runs")]
    combined = await client.getitem(f"{REPOSITORY}/commits/{{ref}}/status", where)
    head = f"# Checks of {clean_line(arguments['ref'])} ({combined['sha']})"
    if not runs and not combined["statuses"]:
        return f"{head}\nNo checks and no statuses."
    if await _holds(reading, combined["sha"]):
        return "\n".join([head, *await _format_checks(runs, combined["statuses"])])
    states = [f"- a check: {_state(run)} (id {run['id']})" for run in runs]
    states += [f"- a status: {status['state']}" for status in combined["statuses"]]
    return "\n".join([head, *states, NOT_OURS])


async def _format_checks(runs: list[dict[str, Any]], statuses: list[dict[str, Any]]) -> list[str]:
    lines = []
    for run in runs:
        output = run.get("output") or {}
        said = clean_line(output.get("title"))
        by = (run.get("app") or {}).get("slug", "")
        about = f"{_state(run)} (id {run['id']}, {by})"
        lines.append(f"- {clean_line(run['name'])}: {about} {said}".rstrip())
        if _state(run) == "failure" and output.get("summary"):
            lines.append(await clean_body(output["summary"], SUMMARY))
    for status in statuses:
        words = clean_line(status["description"])
        lines.append(f"- {clean_line(status['context'])}: {status['state']} {words}".rstrip())
    return lines


def _state(run: Mapping[str, Any]) -> str:
    return str(run["conclusion"] or run["status"])


async def _holds(reading: RunReader, sha: str) -> bool:
    """Tell whether a branch of this repository holds the commit: forks' commits are seen here, too.

    https://docs.github.com/rest/commits/commits#compare-two-commits
    """
    client, where = await reading.client(Profile.CHECKS), reading.url_variables(sha=sha)
    if await client.getitem(f"{REPOSITORY}/commits/{{sha}}/branches-where-head", where):
        return True
    main = reading.url_variables(sha=sha, main=reading.request.repository.default_branch)
    try:
        path = f"{REPOSITORY}/compare/{{main}}...{{sha}}{{?per_page}}"
        compared = await client.getitem(path, {**main, "per_page": "1"})
    except (NotFound, Unprocessable):  # nothing in common
        return False
    return bool(compared["ahead_by"] == 0)


async def read_log(reading: RunReader, arguments: Mapping[str, Json]) -> str:
    """Return the end of a job's log, as text."""
    log = await read_part_log(reading, arguments["number"], keep=KEPT)
    if log is None:
        raise ToolError(STARTED_BY_OUTSIDERS)
    return f"# The end of the log of job {arguments['number']}\n{log.tail(SHOWN) or '(empty)'}"
