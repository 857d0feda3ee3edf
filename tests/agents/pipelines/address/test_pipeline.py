"""The address pipeline on fakes: from what reviewers say to commits, answers and a table."""

from datetime import UTC, datetime

import pytest

from agents.errors import ModelRefused
from agents.ports import Remark
from tests.agents.pipelines.address.pull_scene import (
    AT,
    BRANCH,
    OLA,
    SUGGESTION,
    feedback,
    review,
    say,
    straight,
    subjects,
    thread,
)
from tests.fakes.requests import MARA


async def test_what_a_thread_asks_for_is_pushed_and_the_thread_answered_and_closed(
    make, acts, wish
):
    world = make(straight(acts), feedback(thread("T1", "Turn it around, please.")))

    outcome = await world.resolve(wish)

    pushed = world.publisher.pushed[BRANCH]
    assert subjects(world, pushed) == ["Turn the sum around"]
    assert "Co-authored-by: mara" in world.history.commits[pushed][2]
    verdict, text = world.reviewing.replies["T1"]
    assert verdict == "fixed"
    assert pushed[:7] in text
    assert "Done for t1." in text
    assert world.reviewing.resolved == ["T1"]
    assert world.reviewing.requested == ["mara"]
    [batch] = world.reviewing.dealt
    assert (batch.head, batch.pushed, batch.reviews) == (world.head, pushed, (1, 2))
    assert not batch.kept_back
    assert outcome.kind == "comment"
    assert outcome.url == "url/ledger"
    table = world.publisher.comments["ledger"]
    assert "100 %" in table
    assert "`tests` passes" in table


async def test_who_makes_the_changes_knows_how_the_checks_ended_and_what_holds_for_the_files(
    make, acts, wish
):
    rules = {".github/instructions/py.instructions.md": "---\napplyTo: '*.py'\n---\nType it all."}
    world = make(straight(acts), feedback(thread("T1", "Turn it around.")), trunk=rules)
    await world.resolve(wish)

    told = next(each["messages"] for each in world.model.asked if "# Make the" in each["messages"])
    assert "- check: passed" in told
    assert "Type it all." in told
    names = [name for name in world.steps.names if name.startswith("stage/")]
    assert names.index("stage/measure_base/1") < names.index("stage/implement/1")


async def test_a_run_of_an_older_version_measures_after_the_changes(make, acts, wish):
    world = make(straight(acts), feedback(thread("T1", "Turn it around, please.")))
    step = world.steps.step

    async def forget(name, work):
        record = await step(name, work)
        if name == "stage/analyze_feedback/1":
            record["output"].pop("measured_first")
            record["output"].pop("languages")
        return record

    world.steps.step = forget
    assert (await world.resolve(wish)).kind == "comment"
    names = [name for name in world.steps.names if name.startswith("stage/")]
    assert names.index("stage/measure_base/1") > names.index("stage/implement/1")


async def test_what_nothing_could_verify_is_pushed_and_not_called_fixed(make, acts, wish):
    told = feedback(thread("T1", "Turn it around, please."))
    world = make(straight(acts), told, check=(1, "red in its own words"))

    outcome = await world.resolve(wish)

    verdict, text = world.reviewing.replies["T1"]
    assert verdict == "changed"
    assert text.startswith("**Changed, not verified** in [`")
    assert world.reviewing.resolved == [], "whoever asked for it has to look"
    assert BRANCH in world.publisher.pushed
    assert not outcome.ready
    assert "Not verified: `tests`: before the change, it failed without saying" in outcome.text
    assert "**Not verified:** nothing here can tell" in world.publisher.comments["ledger"]


