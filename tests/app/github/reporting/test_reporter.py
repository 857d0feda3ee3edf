"""People are kept informed by one comment, and the run never notices how hard that was."""

from __future__ import annotations

import asyncio

import pytest

from agents.ports import Usage
from agents.requests import FixChecks
from agents.run import Outcome
from app.github.reporting.reporter import GitHubReporter
from app.github.transport.idempotent_comments import MarkedComments, make_marker
from app.github.transport.throttle import Throttle
from app.secrets.redaction import Redactor
from tests.patience import PATIENCE

COMMENTS = "/issues/1/comments"
MARK = make_marker("run-1", "progress")
DONE = Outcome(kind="pull_request", text="Opened pull request #2: x", url="https://x/2")


@pytest.fixture
def remembered():
    return []


@pytest.fixture
def reporter(scene, remembered):
    return make_reporter(scene, remembered)


def make_reporter(scene, remembered, *, comment_id=None, interval=0.05):
    async def remember(number: int) -> None:
        remembered.append(number)

    return GitHubReporter(
        scene.github,
        scene.request,
        "run-1",
        scene.redactor,
        remember=remember,
        comment_id=comment_id,
        interval=interval,
    )


def bodies(scene):
    return [comment.body for comment in scene.issue.comments]


def patches(scene):
    return [each for each in scene.server.requests if each.method == "PATCH"]


async def wait_until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():  # the server tells nobody what it took
            await asyncio.sleep(0.005)


async def test_the_reaction_comes_at_once_and_stays_one(scene, reporter):
    await reporter.acknowledge()
    await reporter.acknowledge()

    assert [(face.content, face.user.login) for face in scene.issue.reactions] == [
        ("eyes", "fettle[bot]")
    ]


async def test_a_run_from_start_to_end_is_one_comment(scene, reporter, remembered):
    reporter.stage_started("triage/1", "Read the issue")
    await wait_until(lambda: scene.issue.comments)
    assert "**Read the issue** … at work" in bodies(scene)[0]
    reporter.stage_finished("triage/1", "a bug")
    await wait_until(lambda: "- [x] Read the issue: a bug" in bodies(scene)[0])
    await reporter.finish(DONE)

    [body] = bodies(scene)
    assert body.startswith(f"{MARK}\n**Done.**")
    assert "(https://x/2)" in body
    assert remembered == [scene.issue.comments[0].id]


async def test_many_changes_become_few_updates_and_the_last_one_goes_out(scene, remembered):
    reporter = make_reporter(scene, remembered, interval=60)
    for number in range(1, 101):
        reporter.stage_started(f"implement/{number}", "Make a step")
        reporter.tool_called(f"implement/{number}", "edit", "a.py")
        reporter.report_spending(Usage(input=number), 0.01 * number, number)
        await asyncio.sleep(0.001)
        reporter.stage_finished(f"implement/{number}", f"step {number}")
    await reporter.finish(DONE)

    assert len(scene.calls("POST", COMMENTS)) == 1
    assert len(patches(scene)) <= 1
    assert "step 100" in bodies(scene)[0]
    assert "$1.00 · 100 model answers" in bodies(scene)[0]


async def test_nothing_changed_means_nothing_sent(scene, reporter):
    reporter.stage_started("triage/1", "Read the issue")
    await wait_until(lambda: scene.issue.comments)
    for _ in range(5):
        reporter.stage_started("triage/1", "Read the issue")
        await asyncio.sleep(0.03)
    await reporter.flush()

    assert patches(scene) == []


async def test_after_a_restart_the_same_comment_goes_on(scene, reporter, remembered):
    reporter.stage_started("triage/1", "Read the issue")
    await reporter.flush()
    later = make_reporter(scene, remembered, comment_id=remembered[0])
    later.stage_started("triage/1", "Read the issue")
    await later.flush()
    assert patches(scene) == []  # it says so already

    later.stage_finished("triage/1", "a bug")
    await later.finish(DONE)

    assert len(bodies(scene)) == 1
    assert "- [x] Read the issue: a bug" in bodies(scene)[0]


async def test_a_kill_before_the_id_was_kept_makes_no_second_comment(scene, reporter):
    reporter.stage_started("triage/1", "Read the issue")
    await reporter.flush()
    later = make_reporter(scene, [])
    later.stage_started("triage/1", "Read the issue")
    await later.finish(DONE)

    assert len(bodies(scene)) == 1


