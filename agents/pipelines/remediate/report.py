"""The report on one package: in at most 500 words, and a neutral one for the public."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agents.pipelines.remediate.findings.alert_group import AlertGroup, TriageResult
from agents.pipelines.remediate.findings.reach import IMPORTED
from agents.pipelines.remediate.ladder import Advisory, Level, Move
from agents.pipelines.remediate.majors.breakage import describe_broken, say_next
from agents.pipelines.remediate.risk import explain_untried, tell_risk
from agents.pipelines.remediate.work import Work
from agents.pipelines.stages.quality import (
    checks_table,
    format_setup_remarks,
    format_untold,
    headline,
    to_code,
)
from agents.ports.publishing import EVIDENCE
from agents.text import ADVISORIES, clean, fence_all, is_advisory, one_line, publish, without_hidden

WORDS = 500
ROWS = 8  # of each table
LINES = 6  # of each list
WAYS_LISTED = 8  # all rungs, what was found before them, and what a model made of it
LINE = 280  # characters of one line
REASON = 700  # and of why there is no fix, with what people can do
PROSE = 1_200
EXCERPT = 700  # characters of what authors say of a release, where it stands among the rest
SUMMARY, VERSION, NAME = 140, 30, 60
ADDRESS = re.compile(r"\S*(?:://|www\.|\w\.[a-z]{2,}/)\S*", re.IGNORECASE)
PLACE = re.compile(r"[^\s:]+:\d+ ")  # how a line of the code begins among the evidence

HOW = {
    Level.FLOAT: "Only the lock file changes: every requirement stays as it is.",
    Level.BUMP: "The repository's own requirement names the new version.",
    Level.WIDEN: "The repository's own requirement ended below the fix, and admits it now.",
    Level.PARENT: "Nothing that the requirements admitted was safe. Another package moves to its"
    " first release that admits the fix.",
    Level.OVERRIDE: "What other packages ask for is overruled by an entry in the manifest. It"
    " expires, so that somebody looks whether it is still needed.",
}
_BY_ENGINEER = "An engineer (a model) changed the dependency files, since no rule could."
WAYS = {
    Level.FLOAT: "The lock file alone",
    Level.BUMP: "Its own requirement",
    Level.WIDEN: "A wider requirement",
    Level.PARENT: "A release of another package that admits it",
    Level.OVERRIDE: "Overruling what others ask for",
}
_BY = {
    "code": "By code alone: a small move by a rule, all of it measured.",
    "model": "By a fresh model session that saw the change and the results, not its maker's words.",
    "nobody": "Not looked at by a model: whoever asked wanted it so. What code checks was checked.",
}
_UNSEEN = (
    "Made and checked by code alone. A model was to look at it and did not, so a person has to:"
    " it is a draft for that reason."
)
_AFFECTED = {"yes": "Yes.", "no": "No.", "unsure": "It could not be told."}
_NO_MODEL = "It cost nothing."
_ALONG = ", came along"
_UNINSTALLED = "**Not verified:** the dependencies could not be installed here: {problem}"
_TRY = "Try it where its tests run, then merge it"
_MERGE = "Merge it"
_READ = "Read the release notes and look at it, then merge it"
_LOOK = "Look at it, mark it as ready, then merge it"
_ASK = "Look whether new advisories affect what comes in, mark it as ready, then merge it"
_CLOSES = "GitHub then closes the {alerts} once it has read the changed files."
_DUE = "The override of {package} ({versions}) was to be looked at again by {until}."
_FREE = "It is not needed any more: every copy is safe without it."
_STAYS = "It stays."
_MERGE_OR_CLOSE = (
    "Merge it, and the override is gone. Close it, and the override stays: Fettle looks again in"
    " {days} days. Whoever changes the entry, or the words beside it, makes it theirs: Fettle then"
    " leaves it alone."
)
_AGAIN = "Nothing was published. Fettle looks again in {days} days."
BROKEN = "What fails with it"
_AUTHORS = "What the package itself says of the release:"
_ALL_AUTHORS = "What the packages themselves say of their releases:"
_NEUTRAL = "Routine update of {package}; what moved and what was checked is below."


def scan_report(found: AlertGroup, repository_url: str) -> str:
    """Return what a scan found."""
    return fit_sections(
        _format_alerts(found, repository_url),
        _section("How it comes in", _ways_in(found)),
        _section("Does it reach the code", _reach(found, repository_url)),
        _section("Not found out", _words(found.note, repository_url)),
        _section("Nothing to do", _words(found.over, repository_url)),
    )


def fix_report(work: Work, repository_url: str) -> str:
    """Return all that is to be said of a fix, or of why there is none."""
    checked = evidence(work, repository_url)
    body = _tell(work, repository_url)
    return fit_sections(body, _section(EVIDENCE, checked)) if checked else body


def pull_request_body(work: Work, repository_url: str) -> str:
    """Return the pull request's text: neutral where the public must not learn of it yet."""
    assert work.bump is not None, "a pull request has something in it"
    if not work.found.group.undisclosed:
        return _tell(work, repository_url)
    broken = describe_broken(work, repository_url)
    return fit_sections(
        _format_retirement(work) or _NEUTRAL.format(package=to_code(work.found.name)),
        _section(BROKEN, f"{broken}\n\n{say_next(work)}" if broken else ""),
        _section("What changes", _moves(work.bump.moves)),
        _section("Checks", _checks(work, repository_url)),
    )


