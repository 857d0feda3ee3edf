"""The report: at most 500 words whatever it is about, and harmless whoever worded its parts."""

import re

import pytest

from agents.pipelines.remediate.findings.alert_group import AlertGroup, FoundCopy
from agents.pipelines.remediate.findings.reach import Reach, triage
from agents.pipelines.remediate.ladder import Group, Level, Move, Refusal, Step
from agents.pipelines.remediate.report import (
    WORDS,
    evidence,
    fit_sections,
    fix_report,
    pull_request_body,
    scan_report,
)
from agents.pipelines.remediate.work import (
    Bump,
    Failed,
    FixObjection,
    VerifyResult,
    Work,
    failure_of,
)
from agents.pipelines.stages.quality import Baseline, CheckComparison, CheckResult
from agents.ports import SetupResult
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import URL, alert

EVIL = "@mara ![x](https://evil.example/x.png) <!-- fettle --> | fixes #3 `\n# Heading"
ACTS = ("](https://evil.example", "<!--", "\n# Heading", "fixes #3")


def make_full_work(count, words):
    """Return work with much of everything, all of it in these words."""
    advisories = tuple(
        alert(f"< 3.1.{n}", n, summary=words, description=words) for n in range(1, count)
    )
    copies = tuple(
        FoundCopy(version=f"{n}{words}", vulnerable=True, paths=((words, "jinja2"),))
        for n in range(count)
    )
    group = Group(
        repository="octo/shop", ecosystem="pip", package=f"jinja2{words}",
        directory=words, advisories=advisories,
    )  # fmt: skip
    reach = Reach("pip", "jinja2", searchable=True)
    found = AlertGroup(
        commit="1" * 40, group=group, copies=copies, note=words,
        triage=triage(advisories, copies, reach, located=True),
    )  # fmt: skip
    move = Move(name=words, old=(words,), new=("2",), delta="minor", forced=True)
    check = CheckResult(
        name=words, command=words, timeout=1, exit_code=0, seconds=1, output=words
    )  # fmt: skip
    baseline = Baseline(runs=(check,) * count, source="", setup=SetupResult(source=""))
    issue = FixObjection(category="other", severity="low", description=words)
    verdict = VerifyResult(passed=True, by="model", issues=(issue,) * count, reasoning=words)
    return Work(
        found=found,
        bump=Bump(
            by="ladder", level=Level.PARENT, moves=(move,) * count, files=(words,), tree="t",
            steps=tuple(Step(level=Level.FLOAT, done=False, why=f"{n} {words}") for n in range(9)),
            evidence=(words,) * count, notes=tuple(f"{n} {words}" for n in range(count)),
        ),
        quality=CheckComparison(commit="c", runs=(check,) * count, baseline=baseline),
        verdict=verdict,
        failed=(Failed(made=words, verdict=verdict.model_copy(update={"feedback": words})),),
        prose=words,
    )  # fmt: skip


def without_code(body):
    """Return the Markdown without code spans, in which nothing lives, and what is escaped."""
    return re.sub(r"`[^`\n]*`|\\<!--", "", body)


@pytest.mark.parametrize("make", [fix_report, pull_request_body])
def test_it_is_short_whatever_it_is_about(make):
    body = make(make_full_work(30, "many words " * 60), URL)

    assert len(body.split()) <= WORDS
    assert "### What is wrong with" in body


def test_a_fix_that_nothing_could_try_is_not_called_low_risk():
    problem = "pip ended with 1: No matching distribution @mara <!-- x -->"
    setup = SetupResult(source="requirements.txt", problems=(problem,))
    tried = make_full_work(2, "word")

    told = fix_report(tried.model_copy(update={"setup": setup}), URL)
    unchecked = tried.quality.model_copy(update={"runs": ()})
    bare = fix_report(tried.model_copy(update={"quality": unchecked}), URL)

    assert "**Not verified:** the dependencies could not be installed here: pip ended with" in told
    assert "<!--" not in told
    for body in (told, bare):
        assert "Nothing shows that the repository works with it: " in body
        assert "Small: " not in body
        assert "Try it where its tests run, then merge it" in body
    assert "Nothing shows" not in fix_report(tried, URL)
    assert "Merge it; GitHub" in fix_report(tried, URL)


def make_fix(*moves, unseen=False, **more):
    """Return work with a fix of one alert that stands and moves these."""
    group = Group(
        repository="octo/shop", ecosystem="npm", package="jinja2", advisories=(alert("< 3.1.6", 7),)
    )
    verdict = VerifyResult(
        passed=True, by="nobody" if unseen else "code", unseen=unseen,
        reasoning="No model is configured." if unseen else "",
    )  # fmt: skip
    bump = Bump(**{"by": "ladder", "level": Level.WIDEN, "moves": moves, "tree": "t"} | more)
    found = AlertGroup(commit="1" * 40, group=group)
    done = {"found": found, "bump": bump, "verdict": verdict, "failed": (), "prose": ""}
    return make_full_work(1, "word").model_copy(update=done)


@pytest.mark.parametrize(
    ("delta", "more", "said"),
    [
        ("minor", {}, "Moderate: the package alone moved, and what the repository itself asks for"),
        ("minor", {"level": Level.FLOAT}, "Small: the package alone moved a small step"),
        ("minor", {"by": "engineer", "level": None}, "a model changed the dependency files"),
        ("major", {"level": Level.FLOAT}, "Another major version comes in: `jinja2` `3.1.6`."),
        ("major", {"major": "3.1.6"}, "Version `3.1.6` is another major version"),
    ],
)
def test_a_risk_is_told_by_what_moved_and_how_far(delta, more, said):
    move = Move(name="jinja2", old=("2.1.3",), new=("3.1.6",), delta=delta)
    body = fix_report(make_fix(move, **more), URL)
    assert said in body
    assert "More than the package's own version" not in body


