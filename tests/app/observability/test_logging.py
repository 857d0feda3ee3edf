"""Log lines: fixed keys, no secrets, nothing that could fake a line or drive a terminal."""

from __future__ import annotations

import io
import json
import logging

import pytest
import structlog
from structlog.contextvars import bound_contextvars

from app.observability.logging import Sparingly, configure_logging


class Cleaner:
    def clean(self, text):
        return text.replace("hunter2", "[redacted]")


class Terminal(io.StringIO):
    def isatty(self):
        return False


@pytest.fixture(autouse=True)
def restored():
    root = logging.getLogger()
    before = (root.handlers, root.level)
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers, level = before
    root.setLevel(level)


@pytest.fixture
def start():
    def start_logging(style="json", level="info"):
        out = Terminal()
        configure_logging(style=style, level=level, cleaner=Cleaner(), stream=out)
        return structlog.get_logger("x"), out

    return start_logging


def lines(out):
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_keys_are_bound_and_githubs_event_is_not_the_message(start):
    log, out = start()
    with bound_contextvars(delivery="d", event="issues", action="labeled", installation=4, run="r"):
        with bound_contextvars(stage="triage/1", repository="o/r"):
            log.info("working", number=3)
        log.warning("later")
    log.info("outside")
    first, second, third = lines(out)
    stamp = first.pop("timestamp")
    assert stamp.endswith("Z")
    assert first == {
        "message": "working",
        "level": "info",
        "number": 3,
        "delivery": "d",
        "event": "issues",
        "action": "labeled",
        "installation": 4,
        "run": "r",
        "stage": "triage/1",
        "repository": "o/r",
    }
    assert "stage" not in second
    assert "run" not in third


def test_libraries_log_the_same_way(start):
    _, out = start()
    with bound_contextvars(run="r"):
        logging.getLogger("some.library").warning("it says %s", "hunter2")
        logging.getLogger("aiohttp.server").info("quiet")
    (line,) = lines(out)
    assert line["message"] == "it says [redacted]"
    assert (line["logger"], line["run"], line["level"]) == ("some.library", "r", "warning")


def test_secrets_are_taken_out_of_every_string(start):
    log, out = start()
    try:
        int("with hunter2")
    except ValueError:
        log.exception("hunter2", a=["hunter2"], b={"c": ("x hunter2",)}, d=b"hunter2", e=object)
        logging.getLogger("z").exception("hunter2")
    assert "hunter2" not in out.getvalue()
    assert out.getvalue().count("[redacted]") >= 7


@pytest.mark.parametrize("style", ["json", "console"])
def test_nothing_fakes_a_line_or_drives_a_terminal(start, style):
    log, out = start(style)
    odd = "a\nlevel=error fake\r\x1b[31m\x00\x7f\u2028\u202e"
    log.info(odd, value=odd, **{"k\ney": 1})
    (line,) = out.getvalue().splitlines()
    assert not any(ord(c) < 32 or c in "\x7f\u2028\u202e" for c in line)


def test_a_traceback_keeps_its_lines_but_they_are_marked(start):
    log, out = start("console")
    try:
        fail("first\n2026-01-01 [info] fake\x1b[0m")
    except ValueError:
        log.exception("failed")
    first, *rest = out.getvalue().splitlines()
    assert "failed" in first
    assert len(rest) > 3
    assert all(line.startswith("  | ") for line in rest)
    assert "\x1b" not in out.getvalue()


def fail(text):
    raise ValueError(text)


def test_levels(start):
    log, out = start(level="warning")
    log.info("no")
    logging.getLogger("z").info("no")
    log.warning("yes")
    assert [line["message"] for line in lines(out)] == ["yes"]


def test_a_stream_that_nobody_reads_stops_nothing(start):
    log, out = start()
    out.close()
    log.info("into the void")


def test_a_librarys_lines_of_one_kind_come_once_a_minute(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("app.observability.logging.time.monotonic", lambda: now[0])
    quiet = Sparingly("Nothing to see")

    def passes(text):
        return quiet.filter(logging.LogRecord("dbos", logging.WARNING, "", 0, text, (), None))

    lines = [f"Exception in the queue thread for the queue runs: {each}" for each in range(3)]
    assert [passes(line) for line in lines] == [True, False, False]
    assert passes("Another kind of line")
    assert not passes("Nothing to see here")
    now[0] += 61
    assert passes(lines[0])


def test_what_waits_says_so_once_a_minute_and_then_how_often(start, monkeypatch):
    log, out = start()
    clock = iter([0.0, 1.0, 2.0, 3.0, 70.0])
    monkeypatch.setattr("app.observability.logging.time.monotonic", lambda: next(clock))
    with bound_contextvars(run="a"):
        log.warning("step interrupted", reason="the disk is full")
        log.warning("step interrupted", reason="the disk is full")
    with bound_contextvars(run="b"):
        log.warning("step interrupted", reason="the disk is full")
        log.warning("step interrupted", reason="no more connections")
    with bound_contextvars(run="a"):
        log.warning("step interrupted", reason="the disk is full")
    assert [(each["run"], each["reason"], each.get("repeated")) for each in lines(out)] == [
        ("a", "the disk is full", None),
        ("b", "the disk is full", None),
        ("b", "no more connections", None),
        ("a", "the disk is full", 1),
    ]


def test_what_says_no_reason_is_always_written(start):
    log, out = start()
    for _ in range(3):
        log.info("step done", seconds=1)
        log.error("run failed", reason="it broke")
    assert len(lines(out)) == 6


def test_a_traceback_within_the_words_of_a_library_is_cut_to_its_end(start):
    _, out = start()
    told = (
        'Traceback (most recent call last):\n  File "x.py", line 1\nOSError: no more connections\n'
    )
    logging.getLogger("some.library").warning("polling: %s", told)
    (line,) = lines(out)
    assert line["message"] == "polling: OSError: no more connections"
