"""The text of a pull request: what was measured stands, whatever the model writes."""

import pytest

from agents.analysis.check_failures.reported import FailuresByProgram, ReportedFailures
from agents.pipelines.resolve.pull_request.body import pull_request_body
from agents.pipelines.resolve.pull_request.craft_pr import PullRequestText
from agents.pipelines.resolve.sub_issues.order import BlockedPart, Order
from agents.pipelines.resolve.triage.triage import Triage
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork, SubIssueWork
from agents.pipelines.stages.evaluation import Criterion, EvaluationFindings, Judgement
from agents.pipelines.stages.implement import Assignment, StepResult
from agents.pipelines.stages.inspect_weakening import Inspection
from agents.pipelines.stages.quality import Baseline, CheckComparison, CheckResult
from agents.pipelines.stages.regression_proof import RegressionProof
from agents.ports import SetupCommand, SetupResult, SubIssue, Usage

FINDING = Triage(decision="action_direct", kind="feature", reasoning="I ran it.", detail="-")
NO_PROOF, NOTHING_LOOSENED = RegressionProof(), Inspection()
PASSED = EvaluationFindings(verdict="pass", reasoning="I tried it, and it adds.")


def make_result(exit_code, output="", name="tests"):
    return CheckResult(
        name=name, command="make test", timeout=9, exit_code=exit_code, seconds=1.5, output=output
    )


NOTHING = SetupResult(source="found in the repository's files")


def quality(before, after, unavailable=(), setup=NOTHING):
    baseline = Baseline(
        runs=before, unavailable=unavailable, source="`.github/fettle.yml`", setup=setup
    )
    return CheckComparison(commit="a" * 40, runs=after, baseline=baseline)


@pytest.fixture
def body(request_):
    def make(measured, work=None, proof=NO_PROOF, **words):
        text = {"why": "Because it was wrong, and this is right.", "rejected": "", "notes": ""}
        return pull_request_body(
            request_,
            PullRequestText(branch="b", title="Title of it", **(text | words)),
            MeasuredChange(quality=measured, proof=proof, inspection=NOTHING_LOOSENED),
            work or ResolveWork(finding=FINDING, judged=Judgement(verdict=PASSED)),
            (Usage(input=100, cache_read=900, output=50), 1.234, 7),
        )

    return make


def test_it_says_command_exit_code_before_and_after(body):
    text = body(quality((make_result(1),), (make_result(0),)))

    assert "| tests | `make test` | failed (exit 1, 1.5 s) | passed (exit 0, 1.5 s) |" in text
    assert "after on aaaaaaaaaa" in text


def test_it_says_what_it_cost(body):
    text = body(quality((make_result(0),), (make_result(0),)))

    assert "$1.23 for 7 model answers, 1,000 tokens in, 90% of it read from cache" in text
    assert text.rstrip().endswith("50 tokens out.")


def test_without_any_check_it_says_so_loudly(body):
    text = body(quality((), (), unavailable=("tox run -q",)))

    assert "**Not verified:** nothing here can tell" in text
    assert "`tox run -q` cannot run here." in text
    assert "no check of the repository was found" in body(quality((), ())).lower()


def test_what_nobody_checked_stands_first(body):
    checked = body(quality((make_result(0),), (make_result(0),)))
    assert "What nobody checked" not in checked
    assert checked.startswith("### Why")

    unchecked = body(quality((), (), unavailable=("tox run -q",)))
    assert unchecked.startswith("### What nobody checked\n\n**Not verified:**")
    assert unchecked.count("**Not verified:**") == 1

    missing = RegressionProof(kind="bug", wanted=True, why="it takes a printer")
    unproven = body(quality((make_result(0),), (make_result(0),)), proof=missing)
    assert missing.section
    assert unproven.startswith(f"### What nobody checked\n\n{missing.section}\n\n### Why")
    assert unproven.count("it takes a printer") == 1


def test_one_excerpt_is_shown_of_no_more_than_30_lines(body):
    lines = "\n".join(f"line {n}" for n in range(400))
    many = tuple(make_result(1, lines, name=f"check {n}") for n in range(3))
    text = body(quality(tuple(make_result(0, name=c.name) for c in many), many))

    failing = text.partition("### Still failing")[2].partition("\n### ")[0]
    assert failing.count("```text") == 1
    shown = failing.partition("```text\n")[2].partition("\n```")[0].splitlines()
    assert len(shown) == 30
    assert (shown[0], shown[-1]) == ("line 0", "line 399")
    assert "[371 lines left out]" in shown
    assert "So did, with output left out here: `make test`, `make test`." in failing


def test_what_fails_now_and_not_before_is_shown_with_its_output(body):
    text = body(quality((make_result(0),), (make_result(1, "```\nAssertionError"),)))

    assert "### Still failing" in text
    assert "````text\n```\nAssertionError\n````" in text


def test_new_failures_stand_in_the_table_and_before_the_output(body):
    failures = FailuresByProgram(
        told={"pytest": ReportedFailures(names={"t.py::a": 1}, whole=True)}
    )
    new = ("t.py::x[a|b `@mara`]",)
    before = make_result(1).model_copy(update={"failures": failures})
    after = make_result(1, "AssertionError").model_copy(update={"failures": failures, "new": new})
    text = body(quality((before,), (after,)))

    assert "| failed (1; exit 1, 1.5 s) | failed (1, 1 new: `t.py::x[a¦b '@" in text
    assert "@mara`" not in text.partition("### Still failing")[0]
    assert "did not fail before it:\n- t.py::x[a|b `@mara`]\n\nWhat the check wrote:" in text


