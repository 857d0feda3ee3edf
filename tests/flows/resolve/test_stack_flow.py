"""A change that is too large to be read at a time becomes pull requests on top of each other."""

from __future__ import annotations

import base64
import json

from app.simulator.github.gitdir import GitDir
from tests.flows.conftest import CALC, SCRIPT, write_policy
from tests.flows.keeping import ONE_LOOP
from tests.flows.resolve.test_resolve_flow import commit_meanwhile, says_what_came_meanwhile
from tests.flows.resolve.test_undo_flow import wait_for
from tests.flows.scripted import CURE, plan, step, triage, usual

pytestmark = ONE_LOOP

SMALL = write_policy("pull_requests: {max_lines: 4}")


async def read_subject(place, commit):
    """Return what the signed note on a commit is about."""
    shown = ("notes", "--ref=refs/notes/fettle", "show", commit)
    note = json.loads(await GitDir(place.repository.gitdir).run(*shown))
    [subject] = json.loads(base64.b64decode(note["payload"]))["subject"]
    return subject


async def label_and_cut_power(place):
    """Label the issue, and end the server after each pull request and after the stack is made."""
    killed = []

    async def cut_power(_request):
        killed.append(await place.server.kill())

    for number, path in enumerate(("/pulls", "/pulls", "/stacks"), 1):
        place.github.faults.call_after("POST", path, cut_power, times=1)
        await (place.label() if number == 1 else place.server.start(place.app))
        await place.wait_until(lambda number=number: len(killed) == number)
    await place.server.start(place.app)


async def test_each_part_is_green_and_stands_on_the_one_before(share_place, rest_referee):
    """Power cuts between them leave nothing double, and nothing half."""
    async with share_place(files=SMALL, script=SCRIPT) as place:
        await label_and_cut_power(place)
        outcome = await place.ends("pull_request")

        lower, top = place.pulls()
        assert (lower.base, top.base) == ("main", lower.head)
        assert [each.issue.title for each in (lower, top)] == [
            "Add without one too many (1 of 2)",
            "Add without one too many (2 of 2)",
        ]
        assert not lower.draft
        assert not top.draft
        assert outcome.text.startswith(
            f"Opened pull request #{top.issue.number}, on top of #{lower.issue.number}:"
        )
        first, second = lower.issue.body, top.issue.body
        assert f"2. #{top.issue.number}: Test the sum" in first
        assert "add() added one too many." in first
        assert "| `tests` | passed | passed |" in first
        assert f"1. #{lower.issue.number}: Add without one too many" in second
        assert "**Test the sum.** A test of the sum." in second
        assert "Resolves #1" in second
        assert "Resolves #1" not in first
        [stack] = place.repository.stacks
        assert stack.pulls == [lower, top]
        assert await place.show(lower.head_sha, "test_calc.py") == CALC["test_calc.py"]
        assert len(await place.commits(top)) == 1
        for each in (lower, top):
            subject = await read_subject(place, each.head_sha)
            assert subject["name"] == f"{place.repository.full_name}#{each.issue.number}"
            assert subject["digest"]["gitCommit"] == each.head_sha
        called = [each for each in place.github.requests if each.path.startswith("/api/v3/")]
        assert rest_referee.problems(called) == []

        await place.say("mara", "/bot undo", issue=lower.issue)
        told = await wait_for(place, lower.issue, "what the last run did is taken back")
        assert f"#{top.issue.number} is closed" in told
        assert f"#{lower.issue.number} is closed" in told
        assert {each.issue.state for each in (lower, top)} == {"closed"}
        assert not await GitDir(place.repository.gitdir).refs("refs/heads/bot/")


def make_lines(name, number):
    """Return a step of three that fills a pull request of its own."""
    content = "".join(f"{name.upper()}_{n} = {n}\n" for n in range(3))
    return step({"write": {"path": f"{name}.py", "content": content}}, number=number, count=3)


THREE = usual(
    triage("action_direct", kind="feature"),
    plan("Add without one too many", "Count", "Name"),
    step(CURE, number=1, count=3),
    make_lines("counts", 2),
    make_lines("names", 3),
)


