"""The report on one package: tables in at most 500 words, and a neutral one for the public."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents.pipelines.remediate.findings.found import AlertGroup, TriageResult
from agents.pipelines.remediate.ladder import Advisory, Level, Move
from agents.pipelines.remediate.work import Bump, Work
from agents.pipelines.stages.quality import checks_table, to_code
from agents.text import one_line, publish

WORDS = 500
ROWS = 8  # of each table
LINES = 6  # of each list
LINE = 280  # characters of one line
PROSE = 1_200

LEVELS = {
    Level.FLOAT: "lock file alone",
    Level.BUMP: "the repository's own pin or floor",
    Level.WIDEN: "the repository's own upper bound",
    Level.PARENT: "a release of another package that admits it",
    Level.OVERRIDE: "an override, which expires",
}
_BY = {
    "code": "By code alone: a small move by a rule, everything above was measured, no model"
    " was asked.",
    "model": "By a fresh model session that saw the change and the results, not its maker's words.",
    "nobody": "Not looked at by a model: whoever asked wanted it so. What code checks was checked.",
}
_UNSEEN = (
    "Made and checked by code alone. A model was to look at it and did not, so a person has to:"
    " it is a draft for that reason."
)
_NO_MODEL = "No token was spent."
_UNINSTALLED = "**Not verified:** the dependencies could not be installed here: {problem}"
_UNTRIED = "Unclear: {why}, so nothing shows that the repository works with it."
_TRY = "Try it where its tests run, then merge it"
_MERGE = "Merge it"
_CLOSES = "GitHub then closes the alerts once it has read the new lock file."
_DUE = "The override of {package} ({versions}) was to be looked at again by {until}."
_FREE = "It is not needed any more: every copy is safe without it."
_STAYS = "It stays."
_MERGE_OR_CLOSE = (
    "Merge it, and the override is gone. Close it, and the override stays: Fettle looks again in"
    " {days} days. Whoever changes the entry, or the words beside it, makes it theirs: Fettle then"
    " leaves it alone."
)
_AGAIN = "Nothing was published. Fettle looks again in {days} days."
_NEUTRAL = "Routine update of {package}; what moved and what was checked is below."


def scan_report(found: AlertGroup, repository_url: str) -> str:
    """Return what a scan found."""
    copies = [
        f"- {copy.version}: {'vulnerable' if copy.vulnerable else 'safe'}"
        f"{', by ' + ' → '.join(copy.paths[0]) if copy.paths else ''}"
        for copy in found.copies[:ROWS]
    ]
    return fit_sections(
        _format_alerts(found, repository_url),
        _section("Copies", "\n".join(_safe(copies, repository_url))),
        _section("Evidence", "\n".join(_evidence(found, repository_url))),
        _section("Not found out", _words(found.note, repository_url)),
        _section("Over", _words(found.over, repository_url)),
    )


def fix_report(work: Work, repository_url: str) -> str:
    """Return all that is to be said of a fix, or of why there is none."""
    found, bump = work.found, work.bump
    prose = _words(work.prose, repository_url, PROSE)
    skipped = _section("Skipped", "\n".join(_list_skipped_levels(work, repository_url)))
    made = "Without it" if found.retire else "Fixed"
    return fit_sections(
        prose,
        _format_retirement(work),
        _format_alerts(found, repository_url),
        _section(made, _format_bump(bump)) if bump and work.passed else "",
        skipped,
        _section("Verified", _format_verification(work, repository_url)) if work.quality else "",
        _section("Risk", _risk(work)) if work.passed else "",
        _section("Next", _next(work)),
        spare=(skipped, prose),
    )


def pull_request_body(work: Work, repository_url: str) -> str:
    """Return the pull request's text: neutral where the public must not learn of it yet."""
    assert work.bump is not None, "a pull request has something in it"
    if not work.found.group.undisclosed:
        return fix_report(work, repository_url)
    return fit_sections(
        _format_retirement(work) or _NEUTRAL.format(package=to_code(work.found.name)),
        _section("Moved", _moves(work.bump.moves)),
        _section("Verified", _checks(work, repository_url)),
    )


def fit_sections(*sections: str, spare: Sequence[str] = ()) -> str:
    """Return the sections as far as they fit into the words that people read.

    The `spare` ones go first where there are too many; then those at the end.
    """
    kept = [section for section in sections if section]
    for section in (*spare, *reversed(kept[1:])):
        if len("\n\n".join(kept).split()) <= WORDS:
            break
        if section in kept:
            kept.remove(section)
    return "\n\n".join(kept)


def _format_alerts(found: AlertGroup, repository_url: str) -> str:
    triaged = {(each.alert, each.ghsa_id): each for each in found.triage}
    advisories = found.group.advisories
    rows = [
        _row(each, triaged.get((each.alert, each.ghsa_id)), repository_url)
        for each in advisories[:ROWS]
    ]
    if len(advisories) > ROWS:
        rows.append(f"| and {len(advisories) - ROWS} more | | | | |")
    table = ["| Alert | Advisory | Severity | Vulnerable | Reached |", f"|{' --- |' * 5}", *rows]
    where = f" in {to_code(found.group.directory)}" if found.group.directory else ""
    return _section(f"Found: {to_code(found.name)}{where}", "\n".join(table))


def _row(advisory: Advisory, triaged: TriageResult | None, repository_url: str) -> str:
    number = f"#{advisory.alert}" if advisory.alert else "-"
    if advisory.alert and repository_url:
        number = f"[{number}]({repository_url}/security/dependabot/{advisory.alert})"
    reached = f"{triaged.affected}, risk {triaged.risk}" if triaged else "not looked at"
    ranges = to_code(advisory.vulnerable)
    return (
        f"| {number} | {to_code(advisory.ghsa_id)} | {advisory.severity} | {ranges} | {reached} |"
    )


