"""The read verbs `checks` and `log`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agents.ports import Json
from agents.text import plain_output
from app.github.auth import Profile
from app.github.forge_reading import REPOSITORY, Reading
from app.github.forge_text import body, line

KEPT = 60_000  # bytes from the end of a log: what failed stands there
MOST = 50_000_000  # bytes of a log that are read at all
SHOWN = 16_000  # characters
SUMMARY = 1_000

# Actions puts the time before each line: 28 characters that say nothing to a model.
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ", re.MULTILINE)


async def read_checks(reading: Reading, arguments: Mapping[str, Json]) -> str:
    """Return what checks and other services say about a commit."""
    client, where = await reading.client(Profile.CHECKS), reading.where(ref=arguments["ref"])
    path = f"{REPOSITORY}/commits/{{ref}}/check-runs"
    runs = [each async for each in client.getiter(path, where, iterable_key="check_runs")]
    combined = await client.getitem(f"{REPOSITORY}/commits/{{ref}}/status", where)
    lines = [f"# Checks of {line(arguments['ref'])} ({combined['sha']})"]
    for run in runs:
        output = run.get("output") or {}
        said = line(output.get("title"))
        by = (run.get("app") or {}).get("slug", "")
        state = run["conclusion"] or run["status"]
        lines.append(f"- {line(run['name'])}: {state} (id {run['id']}, {by}) {said}".rstrip())
        if state == "failure" and output.get("summary"):
            lines.append(body(output["summary"], SUMMARY))
    for status in combined["statuses"]:
        words = line(status["description"])
        lines.append(f"- {line(status['context'])}: {status['state']} {words}".rstrip())
    if len(lines) == 1:
        lines.append("No checks and no statuses.")
    return "\n".join(lines)


async def read_log(reading: Reading, arguments: Mapping[str, Json]) -> str:
    """Return the end of a job's log."""
    client, where = await reading.client(Profile.LOGS), reading.where(job=arguments["number"])
    path = f"{REPOSITORY}/actions/jobs/{{job}}/logs"
    data = await client.tail(path, where, keep=KEPT, most=MOST)
    text = _TIME.sub("", plain_output(data.decode("utf-8", "replace"))).rstrip()
    if len(text) > SHOWN or len(data) == KEPT:
        text = "[… the beginning is left out …]\n" + text[-SHOWN:].partition("\n")[2]
    return f"# The end of the log of job {arguments['number']}\n{text or '(empty)'}"
