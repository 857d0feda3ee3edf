"""A batch whose run fails is paid for once, however many reviews it is of."""

from __future__ import annotations

from tests.flows.address.reviewed import (
    BASE,
    make_changes,
    open_reviewed,
    script,
    sort,
    word_update,
)

POOR = BASE | {".github/fettle.yml": "address: {quiet_seconds: 0}\nbudget: {usd: 0.01}\n"}


async def test_the_other_reviews_of_a_failed_batch_do_not_begin_it_again(make_place):
    every = script(sort(["t1", "t2", "t3"]), make_changes(), word_update())
    async with open_reviewed(make_place, every, base=POOR) as at:

        async def two_more(_request):
            await at.review("ola", "", ("calc.py", 17, "Why in percent?"))
            await at.review("mara", "", ("words.py", 2, "Any other currency?"))

        at.github.faults.call_before("POST", r"/graphql$", two_more)
        await at.review("mara", "", ("calc.py", 11, "Begin at nought."))
        assert await at.all_over() == ["failed", "covered", "covered"]
        asked, [(_, why), *_] = len(at.place.model.requests), await at.ends()
        assert "used up its budget" in why
        assert len(at.place.comments()) == 1

        at.place.model.play(script(sort((), [(f"t{n}", "question") for n in (1, 2, 3, 4)])))
        await at.review("ola", "", ("words.py", 12, "And why that?"))
        assert (await at.all_over())[-1] == "comment", "a new review has all of it read anew"
        assert len(at.place.model.requests) == asked + 1
        assert {verdicts[0] for verdicts, _ in at.verdicts().values()} == {"answered"}
