"""About alerts people are asked on one issue for each package, and hear of nothing for nothing."""

from __future__ import annotations

import pytest

from agents.errors import ToolError
from agents.ports import Usage
from agents.run import Outcome
from app.github.alerts.issue_text import PUBLIC_REASON
from app.github.approvals.expire import OpenQuestions
from tests.app.commands.answering_scene import make_asking

FIXED = Outcome(
    kind="pull_request", text="Opened pull request #9: Update jinja2", url="https://x/9"
)
NOTHING = Outcome(kind="covered", text="No alert.", rule="remediate/nothing_to_do")
UNFIXED = Outcome(
    kind="failed",
    text="No fix was found: GHSA-h5c8-rqwp-cp95 has none.",
    rule="remediate/fix_failed",
    report="### Found: `jinja2`\n\nReached: yes, risk critical.",
)


def major(**changes):
    return make_asking(
        **{
            "session": "",
            "stage": "fix/1",
            "tool": "move to another major version",
            "arguments": {"package": "jinja2", "directory": "", "version": "4.0.0"},
            "rule": "remediate/major",
            "reason": "No release of the same major version is safe.",
            **changes,
        }
    )


def bodies(alerted):
    [issue] = alerted.issues()
    return [comment.body for comment in issue.comments]


async def test_a_question_opens_an_issue_that_says_no_more_than_which_package(alerted):
    run = await alerted.make_speaking()
    found = await run.ask(major())

    [issue] = alerted.issues()
    assert issue.title == "Update jinja2: a decision is needed"
    assert "`jinja2`" in issue.body
    question, progress = bodies(alerted)
    assert f"/bot approve {found.id}" in question
    assert PUBLIC_REASON[:60] in question
    assert "@" not in question
    assert "Waiting for a decision" in progress
    assert f"[`{found.id}`]" in progress
    whole = f"{issue.title}\n{issue.body}\n{question}\n{progress}".lower()
    for word in ("vulnerab", "advisor", "alert", "ghsa", "safe", "climb the ladder"):
        assert word not in whole.replace("run=alerts", "")
    stored = await run.store.get(found.id)
    assert stored.number == issue.number


async def test_asked_again_after_a_crash_nothing_is_opened_or_said_twice(alerted):
    found = await (await alerted.make_speaking()).ask(major())
    before = bodies(alerted)
    again = await alerted.make_speaking()
    assert await again.ask(major()) == found
    assert bodies(alerted) == before


async def test_a_lost_answer_opens_no_second_issue(alerted):
    alerted.server.faults.lose_answer("POST", "/issues$")
    await (await alerted.make_speaking()).ask(major())
    assert len(alerted.issues()) == 1


async def test_without_its_store_it_finds_the_issue_by_its_marker(alerted):
    run = await alerted.make_speaking()
    await run.ask(major())
    await alerted.runs.record_number(run.run_id, 0)
    await (await alerted.make_speaking("9999")).ask(major())
    assert len(alerted.issues()) == 1


async def test_a_marker_in_somebody_elses_issue_is_not_followed(alerted):
    run = await alerted.make_speaking()
    mark = run.place._mark
    await alerted.server.create_issue(
        alerted.repository, alerted.scene.people["mallory"], "Update jinja2", mark
    )
    await run.ask(major())
    assert len(alerted.issues()) == 1


async def test_each_package_and_folder_has_its_own(alerted):
    await (await alerted.make_speaking()).ask(major())
    await (await alerted.make_speaking("2222", directory="api")).ask(major())
    await (await alerted.make_speaking("3333", package="flask")).ask(major())
    assert [each.title for each in alerted.issues()] == [
        "Update jinja2: a decision is needed",
        "Update jinja2 in api: a decision is needed",
        "Update flask: a decision is needed",
    ]


async def test_names_do_nothing_in_a_title_or_a_text(alerted):
    name = "@ada/<b>`x`#1"
    await (await alerted.make_speaking(package=name, directory="closes #1")).ask(major())
    [issue] = alerted.issues()
    assert "@ada" not in issue.title.replace("\u2060", "|")
    assert "``@ada/<b>`x`#1``" in issue.body  # as code, which nothing in it can end
    assert "closes #1" not in issue.title


async def test_it_is_closed_when_the_run_has_ended_without_needing_anybody_more(alerted):
    run = await alerted.make_speaking()
    await run.ask(major())
    await run.end(FIXED)
    [issue] = alerted.issues()
    assert (issue.state, issue.state_reason) == ("closed", "completed")
    assert "Opened pull request #9" in bodies(alerted)[-1]
    await run.end(FIXED)  # as after a crash in between
    assert len(bodies(alerted)) == 2


async def test_called_off_it_is_closed_as_not_planned(alerted):
    run = await alerted.make_speaking()
    found = await run.ask(major())
    questions = OpenQuestions(
        alerted.scene.github, run.request, run.run_id, run.store, alerted.scene.redactor, settle=0
    )
    await questions.withdraw()
    await run.end(Outcome(kind="cancelled", text="`bob` cancelled it."))
    [issue] = alerted.issues()
    assert (issue.state, issue.state_reason) == ("closed", "not_planned")
    assert "**Void**" in bodies(alerted)[0]
    assert (await run.store.get(found.id)).state == "void"


async def test_the_next_question_opens_the_same_issue_again(alerted):
    run = await alerted.make_speaking()
    await run.ask(major())
    await run.end(FIXED)
    await (await alerted.make_speaking("9999")).ask(major())
    [issue] = alerted.issues()
    assert issue.state == "open"
    assert len(bodies(alerted)) == 3  # one question more, one progress