def comment_body(work: Work, repository_url: str) -> str:
    """Return what is said on another's pull request: a comment has nothing folded below it."""
    if work.found.group.undisclosed:
        return pull_request_body(work, repository_url)
    return fix_report(work, repository_url)


def evidence(work: Work, repository_url: str) -> str:
    """Return how it was checked, for who wants to know; nothing where it must stay neutral."""
    if work.found.group.undisclosed:
        return ""
    ways = "\n".join(_list_ways(work, repository_url))
    tried = f"Smaller ways, and why they were not enough:\n\n{ways}" if ways else ""
    notes = "" if work.handed_over else _format_release_notes(work)
    return fit_sections(
        *_format_verification(work, repository_url),
        notes,
        tried if work.is_published else "",
        spare=(tried, notes),
    )


def _tell(work: Work, repository_url: str) -> str:
    """Return what people need to know to decide."""
    if work.handed_over:
        return _tell_broken(work, repository_url)
    found, bump = work.found, work.bump
    prose = _words(work.prose, repository_url, PROSE)
    prose = f"*A model's summary:* {prose}" if prose else ""
    made = "Without it" if found.retire else "What changes"
    tried = "\n".join(_list_ways(work, repository_url))
    return fit_sections(
        _format_retirement(work),
        _format_alerts(found, repository_url),
        _section(
            "What else it mends in the same lock file", _format_companions(work, repository_url)
        )
        if work.passed
        else "",
        prose,
        _section("How it comes in", _ways_in(found)),
        _section(made, _format_bumps(work)) if bump and work.passed else "",
        _section("What was tried", tried) if not work.passed else "",
        _section("Does it reach your code", _reach_all(work, repository_url)),
        _section("Not found out", _words(found.note, repository_url)),
        _section("Risk", tell_risk(work)) if work.passed else "",
        _section("Checked", _tell_checks(work, repository_url)) if work.quality else "",
        _section("Worth a look", _objections(work, repository_url)),
        _section("Left for another pull request", _format_left_out(work, repository_url)),
        _section("Next", _next(work)),
        spare=(prose,),
    )