def _format_bump(bump: Bump) -> str:
    how = LEVELS[bump.level] if bump.level is not None else "an engineer's change of the manifests"
    how = f"By {how}" + (f" (level {bump.level:d})." if bump.level is not None else ".")
    return f"{how}\n\n{_moves(bump.moves)}"


def _format_retirement(work: Work) -> str:
    """Return what is said of an override whose day has come; nothing for other fixes."""
    retire = work.found.retire
    if retire is None:
        return ""
    versions = ", ".join(f"{to_code(old)} to {to_code(new)}" for old, new in retire.versions[:3])
    said = {"package": to_code(work.found.name), "versions": versions, "until": retire.until}
    return f"{_DUE.format(**said)} {_FREE if work.passed else _STAYS}"


def _moves(moves: Sequence[Move]) -> str:
    if not moves:
        return "No package moved."
    rows = [
        f"| {to_code(move.name)} | {' | '.join(map(_versions, move.ends))} |"
        f" {move.delta or '-'}{', forced' if move.forced else ''} |"
        for move in moves[:ROWS]
    ]
    if len(moves) > ROWS:
        rows.append(f"| and {len(moves) - ROWS} more | | | |")
    return "\n".join(["| Package | From | To | Step |", f"|{' --- |' * 4}", *rows])


def _list_skipped_levels(work: Work, repository_url: str) -> list[str]:
    steps = work.bump.steps if work.bump else work.refusal.steps if work.refusal else ()
    lines = [f"- Level {step.level:d}: {step.why}" for step in steps if not step.done]
    if work.refusal and not work.bump:
        lines.insert(0, f"- {work.refusal.reason}")
    if work.skipped:
        lines.append(f"- The engineer: {work.skipped}")
    lines += [f"- Taken back: {each.verdict.feedback}" for each in work.failed]
    return _safe(lines, repository_url)


def _format_verification(work: Work, repository_url: str) -> str:
    parts = [_checks(work, repository_url)]
    if work.bump is not None:
        parts.append("\n".join(_safe([f"- {each}" for each in work.bump.evidence], repository_url)))
        notes = [f"- Not proved: {each}" for each in work.bump.notes]
        parts.append("\n".join(_safe(notes, repository_url)))
    if work.verdict is not None:
        by = _UNSEEN if work.verdict.unseen else _BY[work.verdict.by]
        parts.append(by + (f" {_NO_MODEL}" if work.untouched else ""))
        issues = [f"- {each.severity}: {each.description}" for each in work.verdict.issues]
        parts.append("\n".join(_safe(issues, repository_url)))
        parts.append(_words(work.verdict.reasoning, repository_url))
    return "\n\n".join(part for part in parts if part)


def _checks(work: Work, repository_url: str) -> str:
    """Return what the checks say; said without the dependencies, it is told to be worth little."""
    if work.quality is None:
        return ""
    table = checks_table(work.quality)
    if work.setup is None or not work.setup.problems:
        return table
    problem = _words(work.setup.problems[0], repository_url)
    return f"{_UNINSTALLED.format(problem=problem)}\n\n{table}"


def _risk(work: Work) -> str:
    assert work.bump is not None, "it passed"
    if why := _explain_untried(work):
        return _UNTRIED.format(why=why)
    if work.adapted:
        return "Higher: the code was changed along with it; read the second commit."
    if not work.bump.moves:
        return "Low: no package moved, and the repository's checks are no worse."
    if not work.bump.mechanical:
        return "Middling: more than the package's own version moved; look at the table."
    return "Low: a small step of the package alone, and the repository's checks are no worse."


def _explain_untried(work: Work) -> str:
    """Return why the repository's checks say nothing about the fix; empty where they do."""
    if work.setup is not None and work.setup.problems:
        return "the dependencies could not be installed here"
    if work.quality is None:
        return "no check of the repository was run"
    return "; ".join(work.quality.untold)


def _next(work: Work) -> str:
    retire = work.found.retire
    if retire is not None:
        return (_MERGE_OR_CLOSE if work.passed else _AGAIN).format(days=retire.days)
    if work.passed:
        return f"{_TRY if _explain_untried(work) else _MERGE}; {_CLOSES}"
    return (
        "Nothing was published. Somebody has to decide: wait for a release, permit more in"
        " `remediation` of `.github/fettle.yml`, replace the package, or dismiss the alert with a"
        " reason."
    )


def _evidence(found: AlertGroup, repository_url: str) -> list[str]:
    lines = [f"- {t.ghsa_id}: {t.why} {'; '.join(t.evidence[:3])}" for t in found.triage]
    return _safe(lines, repository_url)


def _safe(lines: Iterable[str], repository_url: str) -> list[str]:
    """Return lines with words of others, each of them whole and harmless by itself."""
    shown = [line for line, _ in zip(dict.fromkeys(lines), range(LINES), strict=False)]
    return [
        f"- {_words(line.removeprefix('- '), repository_url)}" for line in shown if line.strip()
    ]


def _words(text: str, repository_url: str, limit: int = LINE) -> str:
    return publish(one_line(text, limit), repository_url=repository_url) if text.strip() else ""


def _versions(versions: Sequence[str]) -> str:
    return ", ".join(to_code(each) for each in versions[:3]) or "-"


def _section(title: str, text: str) -> str:
    return f"### {title}\n\n{text}" if text.strip() else ""
