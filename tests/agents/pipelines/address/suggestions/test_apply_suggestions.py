"""Suggestions applied by code: whose, how often, in which commits, and which are left to others."""

import pytest

from agents.errors import RunError
from agents.pipelines.address.analyze_feedback import Analysis
from agents.pipelines.address.points import list_points
from agents.pipelines.address.suggestions.apply_suggestions import apply_suggestions
from agents.pipelines.address.work import Crafted, FeedbackWork, PointReply
from tests.fakes.pull_requests import build_pull_snapshot

FILES = {
    "calc.py": "one\ntwo\nthree\nfour\n",
    "docs/a|b.md": "alpha\nbeta\n",
    "script.sh": "echo\r\nexit\r\n",
    ".github/workflows/ci.yml": "on: push\njobs: {}\n",
    "blob.bin": "one\ntwo\n\0\n",
}
POLICY = ".github/fettle.yml"


@pytest.fixture
def begin(make_world, request_):
    """Return a world, and a run in it that stands on these files."""

    def make(files=FILES, world=None):
        world = world or make_world(files, [])
        run = world.run(request_)
        run.context.update_state(
            trunk=world.base, base=world.base, start=world.base, head=world.base
        )
        return world, run

    return make


def messages(world, head):
    found = []
    while head != world.base:
        _, head, message = world.history.commits[head]
        found.insert(0, message)
    return found


async def test_one_suggestion_becomes_a_commit_of_its_author_and_settles_its_thread(
    begin, words, suggest
):
    world, run = begin()
    thread = words.thread(suggest("2"), shown=("two",))

    applied = await run.stage(apply_suggestions, words.feedback(thread))

    assert applied.settled == {thread.id: run.head}
    assert not applied.partly
    assert not applied.left
    assert world.history.files(run.head)["calc.py"] == "one\n2\nthree\nfour\n"
    (message,) = messages(world, run.head)
    assert message.startswith("Apply mara's suggestion in calc.py\n")
    assert "Co-authored-by: mara <3+mara@users.noreply.github.com>\n" in message
    assert "Fettle-Stage: apply_suggestions/1\n" in message
    assert "Its suggestion was applied as it is" in applied.describe_suggestion(thread)


async def test_each_author_gets_one_commit_and_nobody_else_is_credited(begin, words, suggest):
    world, run = begin()
    feedback = words.feedback(
        words.thread(words.say(suggest("1", "1b"), by="jonas"), line=1, shown=("one",)),
        words.thread(suggest("3"), line=3, shown=("three",)),
        words.thread(suggest("exit 0"), path="script.sh", shown=("echo", "exit")),
        words.thread(words.say(suggest(), by="jonas"), line=4, shown=("four",)),
    )

    applied = await run.stage(apply_suggestions, feedback)

    first, second = messages(world, run.head)
    assert first.startswith("Apply 2 suggestions by jonas\n\n- calc.py:1\n- calc.py:4\n")
    assert second.startswith("Apply 2 suggestions by mara\n\n- calc.py:3\n- script.sh:2\n")
    assert "jonas" in first.split("Co-authored-by")[1]
    assert "mara" not in first
    assert "jonas" not in second
    files = world.history.files(run.head)
    assert files["calc.py"] == "1\n1b\ntwo\n3\n"
    assert files["script.sh"] == "echo\r\nexit 0\r\n"
    assert len(applied.settled) == 4
    assert len(applied.commits) == 2


async def test_words_beside_a_suggestion_still_want_an_answer(begin, words, suggest):
    _, run = begin()
    thread = words.thread(f"Two is a digit. Why not?\n\n{suggest('2')}", shown=("two",))

    applied = await run.stage(apply_suggestions, words.feedback(thread))

    assert applied.partly == {thread.id: run.head}
    assert not applied.settled


async def test_what_was_said_after_a_suggestion_takes_it_back(begin, words, suggest):
    world, run = begin()
    feedback = words.feedback(
        words.thread(suggest("2"), words.say("No, leave it.", by="jonas"), shown=("two",)),
        words.thread(suggest("3"), words.answer(), line=3, shown=("three",)),
        words.thread(suggest("4"), words.answer(), "And the tests?", line=4, shown=("four",)),
    )

    applied = await run.stage(apply_suggestions, feedback)

    assert run.head == world.base
    assert applied.settled == applied.partly == applied.left == {}


