"""A pull request from a fork: its changes are suggested, and nothing of it is pushed anywhere."""

from __future__ import annotations

from tests.flows.address.reviewed import (
    edit,
    make_changes,
    open_reviewed,
    script,
    sort,
    word_update,
)

ONE = script(
    sort(["t1"], [("t2", "question")]),
    make_changes(
        edit("range(len(prices))", "range(0, len(prices))"),
        {"write": {"path": "notes.txt", "content": "new\n"}},
    ),
    word_update(("t1", "fixed", 1), commits=[("Do as asked", ("calc.py", "notes.txt"))]),
)


async def test_a_fork_gets_suggestions(make_place):
    async with open_reviewed(make_place, ONE, listening=False) as at:
        jonas = at.people["jonas"]
        fork = await at.github.fork_repository(at.repository, jonas)
        await at.opens("jonas", head_repository=fork)
        before = at.pull.head_sha
        at.listen()
        await at.label()
        assert await at.all_over() == ["covered"], "nobody has said anything yet"
        asked = ("calc.py", 11, "Begin at nought."), ("calc.py", 17, "Why in percent?")
        await at.review("mara", "", *asked)
        branches = await at.place.branches()
        assert await at.all_over() == ["covered", "comment"]

        suggesting = [r for r in at.pull.reviews if "key=suggestions" in r.body]
        [review] = suggesting
        assert review.state == "COMMENTED"
        assert "`jonas/calc`, where it has no rights" in review.body
        assert "notes.txt" in review.body
        [remark] = review.remarks
        assert (remark.thread.path, remark.thread.original_line) == ("calc.py", 11)
        assert "```suggestion\n    for i in range(0, len(prices)):\n```" in remark.body
        assert at.pull.head_sha == before
        assert await at.place.branches() == branches
        pushes = [e for e in at.github.requests if e.path.endswith("/git-receive-pack")]
        assert pushes == []
        verdicts = {place: said for place, (said, _) in at.verdicts().items()}
        assert verdicts == {"calc.py:11": ["suggested"], "calc.py:17": ["answered"]}
        assert not any(thread.resolved for thread in at.pull.threads)
        assert "2 threads: 1 suggested, 1 answered; 100 % answered" in at.ledgers()[0]
