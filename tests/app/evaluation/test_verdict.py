"""The verdict and its exit code, from results alone; JUnit files, friendly and not."""

from __future__ import annotations

import pytest

from agents.ports import Usage
from app.evaluation.case import HiddenTests, JudgeSettings
from app.evaluation.result import CaseResult, Evaluation
from app.evaluation.verdict import (
    JudgeRun,
    TestOutcomes,
    Unreadable,
    compare,
    find_unsound,
    read_junit,
)


def make_judge_run(**results):
    return JudgeRun({name.replace("__", "::"): result for name, result in results.items()}, 0, "")


def judge(*must_pass, may_fail=()):
    return JudgeSettings(
        hidden=HiddenTests(take=("tests",)),
        command='run "$REPORT"',
        must_pass=must_pass,
        may_fail=may_fail,
    )


EMPTY = make_judge_run()


def test_a_pattern_holds_for_all_that_it_matches():
    before = TestOutcomes(EMPTY, make_judge_run(t__a1="failed", t__a2="failed"))
    found = compare(
        judge("t::a*"), before, TestOutcomes(EMPTY, make_judge_run(t__a1="passed", t__a2="failed"))
    )
    assert found.reasons == ["hidden tests fail: `t::a2`"]
    assert found.turned == {"t::a1": ("failed", "passed"), "t::a2": ("failed", "failed")}


def test_brackets_of_a_test_are_no_pattern():
    before = TestOutcomes(EMPTY, EMPTY)
    after = TestOutcomes(EMPTY, JudgeRun({"t::a[x-1 Bytes]": "passed"}, 0, ""))
    assert compare(judge("t::a[*-1 Bytes]"), before, after).solved
    assert not compare(
        judge("t::a[xy]"), before, TestOutcomes(EMPTY, make_judge_run(t__ax="passed"))
    ).solved


@pytest.mark.parametrize("now", ["failed", "skipped", None])
def test_what_passed_must_go_on_passing(now):
    before = TestOutcomes(make_judge_run(t__old="passed"), make_judge_run(t__new="failed"))
    own = make_judge_run(**({"t__old": now} if now else {}))
    found = compare(judge("t::new"), before, TestOutcomes(own, make_judge_run(t__new="passed")))
    assert found.lost == ["t::old"]
    assert not found.solved
    allowed = judge("t::new", may_fail=("t::o*",))
    assert compare(allowed, before, TestOutcomes(own, make_judge_run(t__new="passed"))).solved


def test_what_failed_before_may_go_on_failing():
    both = TestOutcomes(make_judge_run(t__old="failed"), EMPTY)
    after = TestOutcomes(make_judge_run(t__old="failed"), make_judge_run(t__new="passed"))
    assert compare(judge("t::new"), both, after).solved


def test_many_reasons_are_cut_short():
    before = TestOutcomes(make_judge_run(**{f"t__{n}": "passed" for n in range(9)}), EMPTY)
    found = compare(judge("t::new"), before, TestOutcomes(EMPTY, make_judge_run(t__new="passed")))
    assert found.reasons[0].endswith("`t::4` and 4 more")


def test_tests_that_give_no_result_are_told():
    silent = JudgeRun({}, 1, "", "wrote no report")
    fine = TestOutcomes(make_judge_run(t__old="passed"), EMPTY)
    found = compare(judge("t::new"), fine, TestOutcomes(silent, silent))
    assert found.reasons[0] == "the tests gave no result: wrote no report"
    assert find_unsound(judge("t::new"), TestOutcomes(EMPTY, silent), None) != []
    cured = TestOutcomes(EMPTY, make_judge_run(t__new="passed"))
    assert find_unsound(judge("t::new"), TestOutcomes(EMPTY, silent), cured) == []


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (("solved", "solved"), 0),
        (("solved", "not solved"), 1),
        (("not solved", "broken"), 2),
        (("solved", "broken"), 2),
    ],
)
def test_the_exit_code_tells_whether_all_is_solved(states, code):
    results = [CaseResult("a", number, state) for number, state in enumerate(states, 1)]
    assert Evaluation("script", results).exit_code == code


def test_the_share_from_the_cache_is_of_all_that_was_read():
    usage = Usage(input=10, output=99, cache_write_5m=20, cache_write_1h=10, cache_read=60)
    result = CaseResult("a", 1, "solved", usage=usage)
    assert result.cache_read_share == 0.6
    assert result.record()["cache_read_share"] == 0.6
    assert CaseResult("a", 1, "broken").cache_read_share is None


# --- JUnit --------------------------------------------------------------------------------------


def test_each_test_has_a_result_and_of_two_the_worse_counts():
    found = read_junit(
        b'<testsuites><testsuite><testcase classname="c" name="a"/>'
        b'<testcase classname="c" name="b"><failure message="m"/></testcase>'
        b'<testcase classname="c" name="e"><error/></testcase>'
        b'<testcase classname="c" name="s"><skipped/></testcase>'
        b'<testcase classname="c" name="a"><failure/></testcase>'
        b'<testcase name="bare"><system-out>x</system-out></testcase></testsuite></testsuites>'
    )
    assert found == {
        "c::a": "failed",
        "c::b": "failed",
        "c::e": "failed",
        "c::s": "skipped",
        "bare": "passed",
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<testsuite>",
        b"no XML",
        b'<!DOCTYPE t [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><t>&b;</t>',
        b'<!DOCTYPE t SYSTEM "file:///etc/passwd"><t/>',
    ],
)
def test_what_is_no_junit_file_is_refused(data):
    with pytest.raises(Unreadable):
        read_junit(data)


def test_entities_in_another_encoding_are_refused_too():
    text = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE t [<!ENTITY a "aa">]><t>&a;</t>'
    with pytest.raises(Unreadable):
        read_junit(text.encode("utf-16"))
