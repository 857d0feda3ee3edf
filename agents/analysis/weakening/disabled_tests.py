"""Find tests that a change disables, and warnings that it silences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agents.analysis.weakening.diff_views import FileDiff
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.skip_markers import FILE, SkipMarker, find_marks, list_silencers
from agents.analysis.weakening.test_cases import ParsedTest
from agents.analysis.weakening.test_changes import ParsedSuite


def find_disabled(suites: Sequence[ParsedSuite]) -> Iterator[Finding]:
    """Yield the marks that are new: on tests that were there, or that leave out all others."""
    names = _names(suites)
    before = Counter((m.word, m.case) for suite in suites for m in find_marks(suite.before))
    paired = {id(after) for suite in suites for _, after in suite.pairs}
    for suite in suites:
        old = {case.name for case in suite.after if id(case) in paired}
        # What a new conftest.py switches off was there before it.
        new_file = suite.change.old is None and not suite.change.path.endswith("conftest.py")
        for mark in find_marks(suite.after):
            was = names.get(mark.case, mark.case)
            if before[mark.word, was]:
                before[mark.word, was] -= 1
                continue
            new = new_file if mark.case == FILE else mark.case not in old
            yield from _report_marker(suite.change.path, mark, new=new)


def find_silencers(changes: Sequence[FileDiff]) -> Iterator[Finding]:
    """Yield what is new of the comments and attributes that silence a tool."""
    before = Counter(s.word for c in changes for s in list_silencers(c.old or "", c.before))
    for change in changes:
        for each in list_silencers(change.path, change.after):
            if before[each.word]:
                before[each.word] -= 1
            else:
                yield make_finding(change.path, each.line, "suppressed", each.text, grave=each.wide)


def _report_marker(path: str, mark: SkipMarker, *, new: bool) -> Iterator[Finding]:
    if mark.focus:
        yield make_finding(path, mark.line, "focused", mark.text)
    elif not new:
        yield make_finding(path, mark.line, "skipped", mark.text)
    elif not mark.conditional:  # a new test that never runs proves nothing, but takes nothing away
        yield make_finding(path, mark.line, "skipped", mark.text, grave=False)


def _names(suites: Sequence[ParsedSuite]) -> dict[str, str]:
    """Return the old name of each test that has another one now."""
    pairs: list[tuple[ParsedTest, ParsedTest]] = [pair for suite in suites for pair in suite.pairs]
    return {after.name: before.name for before, after in pairs if after.name != before.name}
