"""An issue with sub-issues: one commit for each, in order, and one pull request for all."""

from __future__ import annotations

from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import evaluation, part, pull_request, triage, usual

pytestmark = ONE_LOOP

DONE = {"summary": "Made it.", "tried": "Ran it."}


def make_part(number, count, *calls, **more):
    """Return the work on one sub-issue."""
    submitted = {"submit_step": DONE | more}
    return part(f"# Implement sub-issue {number} of {count}", *calls, submitted)


def write(name):
    return {"write": {"path": f"{name}.py", "content": f"{name.upper()} = 1\n"}}


TRIAGE = triage("action_direct", kind="feature")


async def divide(place, *titles):
    """Give the issue these parts; return them."""
    parts = [await place.file(title, f"Make {title}.") for title in titles]
    for each in parts:
        await place.github.add_sub_issue(place.issue, each, place.people["mara"])
    return parts


async def subjects(place, pull):
    return [message.splitlines()[0] for _, message in await place.commits(pull)]


async def test_parts_are_done_in_their_order_and_closed_together(share_place):
    script = usual(
        TRIAGE,
        make_part(1, 3, write("two")),
        make_part(2, 3, write("one")),
        make_part(3, 3, write("three")),
    )
    async with share_place(script=script) as place:
        one, two, three = await divide(place, "Part one", "Part two", "Part three")
        closed = await place.file("Part zero", "It is done.")
        await place.github.add_sub_issue(place.issue, closed, place.people["mara"])
        await place.github.close_issue(place.repository, closed.number, place.people["mara"])
        await place.github.block_issue(one, two, place.people["mara"])
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert not pull.draft
        assert await subjects(place, pull) == [
            f"Sub-issue 1/3 (#{two.number}): Part two",
            f"Sub-issue 2/3 (#{one.number}): Part one",
            f"Sub-issue 3/3 (#{three.number}): Part three",
        ]
        for number in (1, one.number, two.number, three.number):
            assert f"Resolves #{number}\n" in pull.issue.body + "\n"
        assert f"#{closed.number}: was closed before" in pull.issue.body
        assert (
            len({(await place.turns(f"evaluation/{n}"))[1].content[0]["text"] for n in (1, 2, 3)})
            == 3
        )


async def test_what_cannot_be_done_makes_a_draft_that_says_what_is(share_place):
    script = usual(
        TRIAGE,
        make_part(1, 3, write("one")),
        make_part(2, 3, summary="There is no way to do this part."),
        pull_request(draft=True),
    )
    async with share_place(script=script) as place:
        one, two, three = await divide(place, "Part one", "Part two", "Part three")
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert pull.draft
        assert await subjects(place, pull) == [f"Sub-issue 1/3 (#{one.number}): Part one"]
        body = pull.issue.body
        assert f"- [x] #{one.number}: Made it." in body
        assert f"- [ ] #{two.number}: **not done.** There is no way to do this part." in body
        assert f"- [ ] #{three.number}: not begun" in body
        assert f"Resolves #{one.number}" in body
        for number in (1, two.number, three.number):
            assert f"Resolves #{number}\n" not in body + "\n"


async def test_a_part_that_is_not_good_is_left_out_and_kept_aside(share_place):
    parts = (
        TRIAGE,
        make_part(1, 2, write("one")),
        make_part(2, 2, write("two")),
        pull_request(draft=True),
    )
    unsure = evaluation("needs_context", missing="Which two is meant?")
    async with share_place(script=usual(*parts, evaluation("pass"))) as place:

        async def judge_differently(asked):
            if asked.part == "# Evaluate":
                place.model.play(usual(*parts, unsure))

        place.model.on_answered(judge_differently)
        one, two = await divide(place, "Part one", "Part two")
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert pull.draft
        assert await subjects(place, pull) == [f"Sub-issue 1/2 (#{one.number}): Part one"]
        assert "Which two is meant?" in pull.issue.body
        [aside] = [name for name in await place.branches() if name != pull.head]
        assert aside.startswith(f"bot/{two.number}-unfinished-")
        assert await place.show(aside, "two.py") == "TWO = 1\n"
