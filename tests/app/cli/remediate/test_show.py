"""The report as people, reports and programs get it: nothing of others lives in it."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from agents.run import Outcome
from app.cli.remediate.show import lay_groups, markdown, show
from app.cli.runs.show import LIST, fit_table
from app.operator.remediation_report import (
    EXIT_CODES,
    GroupReport,
    Report,
    RepositoryReport,
    find_worst,
    report_ended,
)
from app.secrets.redaction import Redactor
from tests.app.operator.test_scan_file import make_scan

EVIL = (
    "evil\x1b]0;gone\x07\x1b[2J\u202e @octo |<img src=x>![](https://evil.example/x) `x` #1\n# Head"
)
SECRET = "ghs_0123456789abcdefghijABCDEFGHIJ012345"


def group(result="scanned", **more):
    values = {"ecosystem": "pip", "package": "jinja2", "directory": "api", "alerts": (5,)}
    return GroupReport.model_validate(
        {**values, "severity": "high", "result": result, "text": "t", "found": make_scan(), **more}
    )


def report_of(*groups, command="scan", **more):
    repository = RepositoryReport(repository="octo/shop", commit="c" * 40, groups=groups, **more)
    return Report.from_repositories(command, [repository])


def test_a_table_of_hostile_words(capsys):
    hostile = group(package=EVIL, ecosystem=EVIL, directory=EVIL, text=EVIL, url=EVIL)
    show(report_of(hostile, error=EVIL), "table", Redactor())
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\\x1b" in out
    assert not any(each.startswith("# Head") for each in out.splitlines())


def test_markdown_of_hostile_words():
    hostile = group(package=EVIL, ecosystem=EVIL, directory=EVIL, text=EVIL, report="### Found")
    text = markdown(report_of(hostile, error=EVIL, skipped=EVIL))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert html.count("<h1>") == 1
    assert html.count("<img") == html.count('evil.example/x"') == 0
    rows = [each for each in html.splitlines() if each == "<tr>"]
    assert len(rows) == 2, "a name makes no row of its own"
    assert "\x1b" not in text
    assert " @octo" not in text
    assert "<summary><code>evil" in text


def test_secrets_go_from_every_form(capsys):
    for how in ("table", "markdown", "json"):
        shown = report_of(group(text=f"GitHub said {SECRET}"))
        show(shown, how, Redactor([SECRET]))
        assert SECRET not in capsys.readouterr().out


def test_json_is_ascii_and_whole(capsys):
    shown = report_of(group(text=EVIL), error="e")
    show(shown, "json", Redactor())
    out = capsys.readouterr().out
    assert out.isascii()
    assert Report.model_validate(json.loads(out)) == shown
    assert set(json.loads(out)) == {"format", "command", "complete", "repositories", "totals"}


def test_what_is_told_of_a_fix(capsys):
    fixed = group("fixed", level=1, made_by="ladder", moved=("jinja2 3.1.3 -> 3.1.4",), tokens=0)
    show(report_of(fixed, command="remediate"), "table", Redactor())
    out = capsys.readouterr().out
    moved = "jinja2 3.1.3 -> 3.1.4; The repository's own requirement names the new version"
    assert moved in " ".join(out.split())
    assert "1 alert about 1 package in 1 repository; 1 fixed; 0 tokens, $0.00." in out


def test_it_can_be_read_at_eighty_columns(capsys, monkeypatch):
    """No word is broken, and what was made in a clone is named."""
    monkeypatch.setattr("app.cli.remediate.show.WIDE", 80)
    moved = ("jinja2 3.1.3 -> 3.1.4", "markupsafe 2.0.1 -> 2.1.5")
    fixed = group("fixed", level=0, made_by="ladder", moved=moved, branch="bot/alert-5-jinja2")
    show(report_of(fixed, command="remediate"), "table", Redactor())
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    for word in ("jinja2", "(pip)", "high", "fixed", "markupsafe", "requirement", "2.1.5"):
        assert word in out, word
    assert "branch bot/alert-5-jinja2" in out
    assert "pull request" not in out


def test_the_end_of_what_was_stopped_is_told(capsys):
    show(report_of(group()).model_copy(update={"complete": False}), "table", Redactor())
    assert "Stopped before everything was tried" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([], 3),
        (["nothing_to_do"], 3),
        (["fixed", "nothing_to_do"], 0),
        (["scanned"], 0),
        (["fixed", "waits"], 2),
        (["fixed", "by_hand", "nothing_to_do"], 2),
        (["by_hand", "fix_failed"], 4),
        (["fix_failed", "fixed", "waits"], 4),
        (["fix_failed", "verify_failed"], 5),
        (["verify_failed", "infra_error", "fixed"], 6),
    ],
)
def test_the_worst_counts(results, code):
    assert EXIT_CODES[find_worst(results)] == code
    assert report_of(*map(group, results)).exit_code == code


def test_a_repository_of_which_nothing_could_be_had_is_an_error():
    assert report_of(error="GitHub is down").exit_code == 6
    assert report_of(group("fixed"), error="then it went down").exit_code == 6
    assert report_of(skipped="archived").exit_code == 3


@pytest.mark.parametrize(
    ("kind", "rule", "result"),
    [
        ("pull_request", "remediate/fixed", "fixed"),
        ("comment", "remediate/scanned", "scanned"),
        ("covered", "remediate/nothing_to_do", "nothing_to_do"),
        ("failed", "remediate/fix_failed", "fix_failed"),
        ("failed", "remediate/verify_failed", "verify_failed"),
        ("failed", "remediate/by_hand", "by_hand"),
        ("failed", None, "infra_error"),
        ("cancelled", None, "infra_error"),
        ("refused", "no_access", "infra_error"),
    ],
)
def test_how_a_run_ends_is_how_its_group_does(kind, rule, result):
    outcome = Outcome(kind=kind, rule=rule, text="t", details={"odd": 1})
    assert report_ended(make_scan().group, "r", outcome, (0, 0.0)).result == result


def test_packages_can_be_read_at_eighty_columns():
    """A name is not folded in the middle: what needs more room gets lines of its own."""
    long = group("unverified").model_copy(
        update={
            "package": "@babel/plugin-transform-typescript",
            "directory": "packages/frontend/web",
            "moved": ("7.22.0", "7.23.2"),
            "level": 3,
        }
    )
    report = report_of(long, group("fix_failed")).repositories[0]
    shown = StringIO()
    console = Console(file=shown, width=80, force_terminal=False)

    console.print(lay_groups(report, 80))

    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    named = next(line for line in lines if line.startswith("@babel/plugin-transform-typescript ("))
    assert named.endswith(" in packages/frontend/web")
    assert any(line.startswith("  made, not verified  #") for line in lines)
    assert any("7.22.0, 7.23.2; " in line for line in lines)
    assert len(lay_groups(report, 140).columns) == 5


def test_a_list_can_be_read_at_eighty_columns():
    """What a narrow terminal has no room for is left out whole, instead of one letter a line."""
    url = "https://github.com/octo/lib/pull/31"
    row = ("0007-ab", "octo/lib#7", "resolve", "done", "", "3 h", "$0.12", "mara", url)
    shown = StringIO()
    console = Console(file=shown, width=80, force_terminal=False)

    console.print(fit_table(LIST, [row], state=3, width=80))

    text = shown.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert all(word in text for word in ("0007-ab", "octo/lib#7", "done", "3 h", "$0.12"))
    assert "mara" not in text
    wide = fit_table(LIST, [row], state=3, width=140)
    assert len(wide.columns) == len(LIST)
