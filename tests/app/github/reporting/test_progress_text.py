"""The progress comment: state in, Markdown out."""

from __future__ import annotations

from typing import get_args

import pytest

from agents.ports import Usage
from agents.requests import (
    AddressReview,
    Again,
    FixChecks,
    Person,
    UpdateBranch,
)
from agents.run import Outcome
from app.github.reporting.progress_text import Progress, render
from app.github.transport.texts import OutgoingText
from app.github.transport.urls import Urls
from app.secrets.redaction import Redactor
from tests.fakes.requests import (
    build_remediate_alert,
    build_repository,
    build_resolve_issue,
)

REQUEST = build_resolve_issue(
    repository=build_repository(id=2, owner="ada", name="parse"),
    number=3,
    author=Person(id=4, login="mallory"),
    asked_by=Person(id=5, login="bob"),
    url="https://github.com/ada/parse/issues/3",
)


WORDING = OutgoingText(
    Urls.from_web_url("https://github.com"), REQUEST, Redactor(["tops3cret-value"])
)


def render_text(progress: Progress) -> str:
    return render(progress, WORDING)


@pytest.fixture
def at_work():
    return (
        Progress(REQUEST, "run-1")
        .start_stage("triage/1", "Read the issue")
        .finish_stage("triage/1", "a bug in the pattern for %f")
        .start_stage("implement/1", "Make a step")
        .finish_stage("implement/1", "Step 1/2: accept one to nine digits")
        .start_stage("implement/2", "Make a step")
    )


def test_at_work(at_work):
    usage = Usage(input=1000, output=200, cache_read=30_000)

    assert render_text(at_work.with_spent(usage, 0.4249, 7)) == (
        "**At work on this.** `bob` asked for it with the label `bot:resolve`.\n\n"
        "- [x] Read the issue: a bug in the pattern for %f\n"
        "- [x] Make a step: Step 1/2: accept one to nine digits\n"
        "- [ ] **Make a step (2)** … at work\n\n"
        "The result will be linked here.\n\n"
        "<sub>$0.42 · 7 model answers · 31,200 tokens · run `run-1`</sub>"
    )


def test_a_pull_request(at_work):
    url = "https://github.com/ada/parse/pull/4"
    text = render_text(
        at_work.finish_stage("implement/2", "").end(
            Outcome(kind="pull_request", text="Opened pull request #4: Accept nine", url=url)
        )
    )

    assert text.startswith("**Done.** Opened pull request #4: Accept nine")
    assert f"Next: review [the pull request]({url})." in text
    assert "[ ]" not in text


def test_a_refusal_names_reason_and_rule():
    outcome = Outcome(kind="refused", text="Nothing was done: read only.", rule="asker-may-write")

    assert render_text(Progress(REQUEST, "run-1").end(outcome)) == (
        "**Not started.** Nothing was done: read only.\n\n"
        "Rule: `asker-may-write`.\n\n"
        "<sub>run `run-1`</sub>"
    )


def test_a_failure_marks_its_stage_and_says_what_to_do(at_work):
    outcome = Outcome(kind="failed", text="The budget is used up.")
    # The stage that failed has told its end already, with the error as its summary.
    text = render_text(at_work.finish_stage("implement/2", "The budget is used up.").end(outcome))

    assert "- [ ] Make a step (2): **failed**\n" in text
    assert text.count("The budget is used up.") == 1
    assert "write `/bot retry`; to start afresh, set the label `bot:resolve` again." in text


def test_a_failure_does_not_blame_the_stage_that_kept_the_work(at_work):
    url = "https://x/tree/bot"
    outcome = Outcome(kind="failed", text="The budget is used up.", url=url)
    kept = at_work.finish_stage("implement/2", "The budget is used up.")
    kept = kept.start_stage("keep_work/1", "Keep what was made").finish_stage(
        "keep_work/1", "bot/3"
    )
    text = render_text(kept.end(outcome))

    assert "- [ ] Make a step (2): **failed**\n" in text
    assert "- [x] Keep what was made: bot/3\n" in text
    assert f"See [what it had made]({url})." in text


def test_a_cancelled_run(at_work):
    outcome = Outcome(kind="cancelled", text="`bob` cancelled the run: wrong issue")
    text = render_text(at_work.end(outcome))

    assert text.startswith("**Cancelled.** `bob` cancelled the run: wrong issue\n\n")
    assert "- [ ] Make a step (2): **cancelled**\n" in text
    assert "To go on after all, write `/bot retry`." in text
    assert "failed" not in text


@pytest.mark.parametrize(
    ("via", "how"),
    [
        ("label", "with the label `bot:resolve`"),
        ("command", "with `/bot retry`"),
        ("terminal", "on the machine that Fettle runs on"),
    ],
)
def test_how_it_was_asked_for(via, how):
    request = REQUEST.model_copy(update={"via": via})
    assert f"`bob` asked for it {how}." in render_text(Progress(request, "run-1"))


