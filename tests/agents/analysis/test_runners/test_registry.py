"""Of words and report the worse counts, and no name becomes more than a name."""

import re
import subprocess

import pytest

from agents.analysis.check_failures import FailuresByProgram, compare, read_failures
from agents.analysis.check_failures.named_tests import unpack_names
from agents.analysis.check_failures.reported import ReportedFailures
from agents.analysis.test_runners import (
    NOTHING,
    Additions,
    find_runner_call,
    join_reports,
    make_argv,
    read_reports,
    run_afresh,
    select_tests,
    split_files,
)
from agents.analysis.test_runners.registry import MOST_SELECTED, RUNNERS
from tests.agents.analysis.check_failures.test_compare import Ran


def tell(*names, **more):
    given = {"whole": True, "ended": True, "ran": 9, **more}
    return ReportedFailures(names=dict.fromkeys(names, 1), **given)


def join(words, report, exited=True):
    """Return what is kept of jest's words and of its report."""
    failures = FailuresByProgram(told={"jest": words} if words else {})
    joined = join_reports(failures, {"jest": report}, exited=exited)
    return joined.told.get("jest"), joined.reports.get("jest")


def test_a_report_that_hides_what_the_words_say_is_not_believed():
    words, report = join(tell("a", "b"), tell("a"))

    assert report is None
    assert words == tell("a", "b")


def test_words_that_hide_what_the_report_says_are_not_whole():
    words, report = join(tell("a"), tell("f > a", "f > b"))

    assert set(report.names) == {"f > a", "f > b"}
    assert not words.whole


@pytest.mark.parametrize(
    ("words", "report", "exited", "whole"),
    [
        (tell("a"), tell("a"), True, True),
        (tell("a"), tell("a"), False, False),
        (tell("a", early=True), tell("a"), True, False),
        (None, tell("a"), True, True),
        (None, tell("a", whole=False), True, False),
        (tell("a"), tell("a", whole=False), True, None),
        (tell("a", sessions=2), tell("a"), True, None),
        (tell("a", sessions=2), tell("a", sessions=1), True, None),
        (tell("a", sessions=2), tell("a", sessions=2), True, True),
    ],
    ids=[
        *("both", "stopped", "early", "alone", "unreadable", "unreadable beside words"),
        *("twice", "the last of two", "both of two"),
    ],
)
def test_a_report_counts_as_far_as_it_can_be_read(words, report, exited, whole):
    _, kept = join(words, report, exited)

    assert (kept.whole if kept else None) is whole


def test_fewer_tests_ran_than_one_of_them_says():
    assert join(tell(ran=3), tell(ran=9))[1].ran == 3
    assert join(tell(ran=9), tell(ran=3))[1].ran == 3


def test_one_runners_report_says_nothing_of_another_runner():
    """A test of jest fails newly, and pytest's report knows nothing of it."""

    def end(*names):
        jest = tell(*names) if names else tell()
        failures = FailuresByProgram(told={"pytest": tell("t.py::a"), "jest": jest})
        return Ran(1, join_reports(failures, {"pytest": tell("t.py::a")}, exited=True))

    assert compare([end()], end("j.js > b")).new == ("j.js > b",)


def test_a_build_that_passes_whatever_its_tests_say_is_read_by_its_report():
    def end(*names):
        return Ran(0, FailuresByProgram(reports={"Maven": tell(*names)}))

    assert compare([end()], end("SumTest adds")).new == ("SumTest adds",)
    assert compare([end("SumTest adds")], end("SumTest adds")).verdict == "no worse"
    assert compare([end("SumTest adds")], end()).verdict == "no worse"


def test_a_record_of_an_older_version_is_read():
    old = {
        "told": {"pytest": {"names": {"a": 1}}},
        "report": {"names": {"t a": 1}},
        "of_tests": True,
    }

    assert FailuresByProgram.model_validate(old).reports == {}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "[" * 100_000, '{"testResults": 3}', "null", "<a/>"]
)
@pytest.mark.parametrize("name", ["jest.json", "mocha.json", "go-test.json", "rspec.json", "x.trx"])
def test_a_report_may_hold_anything(name, text):
    reports = read_reports([(name, text)], {each.name for each in RUNNERS})

    assert all(not each.names and (not each.whole or not each.ran) for each in reports.values())


def test_a_cut_collection_holds_no_report():
    cut = "\nm .\n/w\nm pytest.xml\n<testsuites>\n[... 12 bytes left out ...]\n</testsuites>"

    assert split_files(cut, "m") == []
    assert split_files('\nm .\n/w\nm a.json\n{"/w/x": 1}', "m") == [("a.json", '{"x": 1}')]