async def test_a_lost_answer_makes_no_second_comment(scene, reporter):
    reporter._comments._settle = 0
    scene.server.faults.lose_answer("POST", COMMENTS)
    scene.server.faults.lose_answer("PATCH", "/issues/comments/")
    reporter.stage_started("triage/1", "Read the issue")
    await reporter.flush()
    await reporter.finish(DONE)

    assert len(bodies(scene)) == 1
    assert "**Done.**" in bodies(scene)[0]


async def test_a_comment_that_somebody_removed_is_made_anew(scene, reporter):
    reporter.stage_started("triage/1", "Read the issue")
    await wait_until(lambda: scene.issue.comments)
    scene.issue.comments.clear()
    await reporter.finish(DONE)

    assert "**Done.**" in bodies(scene)[0]


async def test_the_end_is_tried_again_until_it_goes_through(scene, reporter):
    reporter.stage_started("triage/1", "Read the issue")
    await wait_until(lambda: scene.issue.comments)
    scene.server.faults.status("PATCH", "/issues/comments/", 502, times=3)
    await reporter.finish(DONE)

    assert "**Done.**" in bodies(scene)[0]


async def test_no_failure_reaches_the_run(scene, reporter):
    scene.server.faults.status("*", ".*", 500, times=10_000)
    await reporter.acknowledge()
    reporter.stage_started("triage/1", "Read the issue")
    reporter.stage_finished("triage/1", "a bug")
    await reporter.flush()

    assert bodies(scene) == []


class CountingRedactor(Redactor):
    """Counts what it cleans: each look at whether the comment is up to date cleans some."""

    cleaned = 0

    def clean(self, text):
        self.cleaned += 1
        return super().clean(text)


async def test_what_is_not_permitted_is_not_asked_for_again_and_again(scene, remembered):
    scene.installation.permissions["issues"] = "read"
    scene.redactor = CountingRedactor()
    reporter = make_reporter(scene, remembered)
    for number in range(5):
        rendered = scene.redactor.cleaned
        reporter.stage_started(f"implement/{number}", "Make a step")
        reporter.stage_finished(f"implement/{number}", "done")
        await wait_until(lambda: scene.redactor.cleaned > rendered)  # noqa: B023 - called here

    assert len(scene.server.requests) == 1
    await reporter.finish(DONE)


async def test_a_run_that_waits_for_people_leads_to_the_question(scene, reporter):
    reporter.stage_started("implement/1", "Make a step")
    asked = await MarkedComments(scene.github, scene.request, "run-1").say("approval-k3f9x2", "?")
    reporter.report_parked("implement/1", ["k3f9x2", "q8d2aa"])
    await reporter.flush()
    [body] = [body for body in bodies(scene) if MARK in body]
    assert "**Waiting for a decision.**" in body
    assert f"waiting for a person: [`k3f9x2`]({asked.url}), `q8d2aa`" in body

    reporter.stage_started("implement/1", "Make a step")
    await reporter.flush()
    [body] = [body for body in bodies(scene) if MARK in body]
    assert "**Make a step** … at work" in body
    assert "k3f9x2" not in body


async def test_after_a_restart_a_run_that_waits_still_says_so(scene, reporter, remembered):
    await MarkedComments(scene.github, scene.request, "run-1").say("approval-k3f9x2", "?")
    reporter.stage_started("implement/1", "Make a step")
    reporter.report_parked("implement/1", ["k3f9x2"])
    await reporter.flush()
    later = make_reporter(scene, remembered, comment_id=remembered[0])
    later.stage_started("implement/1", "Make a step")
    later.report_parked("implement/1", ["k3f9x2"])
    await later.flush()

    assert patches(scene) == []


async def test_a_failing_memory_does_not_stop_the_run(scene):
    async def remember(_: int) -> None:
        raise OSError("disk full")

    reporter = make_reporter(scene, [])
    reporter._remember = remember
    reporter.stage_started("triage/1", "Read the issue")
    await reporter.finish(DONE)

    assert len(bodies(scene)) == 1
    assert "**Done.**" in bodies(scene)[0]