async def test_what_stands_on_a_merged_part_is_moved_and_brought_up_to_date(share_place):
    """On a GitHub without stacks, of which nobody is told; a merge is a commit, as in squashing.

    Where the branch of what was merged stays, and where GitHub deletes it and moves what stands on
    it.
    """
    async with share_place(files=SMALL, script=THREE) as place:
        place.repository.has_stacks = False
        await place.label()
        await place.ends("pull_request")
        lower, middle, top = place.pulls()
        assert (middle.base, top.base) == (lower.head, middle.head)
        texts = [*place.comments(), *(each.issue.body for each in place.pulls())]
        assert "stack" not in "".join(texts)
        await merge_meanwhile(place, lower, "other.py")
        await place.all_done(2)
        await is_brought_up_to_date(place, middle, "other.py")
        assert top.base == middle.head

        await merge_meanwhile(place, middle, "more.py")
        await place.github.parts.pulls.retarget(top, place.actor("mara"), "main")
        await place.all_done(3)
        await is_brought_up_to_date(place, top, "more.py")


async def merge_meanwhile(place, pull, path):
    """Have a part merged, and before that a commit come to the default branch."""
    mara = place.people["mara"]
    came = {path: "OTHER = 1\n"}
    await place.github.commit(place.repository, came, author=mara, message="Meanwhile")
    await place.github.merge_pull(pull, mara)


async def is_brought_up_to_date(place, pull, path):
    """See that the part stands on the default branch, and has what came to that."""
    assert pull.base == "main"
    assert await place.show(pull.head_sha, path) == "OTHER = 1\n"
    said = "\n".join(each.body for each in pull.issue.comments)
    assert "into this branch" in said
    assert "`/bot update`" not in said


async def test_others_of_fettles_on_the_same_files_are_brought_up_to_date_after_merges(
    share_place,
):
    """What came to the default branch before a merge, and contradicts nothing, is said."""
    async with share_place() as place:
        mara = place.people["mara"]
        other = await place.file("It adds one too many, still", "`calc.add(2, 2)` gives 5.")
        commit_meanwhile(place, {"more.py": "x = 1\n"})
        await place.label()
        outcome = await place.ends("pull_request")
        says_what_came_meanwhile(*place.pulls(), outcome, contradicts=False)
        await place.label(issue=other)
        await place.all_done(2)
        first, second = place.pulls()
        await place.github.merge_pull(first, mara)
        await place.github.commit(
            place.repository, {"other.py": "OTHER = 1\n"}, author=mara, message="Later"
        )
        await place.all_over("done", "done", "done")

        assert await place.show(second.head_sha, "calc.py") == await place.show("main", "calc.py")
        commits = await GitDir(place.repository.gitdir).commits(f"main..{second.head_sha}")
        assert any(len(each.parents) == 2 for each in commits), "the base is merged into it"


async def test_a_retry_closes_what_it_has_anew_and_undo_takes_back_what_is_not_merged(share_place):
    async with share_place(files=SMALL, script=SCRIPT) as place:
        await place.label()
        await place.all_done(1)
        earlier, top = place.pulls()
        await place.say("mara", "/bot retry from implement")
        await place.all_done(2)

        told = "\n".join(each.body for each in earlier.issue.comments)
        later = next(each for each in place.pulls() if each not in (earlier, top))
        assert earlier.issue.state == "closed"
        assert f"this part of it stands in #{top.issue.number} now" in told
        assert [each.issue.state for each in (top, later)] == ["open", "open"]
        assert (later.base, top.base) == ("main", later.head)
        assert f"2. #{top.issue.number}: " in later.issue.body
        assert f"1. #{later.issue.number}: " in top.issue.body

        await place.github.merge_pull(later, place.people["mara"])
        await place.say("mara", "/bot undo")
        told = await wait_for(place, place.issue, "what the last run did is taken back")
        assert f"#{later.issue.number} is merged already" in told
        assert top.issue.state == "closed"