async def test_each_kind_of_word_gets_its_own_answer(make, acts, wish):
    told = feedback(
        thread("T1", "Turn it around."),
        thread("T2", "Why not a dict?", line=6),
        thread("T3", "nit: I would call it plus", line=1),
        thread("T4", "Should this be public?", path="more.py", line=1),
        thread("T5", "Old.", say("It was so.", 2, own=True, verdict="answered")),
        reviews=(review(7, "Please see the threads."),),
        remarks=(Remark(id=5, author="ola", role="write", at=AT, body="Rename x.", edited=False),),
    )
    answers = [
        acts.analyse(
            ["t1", "c1"],
            [("t2", "question"), ("t3", "style"), ("t4", "discussion"), ("r1", "question")],
        ),
        acts.change(),
        acts.change("more.py", "x = 1", "y = 1"),
        acts.submit(),
        acts.verdict(),
        acts.update(
            ("t1", "fixed", 1),
            ("c1", "fixed", 2),
            commits=(("Turn the sum around", ("lib.py",)), ("Rename x", ("more.py",))),
        ),
    ]
    world = make(answers, told)

    await world.resolve(wish)

    assert subjects(world, world.publisher.pushed[BRANCH]) == ["Turn the sum around", "Rename x"]
    verdicts = {ident: verdict for ident, (verdict, _) in world.reviewing.replies.items()}
    assert verdicts == {"T1": "fixed", "T2": "answered", "T3": "disagree", "T4": "needs_human"}
    assert world.reviewing.resolved == ["T1"]
    assert "100 %" in world.publisher.comments["ledger"]


async def test_suggestions_alone_cost_no_token(make, wish):
    told = feedback(
        thread("T1", say(SUGGESTION, author=OLA)),
        thread("T2", "```suggestion\n    return -b + a\n```", line=6),
        reviewers=(OLA, MARA),
    )
    world = make([], told)

    await world.resolve(wish)

    pushed = world.publisher.pushed[BRANCH]
    assert world.model.asked == []
    assert len(subjects(world, pushed)) == 2
    assert "return b + a" in world.history.files(pushed)["lib.py"]
    assert "return -b + a" in world.history.files(pushed)["lib.py"]
    assert "Co-authored-by: mara" in world.history.commits[pushed][2]
    assert "Co-authored-by: ola" in world.history.commits[world.history.commits[pushed][1]][2]
    assert sorted(world.reviewing.resolved) == ["T1", "T2"]


async def test_suggestions_that_break_a_check_are_mended_in_a_session(make, acts, wish):
    def check(files):
        return (1, "1 failed") if "BROKEN" in files["lib.py"] else (0, "ok")

    told = feedback(thread("T1", "```suggestion\n    return b + a  # BROKEN\n```"))
    answers = [
        acts.change(old="# BROKEN", new="# kept"),
        acts.submit(),
        acts.verdict(),
        acts.update(commits=(("Mend the sum", ("lib.py",)),)),
    ]
    world = make(answers, told, check=check)

    await world.resolve(wish)

    assert subjects(world, world.publisher.pushed[BRANCH])[-1] == "Mend the sum"
    assert "1 failed" in world.model.asked[0]["messages"]
    assert world.reviewing.replies["T1"][0] == "fixed"


async def test_where_nothing_is_to_be_changed_it_answers_and_stops(make, acts, wish):
    told = feedback(thread("T1", "Why?"), thread("T2", "Hm.", line=6))
    world = make([acts.analyse((), [("t1", "question"), ("t2", "discussion")])], told)

    outcome = await world.resolve(wish)

    assert world.publisher.pushed == {}
    assert {i: v for i, (v, _) in world.reviewing.replies.items()} == {
        "T1": "answered",
        "T2": "needs_human",
    }
    assert world.reviewing.requested == []
    assert outcome.kind == "comment"
    assert outcome.text.startswith("Nothing had to be changed: 2 threads")


async def test_what_others_have_dealt_with_ends_silently(make, wish):
    told = feedback(thread("T1", "Old.", say("It was so.", 2, own=True, verdict="answered")))
    world = make([], told)

    assert (await world.resolve(wish)).kind == "covered"
    assert world.publisher.comments == {}


async def test_who_asks_by_command_hears_that_there_is_nothing(make, wish):
    world = make([], feedback(by_outsiders=2))

    outcome = await world.resolve(wish.model_copy(update={"via": "command", "review_id": 0}))

    assert outcome.kind == "comment"
    assert "2 people or bots without write access" in world.publisher.comments["nothing-new"]


