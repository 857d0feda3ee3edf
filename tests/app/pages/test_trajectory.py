"""Harbor's own models judge the trajectories of runs: whole ones, begun ones, damaged ones."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agents.loop.head import write_head
from agents.ports import Query, Turn
from app.secrets.redaction import Redactor
from app.store.runs import History, Runs, StoredJournal
from app.views.trajectory import build_trajectory
from tests.alone import hold_lock
from tests.app.cli.runs.runs_scene import answer, call, prompt, results
from tests.app.github.approvals.test_action_text import REQUEST

REFEREES = Path(__file__).parents[2] / "referees"
REQUIREMENTS = REFEREES / "harbor-wheel.txt"
CACHE = Path(__file__).parents[3] / ".cache" / "referees"
SECRET = "a-secret-of-the-operator"
TOOL = {"name": "bash", "description": "Runs a command.", "input_schema": {"type": "object"}}
HEAD = write_head(Query("claude-opus-5-5", "You are an engineer.", [TOOL], ()), "implement/1")
WHOLE = (
    HEAD,
    prompt(f"Do it. {SECRET}"),
    answer({"type": "thinking", "thinking": "Look first."}, call(command="ls")),
    results("calc.py \ud800 \x1b[2J"),
    answer({"type": "text", "text": "Done."}),
)
ODD = (
    Turn("head", "implement/1", [{"type": "head", "model": "m", "packed": "broken"}]),
    results("a result before any call"),
    answer({"type": "tool_use", "id": None, "name": None, "input": "no object"}),
    Turn("results", "implement/1", [{"type": "tool_result", "content": [{"type": "image"}]}]),
    Turn("answer", "implement/1", [], stop_reason="end_turn"),
    results("for nobody's call"),
)


@pytest.fixture
def referee(monkeypatch):
    """Return Harbor's validator, from its hash-pinned wheel; fetched once."""
    [version] = re.findall(r"^harbor==(\S+)", REQUIREMENTS.read_text(), re.MULTILINE)
    wheel = CACHE / f"harbor-{version}-py3-none-any.whl"
    with hold_lock("harbor"):
        if not wheel.exists():
            _fetch()
    if not wheel.exists():
        pytest.skip("Harbor's wheel cannot be fetched")
    monkeypatch.syspath_prepend(str(wheel))
    yield importlib.import_module("harbor.models.trajectories").Trajectory
    for name in [each for each in sys.modules if each.split(".")[0] == "harbor"]:
        del sys.modules[name]


def _fetch():
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
    # It is for a newer Python; what is taken of it works with this one.
    command += ["--no-deps", "--only-binary=:all:", "--python-version=3.13", "--require-hashes"]
    command += ["-r", str(REQUIREMENTS), "-d", str(CACHE)]
    subprocess.run(command, capture_output=True, timeout=300, check=False)


@pytest.mark.parametrize("turns", [WHOLE, ODD, ()], ids=["whole", "odd", "none"])
async def test_trajectories_are_as_harbor_wants_them(referee, database, turns):
    told = await _tell(database, turns)

    referee.model_validate(json.loads(json.dumps(told)))


async def test_a_trajectory_says_what_was_said_and_what_it_cost(referee, database):
    told = await _tell(database, WHOLE)
    root = referee.model_validate(json.loads(json.dumps(told)))

    [session] = root.subagent_trajectories
    assert [step.source for step in session.steps] == ["system", "user", "agent", "agent"]
    assert session.agent.model_name == "claude-opus-5-5"
    assert session.agent.tool_definitions[0]["function"]["name"] == "bash"
    assert session.steps[0].message == "You are an engineer."
    looked = session.steps[2]
    assert looked.reasoning_content == "Look first."
    assert looked.tool_calls[0].arguments == {"command": "ls"}
    assert looked.observation.results[0].source_call_id == looked.tool_calls[0].tool_call_id
    assert looked.observation.results[0].content.startswith("calc.py ?")
    assert (root.final_metrics.total_prompt_tokens, root.final_metrics.total_cost_usd) == (
        1600,
        0.5,
    )
    assert SECRET not in json.dumps(told)


async def _tell(database, turns):
    await Runs(database).create("0001-a", REQUEST)
    for number, turn in enumerate(turns):
        await StoredJournal(database, "0001-a").append("implement/1", number, turn)
    history = History(database)
    run = await history.run("0001-a")
    kept = await history.turns("0001-a", content=True)
    return build_trajectory(run, kept, Redactor([SECRET]))
