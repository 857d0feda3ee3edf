"""Of a log only what the failed steps wrote is shown, as far as the times tell."""

from __future__ import annotations

from app.github.checks.job_log import CUT, JobLog

DAY = "2026-01-01T10:00"


def step(name, conclusion, begun, ended, zone="Z"):
    times = {"started_at": f"{DAY}:{begun}{zone}", "completed_at": f"{DAY}:{ended}{zone}"}
    return {"name": name, "conclusion": conclusion, **times}


LINES = tuple((f"{DAY}:{second:02}", f"at {second}") for second in range(0, 60, 10))
STEPS = (
    step("Set up", "success", "00", "09"),
    step("Test", "failure", "10", "25"),
    step("Upload", "skipped", "25", "25"),
    step("Clean up", "success", "26", "59"),
)


def test_what_failed_is_taken_by_its_times():
    log = JobLog(LINES, whole=True, steps=STEPS)
    assert log.failed == ("Test",)
    assert log.tail_of_failed(1_000) == f"{CUT}at 10\nat 20"
    assert log.tail(1_000) == "\n".join(text for _, text in LINES)


def test_times_of_another_zone_are_the_same_times():
    steps = (step("Test", "failure", "10", "25", "+00:00"),)
    assert JobLog(LINES, whole=True, steps=steps).tail_of_failed(1_000).endswith("at 10\nat 20")
    there = {"started_at": "2026-01-01T02:00:10.000-08:00", "completed_at": f"{DAY}:25Z"}
    moved = ({**STEPS[1], **there},)
    assert JobLog(LINES, whole=True, steps=moved).tail_of_failed(1_000).endswith("at 10\nat 20")


def test_without_times_all_of_it_is_shown():
    never = {"name": "Test", "conclusion": "failure", "started_at": None, "completed_at": None}
    log = JobLog(LINES, whole=True, steps=(never,))
    assert log.tail_of_failed(1_000) == log.tail(1_000)
    assert JobLog(LINES, whole=True, steps=()).tail_of_failed(1_000) == log.tail(1_000)


def test_where_none_failed_those_count_that_were_ended():
    steps = (step("Test", "cancelled", "10", "25"), *STEPS[2:])
    assert JobLog(LINES, whole=True, steps=steps).failed == ("Test",)


def test_a_long_one_is_cut_at_a_line():
    lines = tuple((f"{DAY}:10", f"number {number}") for number in range(1_000))
    said = JobLog(lines, whole=True, steps=STEPS).tail_of_failed(200)
    assert len(said) <= 200
    assert said.startswith(f"{CUT}number ")
    assert said.endswith("number 999")
    assert JobLog(lines, whole=False, steps=()).tail(10**6).startswith(f"{CUT}number 0\n")