@pytest.mark.parametrize(
    ("place", "seconds", "told"),
    [
        (1, None, "1st in the queue"),
        (2, 20.0, "2nd in the queue, about 1 minute"),
        (3, 720.0, "3rd in the queue, about 12 minutes"),
        (12, 7300.0, "12th in the queue, about 2 hours"),
        (1023, 0.0, "1,023rd in the queue, about 1 minute"),
    ],
)
def test_waiting_for_a_place(place, seconds, told):
    queued = Progress(REQUEST, "run-1").queue(place, seconds)
    text = render_text(queued)
    assert text.startswith(f"**{told}.** `bob` asked for it")
    assert "`/bot cancel` takes it out" in text
    assert "queue" not in render_text(queued.start_stage("triage/1", "Look"))
    assert "queue" not in render_text(queued.end(Outcome(kind="cancelled", text="Taken out.")))


def test_waiting_for_an_answer(at_work):
    asked = at_work.finish_stage("implement/2", "asked something")
    text = render_text(asked.pause_stage("implement/2", "an answer on the issue"))

    assert text.startswith(
        "**Waiting for an answer on the issue.** `bob` asked for this with the label `bot:resolve`."
    )
    assert "- [x] Make a step (2): asked something\n" in text
    assert "It goes on by itself then." in text


def test_waiting_for_the_models_server(at_work):
    why = "the model's server, until 10:20 UTC: It answers 529 @ada"
    paused = at_work.pause_stage("implement/2", why)
    text = render_text(paused)

    assert text.startswith("**Waiting for the model's server, until 10:20 UTC.** `bob` asked")
    assert "- [ ] **Make a step (2)** … waiting for the model's server, until 10:20 UTC: It" in text
    assert "@ada" not in text


@pytest.mark.parametrize("key", ["implement/2", "triage_again/1"])
def test_whatever_goes_on_ends_the_waiting(at_work, key):
    going = at_work.pause_stage("implement/2", "an answer").start_stage(key, "Make a step")
    assert render_text(going).startswith("**At work on this.**")
    ended = at_work.pause_stage("implement/2", "an answer").end(Outcome(kind="failed", text="x"))
    assert "waiting" not in render_text(ended)


def test_an_answer(at_work):
    outcome = Outcome(kind="comment", text="Asked some questions.", url="https://x/1")

    assert "Next: read [the answer](https://x/1)." in render_text(at_work.end(outcome))


def test_telling_it_twice_changes_nothing(at_work):
    again = at_work.start_stage("triage/1", "Read the issue").start_stage(
        "implement/2", "Make a step"
    )

    assert again == at_work


def test_a_stage_that_runs_again_after_it_was_done_stays_done(at_work):
    again = at_work.start_stage("implement/1", "Make a step").finish_stage("implement/1", "newer")

    assert [line.state for line in again.stages] == ["done", "done", "running"]
    assert again.stages[1].summary == "newer"


def test_summaries_stay_on_their_line(at_work):
    text = render_text(
        at_work.finish_stage("implement/2", "two\nlines\r\n- [x] forged\n\n# Heading" * 50)
    )

    assert len([line for line in text.splitlines() if line.startswith("- [")]) == 3
    assert "\n# Heading" not in text
    assert max(map(len, text.splitlines())) < 300


def test_summaries_are_foreign_text(at_work):
    summary = "see [here](https://evil.test/?q=tops3cret-value) @ada ![x](https://evil.test/y)"
    text = render_text(at_work.finish_stage("implement/2", summary))

    assert "](https://evil" not in text
    assert "@ada" not in text
    assert "tops3cret" not in text


def test_waiting_for_people(at_work):
    link = "https://github.com/ada/parse/issues/3#issuecomment-7"
    parked = at_work.park_stage("implement/2", ("k3f9x2", "q8d2aa")).with_questions(
        {"k3f9x2": link}
    )
    text = render_text(parked)

    assert text == (
        "**Waiting for a decision.** `bob` asked for this with the label `bot:resolve`, and it"
        " cannot go on before somebody with write access has answered 2 questions.\n\n"
        "- [x] Read the issue: a bug in the pattern for %f\n"
        "- [x] Make a step: Step 1/2: accept one to nine digits\n"
        f"- [ ] **Make a step (2)** … waiting for a person: [`k3f9x2`]({link}), `q8d2aa`\n\n"
        f"Next: answer [`k3f9x2`]({link}), `q8d2aa`. Nothing is lost meanwhile, and nothing is"
        " spent.\n\n"
        "<sub>run `run-1`</sub>"
    )
    assert "one question" in render_text(at_work.park_stage("implement/2", ("k3f9x2",)))


