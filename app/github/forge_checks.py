"""The read verbs `checks` and `log`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.errors import ToolError
from agents.ports import Json
from agents.text import plain_output
from app.github.auth import Profile
from app.github.faults import Invalid, Missing
from app.github.forge_reading import REPOSITORY, Reading
from app.github.forge_text import body, line

KEPT = 60_000  # bytes from the end of a log: what failed stands there
MOST = 50_000_000  # bytes of a log that are read at all
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

# Actions puts the time before each line: 28 characters that say nothing to a model.
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ", re.MULTILINE)


async def read_checks(reading: Reading, arguments: Mapping[str, Json]) -> str:
    """Return what checks and other services say about a commit."""
    client, where = await reading.client(Profile.CHECKS), reading.where(ref=arguments["ref"])
    path = f"{REPOSITORY}/commits/{{ref}}/check-runs"
    runs = [each async for each in client.getiter(path, where, iterable_key="check_runs")]
    combined = await client.getitem(f"{REPOSITORY}/commits/{{ref}}/status", where)
    head = f"# Checks of {line(arguments['ref'])} ({combined['sha']})"
    if not runs and not combined["statuses"]:
        return f"{head}\nNo checks and no statuses."
    if await _holds(reading, combined["sha"]):
        return "\n".join([head, *_said(runs, combined["statuses"])])
    states = [f"- a check: {_state(run)} (id {run['id']})" for run in runs]
    states += [f"- a status: {status['state']}" for status in combined["statuses"]]
    return "\n".join([head, *states, NOT_OURS])


def _said(runs: list[dict[str, Any]], statuses: list[dict[str, Any]]) -> list[str]:
    lines = []
    for run in runs:
        output = run.get("output") or {}
        said = line(output.get("title"))
        by = (run.get("app") or {}).get("slug", "")
        about = f"{_state(run)} (id {run['id']}, {by})"
        lines.append(f"- {line(run['name'])}: {about} {said}".rstrip())
        if _state(run) == "failure" and output.get("summary"):
            lines.append(body(output["summary"], SUMMARY))
    for status in statuses:
        words = line(status["description"])
        lines.append(f"- {line(status['context'])}: {status['state']} {words}".rstrip())
    return lines


def _state(run: Mapping[str, Any]) -> str:
    return str(run["conclusion"] or run["status"])


async def _holds(reading: Reading, sha: str) -> bool:
    """Tell whether a branch of this repository holds the commit: forks' commits are seen here, too.

    https://docs.github.com/rest/commits/commits#compare-two-commits
    """
    client, where = await reading.client(Profile.CHECKS), reading.where(sha=sha)
    if await client.getitem(f"{REPOSITORY}/commits/{{sha}}/branches-where-head", where):
        return True
    main = reading.where(sha=sha, main=reading.request.repository.default_branch)
    try:
        path = f"{REPOSITORY}/compare/{{main}}...{{sha}}{{?per_page}}"
        compared = await client.getitem(path, {**main, "per_page": "1"})
    except (Missing, Invalid):  # nothing in common
        return False
    return bool(compared["ahead_by"] == 0)


async def read_log(reading: Reading, arguments: Mapping[str, Json]) -> str:
    """Return the end of a job's log."""
    client, where = await reading.client(Profile.LOGS), reading.where(job=arguments["number"])
    told = await client.getitem(f"{REPOSITORY}/actions/jobs/{{job}}", where)
    run = reading.where(run=told["run_id"])
    if not await _ours(reading, await client.getitem(f"{REPOSITORY}/actions/runs/{{run}}", run)):
        raise ToolError(STARTED_BY_OUTSIDERS)
    data = await client.tail(f"{REPOSITORY}/actions/jobs/{{job}}/logs", where, keep=KEPT, most=MOST)
    text = _TIME.sub("", plain_output(data.decode("utf-8", "replace"))).rstrip()
    if len(text) > SHOWN or len(data) == KEPT:
        text = "[… the beginning is left out …]\n" + text[-SHOWN:].partition("\n")[2]
    return f"# The end of the log of job {arguments['number']}\n{text or '(empty)'}"


async def _ours(reading: Reading, run: Mapping[str, Any]) -> bool:
    """Tell whether it ran on a commit of this repository, for somebody who may write to it.

    Whoever pushes may write. Other events outsiders cause as well, with words of their own.
    """
    if (run["head_repository"] or {}).get("id") != reading.request.repository.id:
        return False
    starters = (run["actor"], run["triggering_actor"])
    return run["event"] == "push" or all([await reading.shown({"user": who}) for who in starters])
