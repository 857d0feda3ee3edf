"""Sections of a pull request's body: what the evaluation and the checks said."""

from __future__ import annotations

from collections.abc import Callable

from agents.pipelines.resolve.work import ResolveWork, SubIssueWork
from agents.pipelines.stages.evaluation import Criterion, EvaluationFindings
from agents.text import one_line

Safe = Callable[[str], str]
CELL = 200  # characters of a text in a table

_NOT_ALL = "**Not all of this is fulfilled.**"


def asked_for(verdict: EvaluationFindings | None, safe: Safe) -> str:
    """Return each criterion of the issue with the commit and the test that fulfil it."""
    if verdict is None or not verdict.criteria:
        return ""
    rows = ["| Criterion | Commit | Test |", "| --- | --- | --- |"]
    rows += [_row(criterion, safe) for criterion in verdict.criteria]
    note = "" if all(each.met for each in verdict.criteria) else f"{_NOT_ALL}\n\n"
    return note + "\n".join(rows)


def format_verdict(work: ResolveWork, safe: Safe) -> str:
    """Return what the judge of the whole change said."""
    verdict = work.verdict
    if verdict is None:
        return ""
    flaws = "\n".join(f"- {_cell(flaw, safe)}" for flaw in work.flaws)
    return "\n\n".join(part for part in (safe(verdict.reasoning), flaws) if part)


def sub_issues(work: ResolveWork, safe: Safe) -> str:
    """Return each sub-issue with what came of it."""
    if not work.order.any:
        return ""
    begun = {part.assignment.part: part for part in work.parts}
    lines = [_line(each.number, begun.get(each.number), safe) for each in work.order.work]
    lines += [f"- [x] #{each.number}: was closed before" for each in work.order.done]
    lines += [
        f"- [ ] #{each.number}: waits for {', '.join(f'#{n}' for n in each.on)}"
        for each in work.order.waiting
    ]
    lines += [
        f"- [ ] {', '.join(f'#{n}' for n in ring)}: wait for each other"
        for ring in work.order.cycles
    ]
    lines += [f"- [ ] {each.reference}: in another repository" for each in work.order.elsewhere]
    return "\n".join(lines)


def _line(number: int, part: SubIssueWork | None, safe: Safe) -> str:
    if part is None:
        return f"- [ ] #{number}: not begun"
    if part.done:
        return f"- [x] #{number}: {_cell(part.made.summary, safe)}"
    return f"- [ ] #{number}: **not done.** {_cell(part.why_not, safe)}"


def _row(criterion: Criterion, safe: Safe) -> str:
    commit = criterion.commit[:10] if criterion.met and criterion.commit else "**not fulfilled**"
    if criterion.met and not criterion.commit:
        commit = "no commit named"
    named = one_line(criterion.test, CELL).replace("`", "'")
    test = f"`{named}`" if named else "none"
    cells = (_cell(criterion.text, safe), commit, test)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _cell(text: str, safe: Safe) -> str:
    """Return the text on one line, safe to publish."""
    return safe(one_line(text, CELL)).replace("\n", " ")