async def test_secrets_and_mentions_do_not_get_out(scene, reporter):
    scene.redactor.add("tops3cret-value")
    reporter.stage_started("triage/1", "Read the issue")
    reporter.stage_finished("triage/1", "the key is tops3cret-value, says @ada")
    text = "Stopped at tops3cret-value, ask @ada ![x](https://evil.test/?q=1)"
    await reporter.finish(Outcome(kind="failed", text=text))

    assert "tops3cret" not in bodies(scene)[0]
    assert "@ada" not in bodies(scene)[0]
    assert "evil.test" not in bodies(scene)[0]


class ListeningPace(Throttle):
    """Notes who asks for the turn to write, and how politely."""

    def __init__(self) -> None:
        super().__init__(spacing=0)
        self.yielded: list[bool] = []

    def write(self, *, yielding: bool = False):
        self.yielded.append(yielding)
        return super().write(yielding=yielding)


async def test_progress_lets_answers_go_first_and_the_end_is_one(scene, reporter):
    pace = scene.github._paces[scene.installation.id] = ListeningPace()
    await reporter.acknowledge()
    reporter.stage_started("triage/1", "Read the issue")
    await wait_until(lambda: scene.issue.comments)
    await reporter.finish(DONE)

    assert pace.yielded == [False, True, False]


# --- what nobody has heard of ---------------------------------------------------------------------

COVERED = Outcome(kind="covered", text="Another run has dealt with this already.")


async def test_of_what_another_run_has_covered_nothing_is_said(scene, reporter):
    await reporter.finish(COVERED)
    assert scene.issue.comments == []
    assert scene.server.requests == []


async def test_not_even_when_a_stage_had_just_begun(scene, remembered):
    reporter = make_reporter(scene, remembered, interval=60)
    reporter.stage_started("triage/1", "Read the issue")
    await reporter.finish(COVERED)
    await reporter.flush()
    assert scene.issue.comments == []


async def test_unless_people_have_heard_of_it(scene, reporter):
    reporter.stage_started("triage/1", "Read the issue")
    await wait_until(lambda: scene.issue.comments)
    await reporter.finish(COVERED)
    assert "**Nothing to do.** Another run has dealt with this already." in bodies(scene)[0]


@pytest.fixture
def unasked(scene, remembered):
    """The reporter of a run on failed checks, which nobody has asked for."""
    about = scene.request.model_dump(exclude={"kind", "body", "label", "via"})
    scene.request = FixChecks(**about, head="a" * 40)
    return make_reporter(scene, remembered, interval=0.02)


async def test_a_run_that_nobody_asked_for_is_silent_until_it_costs_something(scene, unasked):
    await unasked.acknowledge()
    unasked.stage_started("look/1", "Look at the checks")
    unasked.stage_finished("look/1", "one has failed")
    unasked.report_pause("look/1", "a while")
    await unasked.flush()
    assert scene.server.requests == []

    unasked.report_spending(Usage(input=1), 0.01, 1)
    await wait_until(lambda: scene.issue.comments)
    assert "Checks failed on `aaaaaaa`." in bodies(scene)[0]
    assert "- [x] Look at the checks: one has failed" in bodies(scene)[0]


async def test_or_until_it_waits_for_somebody_or_ends(scene, unasked):
    unasked.stage_started("fix/1", "Fix it")
    unasked.report_parked("fix/1", ["k3f9x2"])
    await wait_until(lambda: scene.issue.comments)


async def test_but_not_when_it_fails_before_it_is_known_that_anybody_wants_it(scene, unasked):
    """As when GitHub is away: the policy, which has to allow it, was not read."""
    unasked.stage_started("consider/1", "See whether these checks are ours")
    await unasked.finish(Outcome(kind="failed", text="GitHub did not answer."))
    assert scene.server.requests == []


async def test_a_failure_after_that_is_told(scene, unasked):
    unasked.stage_started("consider/1", "See whether these checks are ours")
    unasked.stage_finished("consider/1", "they are")
    unasked.stage_started("sort/1", "Sort them")
    await unasked.finish(Outcome(kind="failed", text="The App may not read checks."))
    assert "**Stopped.** The App may not read checks." in bodies(scene)[0]


async def test_its_end_is_told(scene, unasked):
    unasked.stage_started("look/1", "Look at the checks")
    await unasked.finish(
        Outcome(kind="comment", text="They fail on `main` as well.", url="https://x/1")
    )
    [body] = bodies(scene)
    assert "**Looked at.** They fail on `main` as well." in body