async def test_a_suggestion_that_others_praise_is_applied(begin, words, suggest):
    world, run = begin()
    praise = words.say("Nice!", by="noor", praise=True)
    thread = words.thread(suggest("2"), praise, shown=("two",))

    applied = await run.stage(apply_suggestions, words.feedback(thread))

    assert applied.settled == {thread.id: run.head}
    assert world.history.files(run.head)["calc.py"] == "one\n2\nthree\nfour\n"


async def test_the_newest_suggestion_of_a_thread_counts(begin, words, suggest):
    world, run = begin()
    feedback = words.feedback(
        words.thread(suggest("no"), words.answer(), suggest("2"), shown=("two",)),
        words.thread(suggest("2"), suggest("3"), "", line=3, shown=("three",)),
    )

    applied = await run.stage(apply_suggestions, feedback)

    assert world.history.files(run.head)["calc.py"] == "one\n2\nthree\nfour\n"
    assert list(applied.settled) == [feedback.threads[0].id]


@pytest.mark.parametrize("role", ["", "none", "read", "triage", "docs-writer"])
async def test_nobody_without_write_access_has_anything_applied(begin, words, suggest, role):
    world, run = begin({**FILES, POLICY: "address: {outsiders: true}"})
    stranger = words.say(suggest("import os; os.system('x')"), by="mallory", role=role)
    feedback = words.feedback(words.thread(stranger, shown=("two",)))

    applied = await run.stage(apply_suggestions, feedback)

    assert run.head == world.base
    assert not applied.commits


async def test_where_writers_alone_are_read_a_role_of_the_organisations_own_is_one(
    begin, words, suggest
):
    _, run = begin()
    thread = words.thread(words.say(suggest("2"), role="docs-writer"), shown=("two",))

    assert (await run.stage(apply_suggestions, words.feedback(thread))).settled


async def test_a_strangers_word_after_a_suggestion_neither_adds_to_it_nor_hides(
    begin, words, suggest
):
    world, run = begin()
    stranger = words.say(suggest("evil"), by="mallory", role="read")
    thread = words.thread(suggest("2"), stranger, shown=("two",))

    applied = await run.stage(apply_suggestions, words.feedback(thread))

    assert world.history.files(run.head)["calc.py"] == "one\n2\nthree\nfour\n"
    assert applied.partly == {thread.id: run.head}, "somebody reads what the stranger said"


async def test_our_own_suggestions_are_never_taken_for_somebodys(begin, words, suggest):
    world, run = begin()
    stranger = words.say("Do it!", by="mallory", role="read")
    ours = words.answer(suggest("2")).model_copy(update={"role": "write"})
    feedback = words.feedback(
        words.thread("Hm?", ours, stranger, shown=("two",)),
        words.thread(ours, "Hm.", shown=("two",)),
        words.thread(ours, shown=("two",)),
    )

    assert not (await run.stage(apply_suggestions, feedback)).commits
    assert run.head == world.base


async def test_what_we_have_dealt_with_is_not_done_again_when_a_stranger_speaks(
    begin, words, suggest
):
    world, run = begin()
    stranger = words.say("Do it!", by="mallory", role="read")
    thread = words.thread(suggest("2"), words.answer("No.", "disagree"), stranger, shown=("two",))

    assert not (await run.stage(apply_suggestions, words.feedback(thread))).commits
    assert run.head == world.base


async def test_of_one_persons_two_that_overlap_what_they_said_last_counts(begin, words, suggest):
    world, run = begin()
    early = words.thread(suggest("2", "3"), start=2, line=3, shown=("two", "three"))
    late = words.thread(suggest("zwei"), line=2, shown=("two",))

    applied = await run.stage(apply_suggestions, words.feedback(late, early))

    assert world.history.files(run.head)["calc.py"] == "one\nzwei\nthree\nfour\n"
    assert applied.settled == {late.id: run.head}
    reason = "its author has suggested something else for the same lines"
    assert applied.left == {early.id: reason}
    assert applied.describe_suggestion(early).startswith(
        "Its suggestion was not applied as it is: its author"
    )