def test_waiting_ends_with_the_stage_that_goes_on(at_work):
    parked = at_work.park_stage("implement/2", ("k3f9x2",))
    assert render_text(parked.start_stage("implement/2", "Make a step")) == render_text(at_work)
    done = Outcome(kind="failed", text="Nobody answered.")
    for ended in (parked.finish_stage("implement/2", "x"), parked.end(done)):
        assert "waiting" not in render_text(ended).casefold()
    assert "Make a step (2): **failed**" in render_text(parked.end(done))


# --- other kinds of requests ----------------------------------------------------------------------

ABOUT = REQUEST.model_dump(exclude={"kind", "body", "label", "via", "url", "again"})
PULL = "https://github.com/ada/parse/pull/31"
KINDS = {
    "review": AddressReview(**ABOUT, url=PULL, review_id=77),
    "label": AddressReview(**ABOUT, url=PULL, via="label"),
    "address": AddressReview(**ABOUT, url=PULL, via="command"),
    "address again": AddressReview(**ABOUT, url=PULL, via="command", again=Again(run_id="r")),
    "machine": AddressReview(**ABOUT, url=PULL, via="terminal"),
    "update": UpdateBranch(**ABOUT, url=PULL),
    "checks": FixChecks(**ABOUT, url=PULL, head="abc1234" + "0" * 33),
    "checks again": FixChecks(
        **ABOUT, url=PULL, head="a" * 40, via="command", again=Again(run_id="r")
    ),
}


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("review", f"`bob` submitted [a review]({PULL}#pullrequestreview-77)."),
        ("label", "`bob` asked for it with the label `bot:address`."),
        ("address", "`bob` asked for it with `/bot address`."),
        ("address again", "`bob` asked for it with `/bot retry`."),
        ("machine", "`bob` asked for it on the machine that Fettle runs on."),
        ("update", "`bob` asked for it with `/bot update`."),
        ("checks", "Checks failed on `abc1234`."),
        ("checks again", "`bob` asked for it with `/bot retry`."),
    ],
)
def test_why_it_is_at_work_on_a_pull_request(kind, told):
    text = render_text(Progress(KINDS[kind], "run-1"))
    assert text.startswith(f"**At work on this.** {told}\n\n")
    assert "linked here.\n\n" in text


@pytest.mark.parametrize("kind", KINDS)
def test_every_end_of_every_kind_can_be_told(kind):
    for ending in get_args(Outcome.model_fields["kind"].annotation):
        outcome = Outcome(kind=ending, text="So it ended.", url=f"{PULL}#x", rule="some-rule")
        text = render_text(Progress(KINDS[kind], "run-1").end(outcome))
        assert text.startswith("**")
        assert "So it ended." in text
        assert "{" not in text


@pytest.mark.parametrize(
    ("kind", "headline", "link"),
    [("review", "Done.", "the summary"), ("update", "Done.", "the result")],
)
def test_what_was_pushed_is_done_and_not_answered(kind, headline, link):
    outcome = Outcome(kind="comment", text="Three threads are answered.", url=f"{PULL}#c")
    text = render_text(Progress(KINDS[kind], "run-1").end(outcome))
    assert text.startswith(f"**{headline}** Three threads are answered.\n\n")
    assert f"Next: read [{link}]({PULL}#c)." in text


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("review", "To try again, write `/bot retry`; to start afresh, write `/bot address`."),
        ("update", "To try again, write `/bot retry`; to start afresh, write `/bot update`."),
        ("checks", "To try again, write `/bot retry`."),
    ],
)
def test_how_to_try_again(kind, told):
    text = render_text(Progress(KINDS[kind], "run-1").end(Outcome(kind="failed", text="It broke.")))
    assert f"\n\n{told}\n\n" in text


@pytest.mark.parametrize("kind", ["machine", "checks"])
def test_who_has_no_account_is_not_mentioned(kind):
    """A user of the machine, or `failed checks`, may be called like somebody on GitHub."""
    nobody = {"asked_by": Person(id=0, login="bob")}
    wording = OutgoingText(
        Urls.from_web_url("https://github.com"), KINDS[kind].model_copy(update=nobody), Redactor()
    )
    assert "@bob" not in wording.text("Thanks, @bob!")
    assert "@bob" in WORDING.text("Thanks, @bob!")


def test_whoever_can_read_it_is_led_to_the_page_of_the_run():
    address = "https://fettle.example"
    alert = build_remediate_alert()

    assert render_text(Progress(REQUEST, "run-1", pages=address)).endswith(
        "<sub>run [`run-1`](https://fettle.example/runs/run-1)</sub>"
    )
    assert address not in render_text(Progress(alert, "run-1", pages=address))
