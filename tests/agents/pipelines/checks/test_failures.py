"""Whose fault a failing check is, as far as facts tell."""

import pytest

from agents.pipelines.checks.consider import count_attempts
from agents.pipelines.checks.failures import Failures, sort
from agents.ports import Batch, ForeignCheck


def check(name="unit", ended="failure", *, ident=1, app="GitHub Actions", **more):
    return ForeignCheck(id=ident, name=name, app=app, ended=ended, **more)


def kinds(checks, on_base=()):
    return [(each.check.name, each.kind) for each in sort(checks, on_base)]


@pytest.mark.parametrize("ended", ["success", "neutral", "skipped", ""])
def test_what_does_not_fail_is_nobodys_fault(ended):
    assert not kinds([check(ended=ended)])


def test_what_fails_here_alone_is_the_branchs():
    assert kinds([check()], [check(ended="success"), check("other")]) == [("unit", "branch")]
    assert kinds([check()]) == [("unit", "branch")]


def test_what_fails_on_the_base_as_well_is_the_bases():
    assert kinds([check()], [check()]) == [("unit", "base")]
    assert kinds([check()], [check(ended="timed_out")]) == [("unit", "base")]
    assert kinds([check()], [check(app="Other CI")]) == [("unit", "branch")]
    assert kinds([check()], [check(ended="cancelled")]) == [("unit", "branch")]


def test_the_base_outweighs_an_earlier_attempt():
    assert kinds([check(attempts=("success",))], [check()]) == [("unit", "base")]


@pytest.mark.parametrize("ended", ["cancelled", "action_required", "startup_failure", "stale"])
def test_what_never_came_to_its_work_is_external(ended):
    assert kinds([check(ended=ended)], [check()]) == [("unit", "external")]


def test_running_out_of_time_is_looked_into_where_there_is_a_log():
    assert kinds([check(ended="timed_out")]) == [("unit", "branch")]
    assert kinds([check(ended="timed_out", has_log=False)]) == [("unit", "external")]


def test_what_passed_on_the_same_commit_is_flaky():
    assert kinds([check(attempts=("failure", "success"))]) == [("unit", "flaky")]
    assert kinds([check(attempts=("failure",))]) == [("unit", "branch")]


def test_a_namesake_that_passed_proves_nothing_but_is_told():
    """Two workflows may each have a check of that name, and one may run on the merge."""
    [told] = sort([check(), check(ident=2, ended="success")], ())
    [other] = sort([check(), check(ident=2, ended="success", app="Other CI")], ())

    assert (told.kind, told.both_ways) == ("branch", True)
    assert not other.both_ways


def test_what_was_only_abandoned_says_nothing():
    found = tuple(sort([check(ended="cancelled"), check("lint", "stale")], ()))
    assert Failures(head="h", base="main", every=found).abandoned
    found += tuple(sort([check()], ()))
    assert not Failures(head="h", base="main", every=found).abandoned


def batch(head, pushed="", kind="checks"):
    return Batch(kind=kind, head=head, pushed=pushed)


def test_pushes_that_mend_checks_are_counted_back_from_the_head():
    assert count_attempts([], "c") == 0
    assert count_attempts([batch("a", "b"), batch("b", "c")], "c") == 2
    assert count_attempts([batch("a", "b"), batch("b", "c")], "b") == 1
    assert count_attempts([batch("a", "b"), batch("b")], "b") == 1


def test_what_others_pushed_in_between_begins_the_count_anew():
    assert count_attempts([batch("a", "b"), batch("x", "c")], "c") == 1
    assert count_attempts([batch("a", "b"), batch("b", "c", "reviews"), batch("c", "d")], "d") == 1


def test_a_ring_of_batches_comes_to_an_end():
    assert count_attempts([batch("a", "b"), batch("b", "a")], "a") == 2
