"""Print chapter three: the alerts, and what was done about each."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from agents.text import printable
from app.demo.alerts.chapter import AlertsResult, Chapter

_MADE_UP = " They are made up, since no index here has the real ones."


def alerts_found(chapter: Chapter) -> Group:
    """Return what GitHub says, before anything is done about it."""
    count = len(chapter.alerts)
    number = "a vulnerable package" if count == 1 else f"{count} vulnerable packages"
    assert chapter.repository is not None, "GitHub has found them in one"
    head = f"GitHub finds {number} in {chapter.repository.full_name}."
    table = Table.grid(padding=(0, 2))
    for case, _ in chapter.alerts:
        about = f"{case.package} {case.vulnerable}, {case.severity}, in {case.manifest}"
        table.add_row(Text(case.ghsa, "cyan"), Text(about))
        table.add_row("", Text(case.summary, "dim"))
    made_up = _MADE_UP if chapter.made_up else ""
    return Group("", Text.assemble((head, "bold"), made_up), "", table, "")


def alerts_mended(alerts: AlertsResult) -> Table:
    """Return each alert with its fix, and whether the attack still works."""
    table = Table.grid(padding=(0, 2))
    for each in alerts.mended:
        good = Text(each.title) if each.number else Text(each.outcome, "bold red")
        table.add_row(Text(each.package, "cyan"), good, Text(each.by, "dim"))
        for when in ("before", "after"):
            printed = each.exploit[when]
            safe = printed == each.exploit["safe"]
            shown = printable(printed.splitlines()[-1] if printed else "not tried")
            word = Text(f"the attack, {when}", "dim")
            table.add_row("", word, Text(shown, "green" if safe else "red"))
    tokens = sum(each.tokens for each in alerts.mended)
    count = "1 alert" if len(alerts.mended) == 1 else f"{len(alerts.mended)} alerts"
    spent = f"${alerts.cost_usd:.2f} for {tokens:,} tokens"
    table.add_row("", Text(f"{count} in {alerts.seconds:.1f} s, {spent}", "dim"), "")
    return table
