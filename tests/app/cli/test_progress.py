"""The checklist in a terminal and in a log: nothing repeated, nothing obeyed, nothing lost."""

import io
import re

import pytest
from rich.console import Console

from agents.ports import Usage
from app.cli.progress import TerminalProgress

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def log():
    return TerminalProgress(Console(file=io.StringIO(), width=80))


def terminal(**options):
    options = {"width": 80, "height": 20, "force_terminal": True, **options}
    return TerminalProgress(Console(file=io.StringIO(), **options))


def lines(progress):
    """Return what a log got, without the times."""
    shown = progress.console.file.getvalue()
    return [line.partition(" s  ")[2] for line in shown.splitlines()]


def test_a_log_gets_a_line_for_each_thing():
    progress = log()
    progress.stage_started("triage/1", "Understand")
    progress.tool_called("triage/1", "bash", "ls")
    progress.report_spending(Usage(output=3), 0.1, 1)
    progress.stage_finished("triage/1", "a bug")
    progress.stage_started("implement/2", "Make the step")
    progress.end()
    progress.end()
    assert lines(progress) == [
        "Understand",
        "  bash ls",
        "  -> a bug",
        "Make the step (2)",
        "  -> done",
    ]


def test_what_a_stage_came_to_may_be_told_late_and_stands_where_it_belongs():
    progress = log()
    progress.stage_started("triage/1", "Understand")
    progress.stage_started("decompose/1", "Plan")
    progress.tool_called("decompose/1", "read", "a.py")
    assert lines(progress) == ["Understand"]
    progress.stage_finished("triage/1", "a bug")
    assert lines(progress) == ["Understand", "  -> a bug", "Plan", "  read a.py"]
    progress.end()


def test_being_told_twice_changes_nothing():
    progress = log()
    for _ in range(2):
        progress.stage_started("triage/1", "Understand")
        progress.stage_finished("triage/1", "a bug")
    progress.end()
    progress.stage_started("decompose/1", "Plan")
    progress.tool_called("decompose/1", "read", "a.py")
    assert lines(progress) == ["Understand", "  -> a bug"]


@pytest.mark.parametrize("how", ["stopped", "failed"])
def test_a_log_says_how_it_ended(how):
    progress = log()
    progress.stage_started("triage/1", "Understand")
    progress.end(how)
    assert lines(progress) == ["Understand", f"  -> {how}"]


def test_words_of_others_are_shown_and_not_obeyed():
    for progress in (log(), terminal()):
        progress.stage_started("triage/1", "Understand")
        progress.tool_called("triage/1", "bash", "printf '\x1b]0;title\x07' [bold]x[/]\nnext")
        progress.stage_finished("triage/1", "\x1b[2J\x9b1m gone [red] \u202exe\u200b")
        progress.end()
        shown = progress.console.file.getvalue()
        assert "\x1b]0" not in shown
        assert "\x1b[2J" not in shown
        assert "\x9b" not in shown
        assert "\\u202exe\\u200b" in shown
        assert "gone [red]" in shown


def test_a_terminal_keeps_the_whole_list_once_it_is_over():
    progress = terminal(height=10)
    for number in range(1, 31):
        progress.stage_started(f"implement/{number}", "Make the step")
        progress.stage_finished(f"implement/{number}", f"came to {number}")
    before = len(progress.console.file.getvalue())
    progress.end("failed")
    rest = ANSI.sub("", progress.console.file.getvalue()[before:])
    whole = rest.splitlines()[-30:]
    assert [n for n, line in enumerate(whole, start=1) if f"came to {n} " not in line] == []
    assert [line.split()[0] for line in whole] == ["✓"] * 29 + ["✗"]


def test_a_terminal_shows_no_more_than_it_has_room_for():
    progress = terminal(height=10)
    for number in range(1, 31):
        progress.stage_started(f"implement/{number}", "Make the step")
    with progress.console.capture() as captured:
        progress.console.print(progress._render())
    progress.end()
    assert len(captured.get().splitlines()) <= 10
    assert "Make the step (30)" in captured.get()
    assert "stages before" in captured.get()


def test_interrupted_it_says_what_happens_next():
    progress = log()
    progress.stage_started("triage/1", "Understand")
    progress.announce_stop()
    assert "Ctrl-C again stops at once." in progress.console.file.getvalue()