async def test_a_batch_begins_when_nobody_has_sent_a_review_for_a_while(make, acts, wish):
    world = make(straight(acts), feedback())
    now = world.wall
    late = datetime.fromtimestamp(now - 14.98, UTC)
    looks = [
        feedback(newest_at=late),
        feedback(thread("T1", "Turn it."), newest_at=datetime.fromtimestamp(now - 20, UTC)),
    ]

    async def look(*, outsiders=False):
        return looks.pop(0) if len(looks) > 1 else looks[0]

    world.reviewing.feedback = look
    world.steps.meanwhile = lambda _name, until: setattr(world, "wall", until)

    await world.resolve(wish)

    assert world.wall - now == pytest.approx(0.02)  # and no place was held meanwhile
    assert world.reviewing.resolved == ["T1"]


async def test_closed_before_the_work_began_costs_nothing(make, wish):
    world = make([], feedback(), state="closed")

    outcome = await world.resolve(wish)

    assert outcome.kind == "failed"
    assert "was closed before the work began" in outcome.text


async def test_where_nothing_was_changed_no_check_runs_for_it(make, acts, wish):
    ran = []
    answers = [
        acts.analyse(["t1"]),
        acts.submit(),
        acts.update(("t1", "answered", 0), commits=()),
    ]
    world = make(answers, feedback(thread("T1", "Turn it.")))
    world.commands["check"] = lambda files: (ran.append(1), (0, ""))[1]

    await world.resolve(wish)

    assert len(ran) <= 1
    assert world.reviewing.replies["T1"][0] == "answered"


async def test_fresh_eyes_look_at_what_is_more_than_suggestions(make, acts, wish):
    """What they find is mended once; what is still wrong then is not called fixed."""
    flaw = {"where": "lib.py", "what": "It forgets that minus does not turn around."}
    told = feedback(thread("T1", SUGGESTION), thread("T2", "Turn the other as well.", line=6))
    answers = [
        acts.analyse(["t1"]),
        acts.change(old="a - b", new="b - a"),
        acts.submit(),
        acts.verdict("revise", flaws=[flaw]),
        acts.change(old="b - a", new="-b + a"),
        [acts.use("submit_fix", summary="Turned the sign as well.")],
        acts.verdict("revise", flaws=[flaw]),
        acts.update(("t1", "fixed", 1)),
    ]
    world = make(answers, told)

    outcome = await world.resolve(wish)

    judged = world.model.asked[3]["messages"]
    assert "Turn the other as well." in judged
    assert "+    return b + a" not in judged, "a reviewer's suggestion is theirs"
    assert {i: v for i, (v, _) in world.reviewing.replies.items()} == {
        "T1": "fixed",
        "T2": "changed",
    }
    assert world.reviewing.resolved == ["T1"]
    assert "It forgets that minus" in world.publisher.comments["ledger"]
    assert not outcome.ready


@pytest.mark.parametrize("stage", ["analysis", "engineer"])
async def test_what_code_applied_is_pushed_even_where_the_model_fails(make, acts, wish, stage):
    refused = ModelRefused("The model refused to answer.")
    told = feedback(
        thread("T1", SUGGESTION), thread("T2", "Turn it.", line=6), thread("T3", "Why?", line=5)
    )
    sorted_ = acts.analyse(["t1"], [("t2", "question")])
    answers = {
        "analysis": [refused],
        "engineer": [sorted_, acts.change(old="a - b", new="BROKEN"), refused],
    }
    world = make(answers[stage], told)

    outcome = await world.resolve(wish)

    pushed = world.publisher.pushed[BRANCH]
    assert subjects(world, pushed) == ["Apply mara's suggestion in lib.py"]
    assert "BROKEN" not in world.history.files(pushed)["lib.py"]
    last = "not_done" if stage == "analysis" else "answered"
    assert {i: v for i, (v, _) in world.reviewing.replies.items()} == {
        "T1": "fixed",
        "T2": "not_done",
        "T3": last,
    }
    assert "The model refused to answer." in world.reviewing.replies["T2"][1]
    assert "/bot address" in world.reviewing.replies["T2"][1]
    assert outcome.kind == "failed"
    assert world.reviewing.dealt[-1].kept_back, "what was said still waits"
    kept = [branch for branch in world.publisher.pushed if "unfinished" in branch]
    assert bool(kept) == (stage == "engineer"), "what an engineer began is not lost"


