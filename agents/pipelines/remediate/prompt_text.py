"""Format alerts, moves and results for prompts, with other people's text fenced."""

from __future__ import annotations

from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.work import Work
from agents.run import StageContext
from agents.text import clean_in_child, one_line

TEXT_LIMIT = 4_000  # characters of one advisory's own words
ALERTS_LIMIT = 24_000  # and of all alerts
MOST = 20


async def alerts_shown(run: StageContext, *groups: AlertGroup) -> str:
    """Return the alerts with their authors' words and what code found, fenced."""
    by_alert = {(each.alert, each.ghsa_id): each for found in groups for each in found.triage}
    parts = []
    for advisory in [each for found in groups for each in found.group.advisories][:MOST]:
        triaged = by_alert.get((advisory.alert, advisory.ghsa_id))
        lines = [
            f"{advisory.package}: {advisory.ghsa_id} {advisory.cve_id} ({advisory.severity})",
            f"vulnerable: {one_line(advisory.vulnerable, 200)}",
            f"first patched: {one_line(advisory.first_patched, 60) or 'unknown'}",
            one_line((await clean_in_child(advisory.summary)).text, 300),
            (await clean_in_child(advisory.description)).text[:TEXT_LIMIT],
        ]
        if triaged is not None:
            lines += [f"reach: {triaged.affected}. {triaged.why}", *triaged.evidence]
        parts.append("\n".join(line for line in lines if line.strip()))
    return run.fence("\n\n".join(parts), limit=ALERTS_LIMIT)


def name_shown(work: Work, limit: int) -> str:
    """Return the package's name in a line of at most so many characters."""
    return one_line(work.found.name, limit)


def moves_shown(run: StageContext, work: Work) -> str:
    """Return what moved, and what code has proved of it."""
    if work.bump is None:
        return "Nothing has moved yet."
    moves = [
        f"- {move.name}: {', '.join(move.old) or 'absent'} to {', '.join(move.new) or 'absent'}"
        f" ({move.delta or 'new or gone'}{', forced by resolution' if move.forced else ''})"
        for move in work.moves
    ]
    said = [line for bump in work.bumps for line in (*bump.evidence, *bump.notes)]
    return run.fence("\n".join([*moves, *said]))


def results_shown(run: StageContext, work: Work) -> str:
    """Return how the repository's checks ended before and after the change."""
    if work.quality is None or not work.quality.runs:
        return "None of the repository's checks can run here."
    lines = [
        f"{after.name} (`{after.command}`): exit {before.exit_code} before, {after.exit_code} after"
        for before, after in work.quality.compared
    ]
    return run.fence("\n".join(lines))
