"""A run asks, the dashboard lists it, somebody ticks its box, and the same session goes on."""

from __future__ import annotations

from handlers.issues import BOARD
from tests.flows.approvals.test_approval_commands import RESET, questions, script
from tests.flows.conftest import write_policy

POLICY = write_policy("dashboard: decide")


async def test_a_ticked_box_lets_the_call_run_and_the_run_go_on(make_place):
    async with make_place(files=POLICY, script=script(RESET), FETTLE_SWEEP_SECONDS="1") as place:

        def find_boards():
            found = place.repository.issues.values()
            return [each for each in found if BOARD in (each.body or "")]

        await place.label()
        [question], [ident] = await questions(place)
        await place.wait_until(lambda: any(ident in each.body for each in find_boards()))
        [board] = find_boards()
        assert f"#issuecomment-{question.id})" in board.body
        for who in ("eve", "mara"):
            ticked = board.body.replace("- [ ]", "- [x]")
            await place.github.edit_issue(
                place.repository, board.number, place.people[who], body=ticked
            )
            await place.wait_until(lambda: "[x]" not in board.body)  # it was taken up
        assert (await place.wait_for_end()).kind == "pull_request"
        await place.wait_until(lambda: "Nothing waits for anybody." in board.body)

        assert "**Approved** by `mara` on Fettle's dashboard issue" in question.body
        assert "could not" in await place.read_results("implement/1")
        assert len(find_boards()) == 1
        [refused] = [each.body for each in board.comments]
        assert "`eve`" in refused
