"""A review with ten threads for the bench `turns`: one pull request, one run that answers it."""

from __future__ import annotations

from app.simulator.github.state.reviews import Inline
from app.simulator.model import Script
from tests.bench.turns.place import LABEL_ADDRESS, BenchPlace, Work, open_place
from tests.bench.turns.script import LEDGER, repository_files

THREADS = 10
MENDED = 4  # of them ask for a change, the others for an answer
BRANCH = "bot/1-ledger-0a0a0a"


async def address() -> Work:
    """Have a review answered; return what that took."""
    async with open_place(latency=0.0) as place:
        return await _address(place)


async def _address(place: BenchPlace) -> Work:
    [repository], github = place.repositories, place.github
    text = repository_files()[LEDGER].replace("# what", "# What")
    policy = {".github/fettle.yml": "address: {quiet_seconds: 0}\n"}
    await github.commit(repository, policy, author=place.maintainer, message="Say how")
    await github.commit(
        repository, {LEDGER: text}, author=place.maintainer, message="Reword", branch=BRANCH
    )
    pull = await github.open_pull(
        repository, place.maintainer, title="Reword the ledger", head=BRANCH
    )
    comments = [
        Inline(LEDGER, 10 * n, f"Entry {10 * n}: {'say `paid`' if n <= MENDED else 'why so?'}")
        for n in range(1, THREADS + 1)
    ]
    await github.submit_review(pull, place.maintainer, "Some remarks.", comments=comments)
    place.model.play(_script())
    return await place.work_on([(repository, pull.issue.number)], LABEL_ADDRESS)


def _script() -> Script:
    mended = [f"t{n}" for n in range(1, MENDED + 1)]
    others = [f"t{n}" for n in range(MENDED + 1, THREADS + 1)]
    analysis = {
        "action_items": [
            {"about": key, "change": f"In {LEDGER}, line {key[1:]}0 must say `paid`."}
            for key in mended
        ],
        "out_of_scope": [
            {"about": key, "kind": "question", "reply": "A seventh of what is owed in a week."}
            for key in (*others, "r1")
        ],
    }
    entries = [(10 * n - 1) for n in range(1, MENDED + 1)]
    edits = [
        {
            "edit": {
                "path": LEDGER,
                "old": f"# What was owed on day {n:03}\n",
                "new": f"# What was paid on day {n:03}\n",
            }
        }
        for n in entries
    ]
    update = {
        "commits": [{"subject": "Say what was paid", "body": "", "files": [LEDGER]}],
        "replies": [
            {"about": key, "verdict": "fixed", "commit": 1, "reply": "It says `paid` now."}
            for key in mended
        ],
        "summary": "Four entries say what was paid.",
    }
    test = {"bash": {"command": "python3 -B -m unittest -q 2>&1 | tail -1"}}
    done = {"submit_step": {"summary": "They say `paid`.", "tried": "Ran the tests, they pass."}}
    judged = {"verdict": "pass", "reasoning": "The four entries say `paid`, and the tests pass."}
    look = {"read": {"path": LEDGER, "limit": 120}}
    said = (
        ("# Analyze the feedback", [[look], [{"submit_analysis": analysis}]]),
        ("# Make the changes of a review", [[look], edits, [test], [done]]),
        ("# Evaluate", [[look], [{"submit_evaluation": judged}]]),
        ("# Write the update", [[{"submit_update": update}]]),
    )
    return Script.model_validate(
        [{"when": when, "turns": [{"call": calls} for calls in turns]} for when, turns in said]
    )