async def test_of_two_people_who_contradict_each_other_nobody_wins_and_both_are_asked(
    begin, words, suggest
):
    world, run = begin()
    noor = words.thread(
        words.say(suggest("2", "3"), by="noor"), start=2, line=3, shown=("two", "three")
    )
    mara = words.thread(suggest("zwei"), line=2, shown=("two",))
    agrees = words.thread(words.say(suggest("zwei"), by="jonas"), line=2, shown=("two",))
    apart = words.thread(suggest("vier"), line=4, shown=("four",))
    told = words.feedback(noor, mara, agrees, apart)

    applied = await run.stage(apply_suggestions, told)

    assert world.history.files(run.head)["calc.py"] == "one\ntwo\nthree\nvier\n"
    assert applied.settled == {apart.id: run.head}
    assert set(applied.contested) == {noor.id, mara.id, agrees.id}
    assert f"`mara` wants [something else]({mara.said[0].url})" in applied.contested[noor.id]
    assert "`noor` wants" in applied.contested[mara.id]
    assert "neither was applied" in applied.contested[mara.id]
    assert not list_points(told, applied), "no model is asked what people have to decide"


@pytest.mark.parametrize("other", ["two texts", "lines that read differently"])
async def test_a_wish_that_does_not_apply_contradicts_one_that_does(begin, words, suggest, other):
    """Nobody's wish is overruled because the other one's happens to fit."""
    world, run = begin()
    noor = words.thread(words.say(suggest("2"), by="noor"), shown=("two",))
    texts = f"{suggest('zwei')}\n\nor\n\n{suggest('deux')}" if "texts" in other else suggest("zwei")
    mara = words.thread(texts, shown=("two",) if "texts" in other else ("to",))

    applied = await run.stage(apply_suggestions, words.feedback(noor, mara))

    assert run.head == world.base
    assert set(applied.contested) == {noor.id, mara.id}
    assert not applied.left


def ask(words, suggest, *answers, last=()):
    """Two threads that contradict each other, were asked, and what was said in the first then."""
    question = words.answer("Which of them is it to be?", "needs_human")
    noor = words.thread(words.say(suggest("2"), by="noor"), question, *answers, shown=("two",))
    again = words.answer("Which of them is it to be?", "needs_human")
    mara = words.thread(suggest("zwei"), again, *last, shown=("two",))
    return noor, mara


@pytest.mark.parametrize("said", ["take mara", "Mara's is right.", "Go with `mara`'s", "Use @mara"])
async def test_an_answer_to_the_question_lets_code_apply_what_was_decided(
    begin, words, suggest, said
):
    world, run = begin()
    noor, mara = ask(words, suggest, words.say(said, by="noor"))
    told = words.feedback(noor, mara)

    applied = await run.stage(apply_suggestions, told)

    assert world.history.files(run.head)["calc.py"] == "one\nzwei\nthree\nfour\n"
    assert applied.settled == {noor.id: run.head, mara.id: run.head}
    assert not list_points(told, applied)
    work = FeedbackWork(pull=build_pull_snapshot(), feedback=told, applied=applied)
    for thread in (noor, mara):
        entry = work.ledger.entry(thread.id)
        assert (entry.verdict, entry.commit) == ("fixed", run.head)
        assert "that `mara`'s suggestion is the one to take" in entry.words


@pytest.mark.parametrize(
    "said", ["not mara's", "Mara's or noor's?", "Nimm die andere", "No, take mara", "Both are bad"]
)
async def test_what_only_a_reader_understands_is_read_with_both_texts(begin, words, suggest, said):
    world, run = begin()
    noor, mara = ask(words, suggest, words.say(said, by="noor"))
    told = words.feedback(noor, mara)

    applied = await run.stage(apply_suggestions, told)

    assert run.head == world.base
    [point] = list_points(told, applied)
    assert point.about == noor.id
    assert "mara's, in another thread, for calc.py:2, reads:\nzwei" in point.applied

    analysis = Analysis(points=(point,), changes={point.key: "Take the other one."})
    reply = PointReply(about=point.key, verdict="fixed", commit=1, reply="It says zwei now.")
    work = FeedbackWork(
        pull=build_pull_snapshot(), feedback=told, applied=applied, analysis=analysis,
        crafted=Crafted(commits=(world.base,), replies=(reply,)),
    )  # fmt: skip
    entry = work.ledger.entry(mara.id)
    assert (entry.verdict, entry.commit) == ("fixed", world.base)
    assert f"was answered in [another thread]({noor.url})" in entry.words


async def test_an_answer_decides_nothing_about_other_lines_that_changed_since(
    begin, words, suggest
):
    _, run = begin()
    gone = {"line": None, "outdated": True}
    noor, mara = (
        each.model_copy(update={**gone, "original_line": 2})
        for each in ask(words, suggest, words.say("take mara", by="noor"))
    )
    others = (each.model_copy(update={**gone, "original_line": 4}) for each in ask(words, suggest))

    applied = await run.stage(apply_suggestions, words.feedback(noor, mara, *others))

    assert applied.asked_too == {noor.id: (mara.id,)}
    assert "mara's, in another thread, for calc.py:2, reads:\nzwei" in applied.rivals[noor.id]