async def test_suggestions_that_break_a_check_are_not_pushed_where_the_model_fails(
    make, acts, wish
):
    def check(files):
        return (1, "FAILED tests.py::test_sum") if "b + a" in files["lib.py"] else (0, "ok")

    told = feedback(thread("T1", SUGGESTION), thread("T2", "Turn it.", line=6))
    world = make([ModelRefused("The model refused to answer.")], told, check=check)

    outcome = await world.resolve(wish)

    assert BRANCH not in world.publisher.pushed
    assert outcome.kind == "failed"


async def test_where_nothing_can_be_checked_what_code_applied_is_pushed_and_called_so(make, wish):
    """As it is where the model does not fail."""
    told = feedback(thread("T1", SUGGESTION), thread("T2", "Turn it.", line=6))
    refused = ModelRefused("The model refused to answer.")
    policy = "quality: []\nsetup: {second_look: false}\n"
    world = make([refused], told, trunk={".github/fettle.yml": policy})

    outcome = await world.resolve(wish)

    pushed = world.publisher.pushed[BRANCH]
    assert subjects(world, pushed) == ["Apply mara's suggestion in lib.py"]
    verdicts = {i: v for i, (v, _) in world.reviewing.replies.items()}
    assert verdicts == {"T1": "changed", "T2": "not_done"}
    assert outcome.kind == "failed"


async def test_a_change_is_not_lost_where_the_model_fails_at_its_words(make, acts, wish):
    told = feedback(thread("T1", "Turn it around, please."))
    world = make([*straight(acts)[:4], ModelRefused("The model refused to answer.")], told)

    await world.resolve(wish)

    verdict, text = world.reviewing.replies["T1"]
    assert verdict == "needs_human"
    assert world.publisher.pushed[BRANCH][:7] in text
    assert world.reviewing.resolved == []


GERMAN = "Bitte dreh das um, es ist nicht richtig."


async def test_what_no_model_worded_is_said_in_the_language_of_the_thread(make, acts, wish):
    refused = ModelRefused("The model refused to answer.")
    unworded = make([*straight(acts)[:4], refused], feedback(thread("T1", GERMAN)))
    left = feedback(thread("T1", SUGGESTION), thread("T2", GERMAN, line=6))
    unsorted = make([refused], left)

    await unworded.resolve(wish)
    await unsorted.resolve(wish)

    _, text = unworded.reviewing.replies["T1"]
    assert text.startswith("**Braucht einen Menschen**")
    assert "das Modell ist ausgefallen" in text
    assert unworded.publisher.pushed[BRANCH][:7] in text
    assert unsorted.reviewing.replies["T1"][1].startswith("**Fixed** in")
    assert unsorted.reviewing.replies["T2"][1].startswith("**Noch nicht erledigt**")
    assert "refused to answer" in unsorted.reviewing.replies["T2"][1]


async def test_warnings_are_said_in_the_language_of_the_thread(make, acts, wish):
    told = feedback(thread("T1", GERMAN))
    unsure = make(straight(acts), told, check=(1, "red in its own words"))
    await unsure.resolve(wish)

    assert unsure.reviewing.replies["T1"][1].startswith("**Geändert, nicht verifiziert** in [`")
    ledger = unsure.publisher.comments["ledger"]
    assert "**Changed, not verified**" in ledger, "one table is for everybody"


async def test_what_was_kept_back_waits_for_the_next_run(make, acts, wish):
    answered = [say("Kept back.", 2, own=True, verdict=v) for v in ("kept_back", "not_done")]
    told = feedback(*(thread(f"T{n}", SUGGESTION, each) for n, each in enumerate(answered, 1)))
    world = make([], told)

    await world.resolve(wish)

    assert world.reviewing.resolved == ["T1", "T2"]
