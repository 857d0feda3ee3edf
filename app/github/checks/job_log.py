"""The log of one GitHub Actions job: its end, cleaned for an agent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agents.text import plain_output
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.transport import Profile

MOST = 50_000_000  # bytes of a log that are read at all
CUT = "[… the beginning is left out …]\n"
PART = f"{REPOSITORY}/actions/jobs/{{part}}"

# Actions puts the time before each line: 28 characters that say nothing to a model.
_TIME = re.compile(r"^\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[\d.]*Z ")
_FAILED = ("failure", "timed_out", "cancelled")


@dataclass(frozen=True)
class JobLog:
    """The log of one GitHub Actions job, as plain text."""

    lines: tuple[tuple[str, str], ...]
    """Lines with the second in which each was written; empty where the log has no time."""
    whole: bool
    steps: tuple[Mapping[str, Any], ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """Return the names of the failed steps; where none failed, of the cancelled ones."""
        names = [
            tuple(step["name"] for step in self.steps if step["conclusion"] == ending)
            for ending in _FAILED
        ]
        return next((each for each in names if each), ())

    def tail(self, limit: int) -> str:
        """Return the last `limit` characters of the log."""
        return _end([text for _, text in self.lines], limit, whole=self.whole)

    def tail_of_failed(self, limit: int) -> str:
        """Return the end of the failed steps' output; of the whole log where no step is known."""
        spans = [_span(step) for step in self.steps if step["name"] in self.failed]
        written = [
            text
            for at, text in self.lines
            if any(begun <= at <= ended for begun, ended in spans if begun and ended)
        ]
        lines = written or [text for _, text in self.lines]
        return _end(lines, limit, whole=self.whole and len(lines) == len(self.lines))


async def read_part_log(reading: RunReader, number: object, *, keep: int) -> JobLog | None:
    """Return the last `keep` bytes of a job's log; None when outsiders may have written to it.

    https://docs.github.com/rest/actions/workflow-jobs#download-job-logs-for-a-workflow-run
    """
    client, where = await reading.client(Profile.LOGS), reading.url_variables(part=number)
    told = await client.getitem(PART, where)
    run = reading.url_variables(run=told["run_id"])
    if not await _is_trusted(
        reading, await client.getitem(f"{REPOSITORY}/actions/runs/{{run}}", run)
    ):
        return None
    data = await client.tail(f"{PART}/logs", where, keep=keep, most=MOST)
    text, whole = plain_output(data.decode("utf-8", "replace")).rstrip(), len(data) < keep
    lines, at = [], ""
    for line in text.split("\n") if whole else text.split("\n")[1:]:  # the first one is cut
        if found := _TIME.match(line):
            at = found[1]
        lines.append((at, _TIME.sub("", line)))
    return JobLog(tuple(lines), whole, tuple(told.get("steps") or ()))


async def _is_trusted(reading: RunReader, run: Mapping[str, Any]) -> bool:
    """Tell whether it ran on a commit of this repository, for somebody who may write to it.

    Whoever pushes may write. Other events outsiders cause as well, with words of their own.
    """
    if (run["head_repository"] or {}).get("id") != reading.request.repository.id:
        return False
    starters = (run["actor"], run["triggering_actor"])
    return run["event"] == "push" or all(
        [await reading.may_show({"user": who}) for who in starters]
    )


def _span(step: Mapping[str, Any]) -> tuple[str, str]:
    """Return the seconds in which a step began and ended, by GitHub's clock as its logs have it."""
    times = (step.get("started_at"), step.get("completed_at"))
    begun, ended = (
        f"{datetime.fromisoformat(each).astimezone(UTC):%Y-%m-%dT%H:%M:%S}" if each else ""
        for each in times
    )
    return begun, ended


def _end(lines: list[str], limit: int, *, whole: bool) -> str:
    text = "\n".join(lines)
    if whole and len(text) <= limit:
        return text
    room = max(1, limit - len(CUT))
    return CUT + (text if len(text) <= room else text[-room:].partition("\n")[2])
