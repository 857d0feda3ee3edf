"""The fast path through the front door: one conversation understands and mends, a judge looks."""

from __future__ import annotations

import yaml

from tests.flows.conftest import SCRIPT, write_policy
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

FILES = write_policy("path: fast")
STEP = {
    "title": "Add without one too many",
    "brief": "In calc.py, add() must return a + b; test_calc.py tests it.",
}
FIRST = "# Implement step 1 of 2"
SECOND = "# Implement step 2 of 2"


def write_script(folder):
    """Return a script in which triage plans the only step, and goes on to make it."""
    acts = {act["when"]: act for act in yaml.safe_load(SCRIPT.read_text("utf-8"))}
    acts["# Triage"]["turns"][-1]["call"][0]["submit_triage"]["steps"] = [STEP]
    edit, test = acts[FIRST]["turns"][1]["call"], acts[SECOND]["turns"][0]["call"]
    words = acts[SECOND]["turns"][-1]["call"][0]["submit_step"]
    made = {"submit_step": words | {"documentation": "Nothing describes it."}}
    turns = [{"call": [*edit, *test]}, {"call": [made]}]
    kept = [act for name, act in acts.items() if "Implement" not in name and "Plan" not in name]
    file = folder / "script.yml"
    file.write_text(yaml.safe_dump([*kept, {"when": "# Make the planned change", "turns": turns}]))
    return file


async def look_at_end(place):
    """Look whether the run came to what it should, with few answers."""
    [run] = await place.all_done(1)
    [pull] = place.pulls()
    assert not pull.draft
    assert pull.issue.title == STEP["title"]
    assert "Made on the fast path" in pull.issue.body
    assert "**A test shows the bug.**" in pull.issue.body
    turns = {
        session: {turn.stage for turn in await place.turns(session)}
        for session in ("triage/1", "evaluation/1")
    }
    assert turns == {"triage/1": {"triage/1", "implement/1"}, "evaluation/1": {"evaluation/1"}}
    return run


async def test_one_conversation_makes_the_change_over_power_cuts_that_cost_an_answer_at_most(
    share_place, tmp_path
):
    """Each stage is shown all the same."""
    async with share_place(files=FILES, script=write_script(tmp_path)) as place:
        await place.label_and_kill(3)
        second = place.kill_at(6)  # its fifth answer: the third is asked for twice
        await place.server.start(place.app)
        await second()
        await place.server.start(place.app)
        await look_at_end(place)
        answered = [each.prefix for each in place.model.requests if each.answered]
        assert len(answered) == len(set(answered)), "nothing is paid twice"
        assert len(answered) <= 8
        assert "Plan the steps: 1 step, on the fast path" in place.progress()
