"""The report of `fettle scan` and `fettle remediate`: a table for people, Markdown, or JSON."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Literal

import typer
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agents.pipelines.remediate.ladder import Level
from agents.pipelines.remediate.report import HOW
from agents.pipelines.stages.quality import to_code
from agents.text import one_line, publish
from app.operator.remediation_report import GroupReport, Report, ReportedResult, RepositoryReport
from app.secrets.redaction import Redactor
from app.views.text import redact, to_line

Format = Literal["table", "json", "markdown"]

NARROW = 100  # columns of a terminal below which a table has no room for names
WIDE = 200  # characters where no terminal says how many there are
CELL, TEXT = 60, 300
STYLES: dict[ReportedResult, str] = {
    "fixed": "bold green",
    "scanned": "bold",
    "nothing_to_do": "dim",
    "waits": "bold yellow",
    "unverified": "bold yellow",
    "by_hand": "bold yellow",
    "fix_failed": "bold red",
    "verify_failed": "bold red",
    "infra_error": "bold red",
}
WORDS: dict[ReportedResult, str] = {
    "fixed": "fixed",
    "scanned": "found",
    "nothing_to_do": "nothing to do",
    "waits": "waits for a decision",
    "unverified": "made, not verified",
    "by_hand": "for a person with the tool",
    "fix_failed": "no fix",
    "verify_failed": "fix did not stand",
    "infra_error": "could not be tried",
}
_STOPPED = "Stopped before everything was tried: this is what was done until then."
_HEADS = ("Package", "Alerts", "Severity", "Result", "What")
_REACHED = {"yes": ", reached", "unsure": "", "no": ", not reached"}

_ALERT, _PACKAGE = ("alert", "alerts"), ("package", "packages")
_REPOSITORY = ("repository", "repositories")


def show(report: Report, how: Format, redactor: Redactor) -> None:
    """Print it on standard output."""
    shown = Report.model_validate(redact(report.model_dump(mode="json"), redactor))
    if how == "json":
        typer.echo(shown.as_json)
    elif how == "markdown":
        typer.echo(markdown(shown))
    else:
        _table(shown)


# --- for people at a terminal -------------------------------------------------------------------


def _table(report: Report) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    for each in report.repositories:
        console.print(Text(to_line(each.repository, TEXT), "bold"))
        if each.groups:
            console.print(lay_groups(each, console.width))
        for text in filter(None, (each.error, each.skipped)):
            console.print(Text(f"  {to_line(text, TEXT)}", "red" if each.error else "dim"))
        if not (each.groups or each.error or each.skipped):
            console.print(Text("  No open alert.", "dim"))
        for group in each.groups:
            for place in filter(None, (group.url, _name_result(group))):
                console.print(Text(f"  {to_line(group.package, CELL)}  {to_line(place, TEXT)}"))
    console.print(Text(_sum(report), STYLES[report.result]), soft_wrap=True)
    if not report.complete:
        console.print(Text(_STOPPED, "yellow"))


def lay_groups(repository: RepositoryReport, width: int) -> Table | Group:
    """Return a table of the packages, or a block of lines for each on a narrow terminal."""
    if width < NARROW:
        return Group(*(_lay_block(each) for each in repository.groups))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head in _HEADS:
        table.add_column(head, overflow="fold", ratio=2 if head == "What" else None)
    for each in repository.groups:
        *cells, result, what = [to_line(cell, TEXT) for cell in _cells(each)]
        table.add_row(*map(Text, cells), Text(result, STYLES[each.result]), Text(what))
    return table


def _lay_block(group: GroupReport) -> Group:
    package, *more, result, what = [to_line(cell, TEXT) for cell in _cells(group)]
    head = Text(f"{result}  ", STYLES[group.result])
    head.append("  ".join(filter(None, more)), "default")
    lines = (head, Text(what)) if what else (head,)
    return Group(Text(package), *(Padding(each, (0, 0, 0, 2)) for each in lines))


def _cells(group: GroupReport) -> tuple[str, ...]:
    where = f" in {group.directory}" if group.directory else ""
    versions = ", ".join(group.found.vulnerable) if group.found else ""
    moved = ", ".join(group.moved) or versions
    said = (
        "" if group.result == "unverified" else _describe_maker(group)
    )  # why it is not comes first
    return (
        f"{group.package} ({group.ecosystem}){where}",
        _numbers(group),
        f"{group.severity or ''}{_tell_reach(group)}",
        WORDS[group.result],
        "; ".join(filter(None, (moved, said or group.text))),
    )


def _name_result(group: GroupReport) -> str:
    """Return branch, commit and run, as far as there are any."""
    branch = f"branch {group.branch}" if group.branch else ""
    commit = f"commit {group.commit[:12]}" if group.commit else ""
    return ", ".join(filter(None, (branch, commit, group.run and f"run {group.run}")))


def _numbers(group: GroupReport) -> str:
    shown = " ".join(f"#{number}" for number in group.alerts[:5])
    more = len(group.alerts) - 5
    return f"{shown} and {more} more" if more > 0 else shown


def _tell_reach(group: GroupReport) -> str:
    """Return how far the alerts reach, the worst of them."""
    triage = group.found.triage if group.found else ()
    affected = {each.affected for each in triage}
    worst = next((each for each in ("yes", "unsure", "no") if each in affected), "unsure")
    return _REACHED[worst]


def _describe_maker(group: GroupReport) -> str:
    if group.level is not None:
        return HOW[Level(group.level)].partition(".")[0]
    by = {"engineer": "by an engineer (a model)", "other": "by another's pull request"}
    return by.get(group.made_by, "")


def _sum(report: Report) -> str:
    totals = report.totals
    kinds = (f"{totals.results[each]} {WORDS[each]}" for each in WORDS if each in totals.results)
    failed = f"{_count(totals.errors, _REPOSITORY)} failed" if totals.errors else ""
    spent = f"{totals.tokens:,} tokens, ${totals.usd:.2f}"
    about = f"{_count(totals.alerts, _ALERT)} about {_count(totals.groups, _PACKAGE)}"
    found = f"{about} in {_count(totals.repositories, _REPOSITORY)}"
    return "; ".join(filter(None, (found, ", ".join(kinds), failed, spent))) + "."


def _count(count: int, words: tuple[str, str]) -> str:
    return f"{count} {words[count != 1]}"


# --- for a report -------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    """Return the report as Markdown, in which nothing of others lives."""
    what = "Scan" if report.command == "scan" else "Remediation"
    parts = [f"# {what} of Dependabot alerts", _sum(report)]
    parts += [] if report.complete else [f"**{_STOPPED}**"]
    for each in report.repositories:
        parts += _repository(each)
    return "\n\n".join(parts)


def _repository(repository: RepositoryReport) -> Iterator[str]:
    yield f"## {to_code(repository.repository)}"
    if repository.commit:
        yield f"At {to_code(repository.commit[:12])}."
    for text in filter(None, (repository.error, repository.skipped)):
        yield publish(one_line(text, TEXT))
    if repository.groups:
        rows = [f"| {' | '.join(_HEADS)} |", f"|{' --- |' * len(_HEADS)}"]
        yield "\n".join([*rows, *map(_row, repository.groups)])
    elif not (repository.error or repository.skipped):
        yield "No open alert."
    for group in repository.groups:
        if group.report:
            where = f" in {to_code(group.directory)}" if group.directory else ""
            result = WORDS[group.result]
            name = html.escape(one_line(group.package, CELL))
            yield f"<details><summary><code>{name}</code>: {result}</summary>"
            yield f"{to_code(group.package)}{where}" + (
                f": {one_line(group.url, TEXT)}" if group.url else ""
            )
            if named := _name_result(group):
                yield publish(one_line(named, TEXT))
            yield group.report
            yield "</details>"


def _row(group: GroupReport) -> str:
    package, alerts, severity, result, what = _cells(group)
    said = publish(one_line(what, TEXT)).replace("|", "¦").replace("\n", " ")
    return f"| {' | '.join((to_code(package), alerts, severity, result, said))} |"