def test_a_step_before_1_is_told_as_a_risk_and_somebody_looks_at_it():
    move = Move(name="jinja2", old=("0.2.1",), new=("0.3.0",), delta="minor", breaking=True)
    work = make_fix(move, level=Level.FLOAT)
    assert not work.mechanical
    assert "A version before 1.0 may break what uses it" in fix_report(work, URL)


def test_a_draft_is_not_to_be_merged_unseen():
    move = Move(name="jinja2", old=("3.1.3",), new=("3.1.6",), delta="patch")
    body = fix_report(make_fix(move, unseen=True), URL)
    assert "Look at it, mark it as ready, then merge it; GitHub then closes the alert once" in body
    assert body.count("No model is configured.") == 1
    major = fix_report(make_fix(move, major="3.1.6"), URL)
    assert "Read the release notes and look at it, then merge it; GitHub" in major


def test_it_says_what_is_wrong_how_it_comes_in_and_where_the_code_uses_it():
    known = alert(
        "< 3.1.6", 7, summary="Sandbox breakout", cve_id="CVE-2025-1", ghsa_id="GHSA-h5c8-rqwp-cp95"
    )
    group = Group(repository="octo/shop", ecosystem="pip", package="jinja2", advisories=(known,))
    copies = (FoundCopy(version="3.1.3", vulnerable=True, paths=(("flask", "jinja2"),)),)
    reach = Reach("pip", "jinja2", searchable=True)
    reach.look("app.py", "import os\nimport jinja2\n")
    found = AlertGroup(
        commit="1" * 40, group=group, copies=copies,
        triage=triage((known,), copies, reach, located=True),
    )  # fmt: skip
    move = Move(name="jinja2", old=("3.1.3",), new=("3.1.6",), delta="patch")
    bump = Bump(by="ladder", level=Level.FLOAT, moves=(move,), tree="t", evidence=("It installs.",))
    verdict = VerifyResult(passed=True, by="code")
    work = make_full_work(1, "word").model_copy(
        update={"found": found, "bump": bump, "verdict": verdict, "failed": (), "prose": ""}
    )

    body = pull_request_body(work, URL)

    assert "### What is wrong with `jinja2` `3.1.3`" in body
    link = "[GHSA-h5c8-rqwp-cp95](https://github.com/advisories/GHSA-h5c8-rqwp-cp95)"
    assert f"- High severity: Sandbox breakout ({link}, `CVE-2025-1`)." in body
    assert "by way of `flask` → `jinja2`" in body
    assert "Only the lock file changes" in body
    assert "- The code imports it; whether it uses what is vulnerable could not be told." in body
    assert "`app.py:2`" in body
    assert "It installs." not in body
    assert "It installs." in evidence(work, URL)
    assert "evel" not in body, "nobody knows what a level is"


def test_only_what_moved_is_in_the_table():
    move = Move(name="semver", old=("5.7.3", "6.3.2", "7.3.8"), new=("5.7.3", "6.3.2", "7.5.2"))
    work = make_full_work(1, "word")
    body = fix_report(
        work.model_copy(update={"bump": Bump(by="other", moves=(move,), tree="t")}), URL
    )

    assert "| `semver` | `7.3.8` | `7.5.2` |" in body


def test_a_scans_report_is_short_as_well():
    assert len(scan_report(make_full_work(40, "many words " * 60).found, URL).split()) <= WORDS


@pytest.mark.parametrize("make", [fix_report, pull_request_body])
def test_nothing_in_it_acts(make):
    body = make(make_full_work(2, EVIL), URL)

    assert not [live for live in ACTS if live in without_code(body)]
    rows = [line for line in body.splitlines() if line.startswith("|")]
    assert {row.count("|") - row.count("\\|") for row in rows} <= {3, 4, 5, 6}


def test_nothing_of_a_scan_acts():
    body = scan_report(make_full_work(2, EVIL).found, URL)

    assert not [live for live in ACTS if live in without_code(body)]


def test_what_there_is_no_room_for_is_left_out_whole():
    long = "word " * 400

    assert fit_sections("a", long, "b " * 200, "c", spare=("b " * 200,)).split()[-1] == "c"
    assert fit_sections("a", long, long) == f"a\n\n{long}"


@pytest.mark.parametrize(
    ("rule", "result"),
    [
        ("remediate/fixed", "fixed"),
        ("remediate/nothing_to_do", "nothing_to_do"),
        ("remediate/verify_failed", "verify_failed"),
        ("remediate/by_hand", "by_hand"),
        ("access/role", "infra_error"),
        (None, "infra_error"),
    ],
)
def test_results_are_told_apart(rule, result):
    assert result_of(rule) == result


@pytest.mark.parametrize(
    ("cause", "result"),
    [
        ("nothing_to_do", "nothing_to_do"),
        ("no_tool", "infra_error"),
        ("by_hand", "by_hand"),
        ("no_release", "fix_failed"),
        ("no_rung", "fix_failed"),
        ("unsafe", "fix_failed"),
    ],
)
def test_why_there_is_no_fix_decides_what_failed(cause, result):
    work = Work(found=make_full_work(2, "x").found, refusal=Refusal(cause=cause, reason="so"))

    assert failure_of(work) == result


def test_what_was_not_looked_at_is_said_in_the_pull_request_as_well():
    work = make_full_work(1, "Only the first 600 files were read.")

    assert "### Not found out\n\nOnly the first 600 files were read." in pull_request_body(
        work, URL
    )