def test_each_session_of_an_umbrella_of_mix_adds_to_its_report():
    line = '{"name":"test x (ATest)","state":"passed"}\n{"ended":true}\n'
    report = read_reports([("exunit.json", line * 2)], {"ExUnit"})["ExUnit"]

    assert (report.sessions, report.ran, report.whole) == (2, 2, True)


UNITTEST = "import unittest\nclass T(unittest.TestCase):\n    def test_two(self): pass\n"
HOSTILE = (
    "-rf",
    "--config=evil.js",
    "a\nb",
    "a\x00b",
    "a\x1b[2Kb",
    "file.js (all of it)",
    "at 0x… it fails",
)
NAMED = {
    "pytest": "t.py::{}",
    "go test": "x/y {}",
    "cargo test": "src/lib.rs {}",
    "rspec": "./a_spec.rb {}",
    "jest": "a.js > {}",
    "vitest": "a.js > {}",
    "node --test": "a.js > {}",
}


def select(runner, name):
    """Return what selects a test of a runner that is called directly, of that name."""
    call = find_runner_call(" ".join(runner.calls[0])) if runner.calls else None
    failures = FailuresByProgram(told={runner.name: tell(name)})
    return select_tests(failures, [name], call)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("runner", RUNNERS, ids=lambda each: each.name)
def test_a_name_that_could_be_an_option_or_is_no_name_selects_nothing(runner, name):
    assert select(runner, name) is None


@pytest.mark.parametrize("runner", RUNNERS, ids=lambda each: each.name)
def test_what_is_selected_begins_with_no_option_of_the_tests_choice(runner):
    """The name behind its file or target: options of the runner's own may stand before it."""
    chosen = select(runner, NAMED.get(runner.name, "{}").format("--evil=1"))

    words = chosen.arguments if chosen else ()
    assert not any(word.startswith(("--evil", "-evil")) for word in words)


@pytest.mark.parametrize("name", ["$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; #'])
def test_no_shell_reads_what_is_given(tmp_path, name):
    (tmp_path / ".git").mkdir()
    (tmp_path / "npx").write_text('#!/bin/bash\nprintf "%s|" "$OPTION" "${@:(-2)}"\n')
    (tmp_path / "npx").chmod(0o755)
    command = "export PATH=$PWD:$PATH && npx jest"
    given = Additions(("-t", name), {"OPTION": name})
    argv = make_argv(command, find_runner_call(command), given)

    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout == f"{name}|-t|{name}|"
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("command", ["python3 -m unittest -q", "cd a && python3 -m unittest -q"])
def test_unittest_names_what_it_runs(tmp_path, command):
    (tmp_path / ".git").mkdir()
    for folder in (tmp_path, tmp_path / "a"):
        folder.mkdir(exist_ok=True)
        (folder / "test_a.py").write_text(UNITTEST)

    argv = make_argv(command, find_runner_call(command), NOTHING)
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)

    told = read_failures(done.stderr, command, exited=True).told["unittest"]
    assert [*unpack_names(told.tests)] == ["test_a.T.test_two"]


def test_too_many_tests_are_run_with_all_others():
    names = [f"t.py::t{n}" for n in range(MOST_SELECTED + 1)]
    failures = FailuresByProgram(told={"pytest": tell(*names)})

    assert select_tests(failures, names, None) is None
    assert select_tests(failures, names[1:], None)
    assert select_tests(failures, [], None) is None


def test_arguments_reach_only_the_runner_that_the_command_calls():
    failures = FailuresByProgram(told={"jest": tell("a.js > t")})

    assert select_tests(failures, ["a.js > t"], None) is None
    assert select_tests(failures, ["a.js > t"], find_runner_call("npx vitest run")) is None
    assert select_tests(failures, ["a.js > t"], find_runner_call("npx jest"))


def test_bun_matches_a_test_by_what_it_stands_in():
    failures = FailuresByProgram(told={"bun": tell("sums > of (two)")})
    chosen = select_tests(failures, ["sums > of (two)"], find_runner_call("bun test"))

    option, pattern = chosen.arguments
    assert option == "-t"
    assert re.fullmatch(pattern, "sums of (two)")
    assert re.fullmatch(pattern, "sums > of (two)")
    assert not re.search(pattern, "sums of (two) and three")


def test_what_would_not_run_again_is_told_to():
    of_go = FailuresByProgram(told={"go test": tell("x/y TestA")})
    of_gradle = FailuresByProgram(told={"Gradle": tell("A > b")})

    assert run_afresh(of_go, None).variables == {"GOFLAGS": "-count=1"}
    assert run_afresh(of_gradle, find_runner_call("gradle test")).arguments == ("--rerun-tasks",)
    assert run_afresh(of_gradle, None) == NOTHING