def _tell_broken(work: Work, repository_url: str) -> str:
    """Return what people need to know to go on with a move with which checks fail."""
    return fit_sections(
        _section(BROKEN, describe_broken(work, repository_url)),
        _format_release_notes(work, EXCERPT),
        _section("Where your code uses it", _list_uses(work, repository_url)),
        _section("Next", _next(work)),
        _format_alerts(work.found, repository_url),
        _section("How it comes in", _ways_in(work.found)),
        _section("What changes", _format_bumps(work)),
        _section("Not found out", _words(work.found.note, repository_url)),
        _section("Worth a look", _objections(work, repository_url)),
        _section("Left for another pull request", _format_left_out(work, repository_url)),
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
    """Return what is wrong with the package: a sentence for each advisory."""
    advisories = found.group.advisories
    lines = [f"- {_describe_advisory(each, repository_url)}" for each in advisories[:ROWS]]
    if len(advisories) > ROWS:
        lines.append(f"- and {len(advisories) - ROWS} more.")
    named = [to_code(one_line(each, VERSION)) for each in found.vulnerable[:3]]
    versions = f" {', '.join(named)}" if named else ""
    where = f" in {to_code(found.group.directory)}" if found.group.directory else ""
    return _section(f"What is wrong with {to_code(found.name)}{versions}{where}", "\n".join(lines))


def describe_threat(advisory: Advisory, repository_url: str) -> str:
    """Return severity and summary; anybody may have written the latter."""
    plain = ADDRESS.sub("…", clean(advisory.summary[:LINE].partition("\n")[0]).text)
    summary = _words(plain, repository_url, SUMMARY).rstrip(".")
    return f"{advisory.severity.capitalize()} severity{f': {summary}' if summary else ''}"


def _describe_advisory(advisory: Advisory, repository_url: str, *, brief: bool = False) -> str:
    said = describe_threat(advisory, repository_url)
    ident = advisory.ghsa_id
    known = f"[{ident}]({ADVISORIES}{ident})" if is_advisory(ident) else to_code(ident)
    cve = f", {to_code(advisory.cve_id)}" if advisory.cve_id else ""
    parts = [f"{said} ({known}{cve})."]
    if not brief:
        parts.append(f"Affected: {to_code(advisory.vulnerable)}.")
    if advisory.alert and repository_url:
        page = f"{repository_url}/security/dependabot/{advisory.alert}"
        parts.append(f"[Alert {advisory.alert}]({page}).")
    return " ".join(parts)


def _ways_in(found: AlertGroup) -> str:
    """Return who asks for the vulnerable copies."""
    lines = []
    for copy in found.copies:
        if copy.vulnerable:
            path = copy.paths[0] if copy.paths else ()
            way = " → ".join(to_code(one_line(each, NAME)) for each in path[:5])
            asked = f"by way of {way}" if len(path) > 1 else "asked for by the repository itself"
            asked = asked if path else "the lock file does not say what asks for it"
            lines.append(f"- {to_code(one_line(copy.version, VERSION))}: {asked}")
    more = [f"- and {len(lines) - LINES} more copies"] if len(lines) > LINES else []
    return "\n".join([*lines[:LINES], *more])


def _reach(found: AlertGroup, repository_url: str) -> str:
    """Return whether the code uses what is vulnerable, with file and line."""
    lines: dict[str, str] = {}
    for each in found.triage:
        places = ", ".join(to_code(place.partition(" ")[0]) for place in _places(each)[:3])
        why = _words(each.why, repository_url)
        by = " (a model's judgement)" if each.judged else ""
        said = "" if each.why == IMPORTED else f"{_AFFECTED[each.affected]} "
        lines[f"- {said}{why}{f' {places}.' if places else ''}{by}"] = ""
    return "\n".join(list(lines)[:LINES])


def _reach_all(work: Work, repository_url: str) -> str:
    """Return the same of all packages: of those that go along, a line each."""
    first = _reach(work.found, repository_url)
    lines = [(each.found, _reach(each.found, repository_url)) for each in work.companions]
    others = [
        f"- {to_code(one_line(found.name, NAME))}: {said.splitlines()[0].removeprefix('- ')}"
        for found, said in lines
        if said
    ]
    return "\n".join([first, *others]).strip()


def _places(triaged: TriageResult) -> list[str]:
    return [each for each in triaged.evidence if PLACE.match(each)]


def _list_uses(work: Work, repository_url: str) -> str:
    """Return the lines of the code that import or name it; else what is known of its use."""
    places = dict.fromkeys(place for each in work.found.triage for place in _places(each))
    split = (place.partition(" ") for place in list(places)[:ROWS])
    lines = [f"- {to_code(where)} {_words(what, repository_url)}" for where, _, what in split]
    more = [f"- and {len(places) - ROWS} more"] if len(places) > ROWS else []
    more += [f"- {to_code(place)} is named by what fails" for place in work.places]
    return "\n".join([*lines, *more]) or _reach(work.found, repository_url)


def _format_bumps(work: Work) -> str:
    how = (HOW[each.level] if each.level is not None else _BY_ENGINEER for each in work.bumps)
    return f"{' '.join(dict.fromkeys(how))}\n\n{_moves(work.moves)}"


def _format_companions(work: Work, repository_url: str) -> str:
    """Return a line for each package that the fix takes along: what is wrong with it."""
    lines = []
    for each in work.companions:
        first, *more = each.found.group.advisories
        others = f" And {len(more)} more alert{'s' * (len(more) != 1)}." if more else ""
        named = [to_code(one_line(version, VERSION)) for version in each.found.vulnerable[:3]]
        about = f"{to_code(one_line(each.found.name, NAME))} {', '.join(named)}".rstrip()
        lines.append(f"- {about}: {_describe_advisory(first, repository_url, brief=True)}{others}")
    return "\n".join(lines)


def _format_left_out(work: Work, repository_url: str) -> str:
    every = (work.found, *(each.found for each in work.companions))
    left = [*(each.left for each in every if each.left), *work.left_out]
    return "\n".join(_safe([f"- {each}" for each in left], repository_url))


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
        f" {move.delta or '-'}{_ALONG if move.forced else ''} |"
        for move in moves[:ROWS]
    ]
    if len(moves) > ROWS:
        rows.append(f"| and {len(moves) - ROWS} more | | | |")
    return "\n".join(["| Package | From | To | Step |", f"|{' --- |' * 4}", *rows])


