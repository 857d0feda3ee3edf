"""Looking at a real run while the server is up: its stages, its conversation, what it changed."""

from __future__ import annotations

import json
import os

import pytest

from tests.flows.conftest import PATIENCE
from tests.flows.forked import call_fettle


async def fettle(place, *args):
    """Run the command as the operator would beside the server; return its JSON."""
    own = {"PATH": os.environ["PATH"], "FETTLE_DATA_DIR": str(place.server.data)}
    code, out, said = await call_fettle("runs", *args, "--json", environment=own)
    assert code == 0, said
    return json.loads(out)


async def test_all_of_a_run_can_be_looked_at_beside_the_server(make_place):
    async with make_place() as place:
        await place.label()
        outcome = await place.wait_for_end()
        [listed] = await fettle(place)
        assert listed["outcome"]["url"] == outcome.url
        assert (listed["repository"], listed["state"]) == ("octo-org/calc", "done")
        run = await fettle(place, "show", listed["short"], "--turns")

    names = [stage["stage"] for stage in run["stages"]]
    assert names[:5] == ["access/1", "prepare/1", "set_up/1", "gather/1", "triage/1"]
    assert {"implement/1", "evaluation/1", "check_quality/1", "publish/1"} <= set(names)
    assert {stage["state"] for stage in run["stages"]} == {"done"}
    starts = [stage["started_at"] for stage in run["stages"]]
    assert starts == sorted(starts)
    assert all(0 <= stage["seconds"] < PATIENCE for stage in run["stages"])
    assert sum(stage["answers"] for stage in run["stages"]) == run["answers"] > 3
    assert run["usd"] == pytest.approx(sum(stage["usd"] for stage in run["stages"]), abs=1e-4)

    changes = [turn["diff"]["text"] for turn in run["turns"] if turn["diff"]]
    assert changes
    assert "-    return a + b + 1" in changes[0]