def test_what_failed_before_is_no_failure_of_the_change():
    assert not quality((make_result(1),), (make_result(1),)).failing
    assert quality((make_result(0),), (make_result(1),)).failing


@pytest.mark.parametrize("open_end", ["```\nnever closed", "<details>", "<!-- hidden", "~~~"])
def test_what_the_model_leaves_open_swallows_nothing(body, open_end):
    text = body(
        quality((make_result(0),), (make_result(0),)), why=f"Because of this reason:\n\n{open_end}"
    )

    assert "\n### How it was verified\n" in text
    assert text.endswith("50 tokens out.")
    assert text.count("```") % 2 == 0
    assert "<!-- hidden" not in text


def test_a_command_of_several_lines_stays_in_its_row(body):
    check = make_result(0).model_copy(
        update={"command": "make a |\n  tee `x`\nmake b\n", "name": "a|b"}
    )
    text = body(quality((check,), (check,)))

    assert "| a\\|b | `make a \\|; tee 'x'; make b` | passed" in text


def test_checks_of_one_name_are_told_apart(body):
    before, after = (
        (make_result(0), make_result(1)),
        (make_result(1, "AssertionError"), make_result(1)),
    )

    assert quality(before, after).failing == (after[0],)


def test_long_words_do_not_push_out_what_was_measured(body):
    long = "word " * 20_000
    many = tuple(make_result(1, "x" * 6_000, name=f"check {n}") for n in range(20))
    measured = quality(tuple(make_result(0, name=c.name) for c in many), many)
    text = body(measured, why=long, rejected=long, notes=long)

    assert len(text) < 65_000
    assert "more characters left out]" in text
    assert "### Cost" in text
    assert text.endswith("50 tokens out.")


def test_the_model_cannot_close_other_issues_or_call_people(body):
    text = body(
        quality((make_result(0),), (make_result(0),)),
        notes="Fixes #99, and cc @everyone please look",
    )

    assert "Fixes #99" not in text
    assert "@everyone" not in text


def set_up(*commands, **more):
    made = (SetupCommand(command=c, exit_code=x, seconds=1, output=o) for c, x, o in commands)
    return SetupResult(source="`.github/fettle.yml`", commands=tuple(made), **more)


def test_it_says_what_was_installed_for_the_checks(body):
    text = body(quality((make_result(0),), (make_result(0),), setup=set_up(("npm ci", 0, ""))))

    assert "Dependencies were installed beforehand (`.github/fettle.yml`): `npm ci`." in text
    assert "Set-up failed" not in text


def test_a_set_up_that_failed_is_said_with_its_output(body):
    broken = set_up(
        ("npm ci", 1, "E404 no such package ```"),
        problems=("`npm ci` ended with exit code 1.", "Ask @everyone."),
        notes=("The set-up was refused: evil.example:443.",),
    )

    text = body(quality((make_result(0),), (make_result(0),), setup=broken))

    verified = text.split("### ")[2]
    assert verified.startswith("How it was verified")
    assert "**Set-up failed.**" in verified
    assert "`npm ci` ended with exit code 1." in verified
    assert "````text\nE404 no such package ```\n````" in verified
    assert "@everyone" not in verified
    assert "evil.example:443" in verified
    assert "were installed beforehand" not in verified


def test_each_criterion_stands_with_its_commit_and_its_test(body):
    criteria = (
        Criterion(text="It adds | right", met=True, commit="c" * 40, test="test_lib.py::test_one"),
        Criterion(text="It is @fast", met=False),
    )
    verdict = PASSED.model_copy(update={"criteria": criteria})
    text = body(
        quality((make_result(0),), (make_result(0),)),
        ResolveWork(finding=FINDING, judged=Judgement(verdict=verdict)),
    )

    assert "| It adds &#124; right | cccccccccc | `test_lib.py::test_one` |" in text
    assert "**Not all of this is fulfilled.**" in text
    assert "| **not fulfilled** | none |" in text
    assert "It is @fast" not in text  # nobody is called


def test_what_the_judge_still_finds_wrong_is_said(body):
    flawed = EvaluationFindings(
        verdict="revise", reasoning="Not yet.", flaws=("lib.py: forgets minus one",)
    )
    work = ResolveWork(finding=FINDING, judged=Judgement(verdict=flawed))
    text = body(quality((make_result(0),), (make_result(0),)), work)

    assert not work.whole
    assert "### What fresh eyes found\n\nNot yet.\n\n- lib.py: forgets minus one" in text


def test_sub_issues_stand_with_what_came_of_each(body):
    assigned = [
        Assignment(
            number=n, count=2, title="t", brief="b", plan="p", source="s", wish="w", part=40 + n
        )
        for n in (1, 2)
    ]
    made = StepResult(title="t", summary="Made it.", tried="ran", commit="c")
    parts = (
        SubIssueWork(assignment=assigned[0], made=made, verdict=PASSED),
        SubIssueWork(
            assignment=assigned[1], made=made.model_copy(update={"summary": "Could not."})
        ),
    )
    order = Order(work=(sub(41), sub(42), sub(43)), waiting=(BlockedPart(number=44, on=(9, 10)),))
    work = ResolveWork(finding=FINDING, parts=parts, order=order)
    text = body(quality((make_result(0),), (make_result(0),)), work)

    assert not work.whole
    assert "- [x] #41: Made it." in text
    assert "- [ ] #42: **not done.** Could not." in text
    assert "- [ ] #43: not begun" in text
    assert "- [ ] #44: waits for #9, #10" in text


def sub(number):
    return SubIssue(
        number=number, title="t", body="b", state="open", author="mara", author_may_write=True
    )