def _list_ways(work: Work, repository_url: str) -> list[str]:
    """Return the ways that were tried and not taken, each with its reason."""
    steps = work.bump.steps if work.bump else work.refusal.steps if work.refusal else ()
    lines = [f"- {WAYS[step.level]}: {step.why}" for step in steps if not step.done]
    if work.skipped:
        lines.append(f"- An engineer (a model) looked for a way and left it: {work.skipped}")
    if work.unsought:
        lines.append(f"- No model looked for another way: {work.unsought}")
    lines += [f"- Made, found wrong and taken back: {e.verdict.feedback}" for e in work.failed]
    why = work.refusal.reason if work.refusal and not work.bump else ""
    first = [f"- {_words(why, repository_url, REASON)}"] if why else []
    return [*first, *_safe(lines, repository_url)][:WAYS_LISTED]


def _format_verification(work: Work, repository_url: str) -> list[str]:
    parts = [_checks(work, repository_url)]
    if work.bump is not None:
        parts.append("\n".join(_safe([f"- {each}" for each in work.bump.evidence], repository_url)))
    others = [f"- {line}" for each in work.bumps[1:] for line in each.evidence[:1]]
    parts += [line for each in others for line in _safe([each], repository_url)]
    if work.verdict is not None and not work.verdict.unseen:  # it is said above then
        parts.append(_words(work.verdict.reasoning, repository_url, PROSE))
    if work.spared:
        parts.append(_NO_MODEL)
    return [part for part in parts if part]


def _format_release_notes(work: Work, limit: int = PROSE) -> str:
    """Return what the package's authors say changed; nothing where they say nothing."""
    text = without_hidden(work.release_notes, joiner=False)[0].strip()
    said = _ALL_AUTHORS if work.companions else _AUTHORS
    return f"{said}\n\n{fence_all(text, limit=limit)}" if text else ""


def _tell_checks(work: Work, repository_url: str) -> str:
    """Return in a few sentences what was run, what came of it, and who looked."""
    assert work.quality is not None, "the checks were run"
    problems = work.setup.problems if work.setup else ()
    problem = _words(problems[0], repository_url) if problems else ""
    said = headline(work.quality) if work.quality.runs else format_untold(work.quality)
    parts = [_UNINSTALLED.format(problem=problem) if problem else said]
    if work.verdict is not None:
        by = _UNSEEN if work.verdict.unseen else _BY[work.verdict.by]
        parts.append(by)
        if work.verdict.unseen:
            parts.append(_words(work.verdict.reasoning, repository_url))
    parts.append(format_setup_remarks(work.quality.baseline.setup))
    return " ".join(part for part in parts if part)


def _objections(work: Work, repository_url: str) -> str:
    """Return what could not be proved, and what fresh eyes noticed."""
    lines = [f"- Not proved: {each}" for bump in work.bumps for each in bump.notes]
    if work.verdict is not None and work.passed:
        lines += [f"- {each.description}" for each in work.verdict.issues]
    return "\n".join(_safe(lines, repository_url))


def _checks(work: Work, repository_url: str) -> str:
    """Return what the checks say; said without the dependencies, it is told to be worth little."""
    if work.quality is None:
        return ""
    table = checks_table(work.quality)
    if work.setup is None or not work.setup.problems:
        return table
    problem = _words(work.setup.problems[0], repository_url)
    return f"{_UNINSTALLED.format(problem=problem)}\n\n{table}"


def _next(work: Work) -> str:
    retire = work.found.retire
    if retire is not None:
        return (_MERGE_OR_CLOSE if work.passed else _AGAIN).format(days=retire.days)
    alerts = "alert" if sum(len(each.alerts) for each in work.groups) == 1 else "alerts"
    closes = _CLOSES.format(alerts=alerts)
    if work.handed_over:
        return say_next(work, closes)
    if work.passed:
        unseen = work.verdict is not None and work.verdict.unseen
        major = work.bump is not None and work.bump.major
        due = _LOOK if unseen else _READ if major else _MERGE
        due = _ASK if work.advisories_unknown else due
        return f"{_TRY if explain_untried(work) else due}; {closes}"
    return (
        "Nothing was published. Somebody has to decide: wait for a release, permit more in"
        " `remediation` of `.github/fettle.yml`, replace the package, or dismiss the alert with a"
        " reason."
    )


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