@pytest.mark.parametrize("outcome", [FIXED, NOTHING])
async def test_what_needed_nobody_says_nothing(alerted, outcome):
    run = await alerted.make_speaking()
    run.reporter.stage_started("scan/1", "Scan")
    run.reporter.stage_finished("scan/1", "3 alerts")
    run.reporter.report_spending(Usage(), 0.5, 3)
    run.reporter.report_pause("scan/1", "the model's server")
    await run.reporter.acknowledge()
    await run.reporter.flush()
    await run.end(outcome)
    assert alerted.issues() == []
    assert alerted.server.requests == []  # GitHub has not even been asked


async def test_that_there_is_no_fix_is_said_once_and_in_public_without_what_was_found(alerted):
    for name in ("1111", "2222"):
        run = await alerted.make_speaking(name)
        run.reporter.stage_started("scan/1", "Scan")
        run.reporter.stage_finished("scan/1", "3 alerts about jinja2")
        await run.end(UNFIXED)
    [issue] = alerted.issues()
    [text] = bodies(alerted)
    assert issue.state == "open"
    assert "found no release that it could move to by itself" in text
    assert "/bot retry" in text
    for word in ("GHSA", "Reached", "alerts about", "No fix was found"):
        assert word not in text
    run = await alerted.make_speaking("3333")
    await run.end(FIXED)
    assert issue.state == "closed"
    assert "Opened pull request #9" in bodies(alerted)[0]


async def test_in_private_the_whole_report_is_there(alerted_privately):
    run = await alerted_privately.make_speaking()
    run.reporter.stage_started("scan/1", "Scan")
    run.reporter.stage_finished("scan/1", "3 alerts about jinja2")
    run.reporter.stage_started("fix/1", "Climb the ladder")
    await run.end(UNFIXED)
    [text] = bodies(alerted_privately)
    for word in ("GHSA-h5c8-rqwp-cp95", "Reached: yes", "3 alerts about jinja2"):
        assert word in text


async def test_what_takes_a_person_with_the_tool_is_told_to_people(alerted):
    run = await alerted.make_speaking()
    await run.end(UNFIXED.model_copy(update={"rule": "remediate/by_hand"}))
    [text] = bodies(alerted)
    assert "knows what has to move, and cannot prove a change of those files itself" in text
    assert "Somebody has to decide" in text


async def test_the_policy_may_want_failures_kept_quiet(alerted):
    alerted.tells(failures=False)
    await (await alerted.make_speaking()).end(UNFIXED)
    assert alerted.issues() == []
    await (await alerted.make_speaking("2222")).ask(major())  # a decision is asked for in any case
    assert len(alerted.issues()) == 1


@pytest.mark.parametrize(
    "outcome",
    [
        UNFIXED.model_copy(update={"rule": "remediate/infra_error"}),
        Outcome(kind="failed", text="Dependabot alerts are switched off."),
        Outcome(kind="refused", text="No.", rule="policy-valid"),
    ],
)
async def test_what_the_operator_has_to_mend_is_not_put_before_everybody(alerted, outcome):
    await (await alerted.make_speaking()).end(outcome)
    assert alerted.issues() == []


@pytest.mark.parametrize("trial", ["dry_run", "no_pr"])
async def test_a_trial_leaves_nothing_behind(alerted, trial):
    await (await alerted.make_speaking(**{trial: True})).end(UNFIXED)
    assert alerted.issues() == []


async def test_who_closes_it_by_hand_hears_of_the_same_failure_no_more(alerted):
    await (await alerted.make_speaking()).end(UNFIXED)
    [issue] = alerted.issues()
    await alerted.server.close_issue(alerted.repository, issue.number, alerted.scene.people["bob"])
    before = bodies(alerted)
    await (await alerted.make_speaking("2222")).end(UNFIXED)
    assert issue.state == "closed"
    assert bodies(alerted) == before


async def test_of_what_is_not_public_yet_no_call_is_shown_in_public(alerted):
    alert = await alerted.alert()
    del alerted.server.world.advisories[alert.advisory.ghsa_id.upper()]
    run = await alerted.make_speaking()
    with pytest.raises(ToolError, match="must not be shown in this public repository"):
        await run.ask(make_asking(arguments={"command": "python exploit.py"}))
    assert alerted.issues() == []
    assert await run.store.list_waiting() == []
    await run.ask(major())  # that one holds nothing but names and versions
    assert len(alerted.issues()) == 1


async def test_of_what_is_public_it_is(alerted):
    await alerted.alert()
    found = await (await alerted.make_speaking()).ask(make_asking())
    assert found.id in bodies(alerted)[0]


async def test_when_github_cannot_say_what_is_public_nothing_is_shown(alerted):
    run = await alerted.make_speaking()
    alerted.repository.alerts_enabled = False
    with pytest.raises(ToolError):
        await run.ask(make_asking())
    assert alerted.issues() == []


async def test_attack_an_issue_that_was_moved_away_is_not_its_place(alerted):
    first = await alerted.make_speaking("0001")
    await first.ask(major())
    await first.end(UNFIXED)
    [issue] = alerted.issues()
    other = await alerted.server.create_repository(alerted.scene.people["ada"], "other")
    issue.repository = other  # under its old number GitHub leads there
    later = await alerted.make_speaking("0002")
    await later.ask(major())
    assert later.place.request.number != issue.number
