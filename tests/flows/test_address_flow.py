"""From a signed review to pushed commits and answered threads, through the front door."""

from __future__ import annotations

from tests.flows.reviewed import edit, making, reviewed, script, sorting, wording

ONE = script(
    sorting(["t1"]),
    making(edit("range(len(prices))", "range(0, len(prices))")),
    wording(("t1", "fixed", 1)),
)


async def test_a_thread_is_fixed_answered_and_closed(make_place):
    async with reviewed(make_place, ONE) as at:
        await at.review("mara", "", ("calc.py", 11, "Begin at 0, please."))
        await at.place.ends("comment")
        [thread] = at.pull.threads
        assert thread.resolved
        print(at.place.comments(), at.answers(thread))
        assert 0