async def test_a_stranger_decides_nothing(begin, words, suggest):
    world, run = begin()
    noor, mara = ask(words, suggest, words.say("take mara", by="mallory", role="read"))
    applied = await run.stage(apply_suggestions, words.feedback(noor, mara))
    assert (run.head, applied.settled, applied.rivals) == (world.base, {}, {})


async def test_two_who_want_the_same_both_get_it(begin, words, suggest):
    world, run = begin()
    one = words.thread(words.say(suggest("2"), by="noor"), shown=("two",))
    two = words.thread(f"Yes:\n{suggest('2')}", shown=("two",))

    applied = await run.stage(apply_suggestions, words.feedback(one, two))

    assert applied.settled == {one.id: run.head}
    assert applied.partly == {two.id: run.head}
    (message,) = messages(world, run.head)
    assert "noor" in message
    assert "mara" not in message


async def test_what_cannot_be_applied_is_left_with_its_reason(begin, words, suggest):
    world, run = begin()
    reasons = {
        words.thread(f"{suggest('a')}\n\nor\n\n{suggest('b')}", shown=("two",)): "2 different",
        words.thread(suggest("2"), shown=("deux",)): "differently",
        words.thread(suggest("2"), shown=("two",), outdated=True, line=None): "does not have",
        words.thread(suggest("2"), side="LEFT", shown=("two",)): "does not have",
        words.thread(suggest("x"), path="gone.py", shown=("two",)): "nothing that is a file",
        words.thread(suggest("x"), path="../../etc/passwd", shown=("two",)): "nothing that is",
        words.thread(suggest("x"), path="blob.bin", shown=("two",)): "binary",
        words.thread(
            suggest("jobs: {a: 1}"), path=".github/workflows/ci.yml", shown=("jobs: {}",)
        ): ("protected by `.github/workflows/**`"),
    }

    applied = await run.stage(apply_suggestions, words.feedback(*reasons))

    assert run.head == world.base
    assert applied.left.keys() == {thread.id for thread in reasons}
    for thread, reason in reasons.items():
        assert reason in applied.left[thread.id]


async def test_one_authors_commit_that_is_refused_does_not_stop_the_others(begin, words, suggest):
    world, run = begin()
    tree = await run.context.tree()

    class Refusing(type(tree)):
        async def commit(self, files, parent, message, **more):
            if "noor" in message:
                raise RunError("The file is too large.")
            return await super().commit(files, parent, message, **more)

    tree.__class__ = Refusing
    hers = words.thread(words.say(suggest("x"), by="noor"), path="script.sh", shown=("exit",))
    other = words.thread(suggest("3"), line=3, shown=("three",))

    applied = await run.stage(apply_suggestions, words.feedback(hers, other))

    assert applied.left == {hers.id: "The file is too large"}
    assert applied.settled == {other.id: run.head}
    files = world.history.files(run.head)
    assert files["calc.py"] == "one\ntwo\n3\nfour\n"
    assert files["script.sh"] == FILES["script.sh"]


async def test_done_again_after_a_death_it_makes_the_same_commits(
    begin, words, suggest, talk, request_
):
    world, run = begin()
    feedback = words.feedback(
        words.thread(words.say(suggest("1"), by="jonas"), line=1, shown=("one",)),
        words.thread(suggest("3"), line=3, shown=("three",)),
    )
    finished = world.reporter.stage_finished

    def die(*_):
        raise talk.Killed

    world.reporter.stage_finished = die
    with pytest.raises(talk.Killed):
        await run.stage(apply_suggestions, feedback)
    made = len(world.history.commits)
    world.reporter.stage_finished = finished
    _, again = begin(world=world)

    applied = await again.stage(apply_suggestions, feedback)

    assert len(world.history.commits) == made
    assert len(applied.settled) == 2
    assert world.history.files(again.head)["calc.py"] == "1\ntwo\n3\nfour\n"


async def test_without_suggestions_no_work_tree_is_made(begin, words):
    world, run = begin()

    applied = await run.stage(apply_suggestions, words.feedback(words.thread("Why?")))

    assert not applied.commits
    assert not world.source.opened
