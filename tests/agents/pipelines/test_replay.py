"""A pipeline function may do only what a replay repeats: each rule with a breaking sample."""

from __future__ import annotations

import ast
import textwrap

import pytest

from agents.pipelines.replay import find_faults


def read(body: str, head: str = "async def sample(run: Run, request: Request) -> Outcome:"):
    source = f"{head}\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    return find_faults(ast.parse(source).body[0])


def test_the_main_path_of_a_pipeline_is_allowed():
    body = """
        '''Resolve.'''
        finding = await run.stage(triage, request, issue=request.number)
        if not finding.actionable or finding.kind == Kind.QUESTION:
            return await run.stage(answer, request, finding)
        plan = await run.stage(decompose, request.title.strip(), finding)
        steps = [step for step in plan.steps if step.needed]
        for number, step in enumerate(steps, 1):
            if len(step.paths) > LIMIT:
                continue
            await run.stage(implement, step, number)
        rounds = 0
        while rounds < 3 and any(check.red for check in plan.checks):
            rounds += 1
            await run.answer(plan)
        write = craft_pr if plan.summary().passed else craft_draft_pr
        text: Text = await run.stage(write, f"{run.base}..{run.head}")
        return await run.stage(publish if text else give_up, text)
    """
    assert read(body) == []


@pytest.mark.parametrize(
    ("body", "remedy"),
    [
        ("x = datetime.now()", "`datetime.now()` may give another answer"),
        ("x = time()", "`time()` may give another answer"),
        ("x = random.choice(request.labels)", "`random.choice()` may give another answer"),
        ("x = Path(request.path).read_text()", "`Path(request.path).read_text()` may give another"),
        ("x = Path(request.path)\ny = x.read_text()", "`x.read_text()` may give another answer"),
        ("print(request)", "`print()` may give another answer"),
        ("x = Clock.now()", "`Clock.now()` may give another answer"),
        ("x = settings.limit", "`settings.limit` is neither a result of a stage nor a constant"),
        ("x = run.summary", "`run.summary` is not remembered"),
        ("x = list(run)", "`run` is not remembered"),
        ("x = run.policy()", "`run.policy()` may give another answer"),
        ("run.head = request.sha", "only stages change what a run remembers"),
        ("request.tags[0] = 1", "only stages change what a run remembers"),
        ("await asyncio.sleep(1)", "`await asyncio.sleep`: await only run.stage(...)"),
        ("await run.policy()", "`await run.policy`: await only run.stage(...)"),
        ("await run.attempt(triage)", "`await run.attempt`: await only run.stage(...)"),
        ("await run.stage()", "`await run.stage`: await only run.stage(...)"),
        ("await other.stage(triage)", "`await other.stage`: await only run.stage(...)"),
        ("x = (await run.stage(triage)).kind", "on a line of its own"),
        ("x = [await run.stage(fix, f) for f in request.files]", "on a line of its own"),
        ("x = [f async for f in request.files]", "await whole stages only"),
        ("if await run.stage(triage):\n    pass", "on a line of its own"),
        ("x = run.stage(triage)", "`run.stage()` may give another answer"),
        ("try:\n    pass\nexcept ValueError:\n    pass", "`try:`: put it into a part of its own"),
        ("with request.lock:\n    pass", "open and close inside one stage"),
        ("async with request.lock:\n    pass", "open and close inside one stage"),
        ("async for x in request.feed:\n    pass", "await whole stages only"),
        ("def inner():\n    pass", "make it a stage in a file of its own"),
        ("async def inner():\n    pass", "make it a stage in a file of its own"),
        ("class Inner:\n    pass", "move it to a file of its own"),
        ("x = lambda: 1", "make it a property of the stage's result"),
        ("if (x := request.number):\n    pass", "assign on a line of its own"),
        ("match request:\n    case _:\n        pass", "write it as if and elif"),
        ("raise RunError('no')", "return an outcome"),
        ("assert request", "return an outcome"),
        ("import random", "made of stages, if, for and while only"),
        ("global seen", "made of stages, if, for and while only"),
        ("yield request", "made of stages, if, for and while only"),
        ("for x in {1, 2}:\n    pass", "a set has no fixed order"),
        ("x = {y for y in request.tags}", "a set has no fixed order"),
        ("for x in request.tags:\n    pass\nelse:\n    pass", "`else` of a loop"),
        ("if request.odd:\n    while True:\n        time()", "`time()` may give another answer"),
    ],
)
def test_what_would_not_replay_is_refused_with_a_remedy(body, remedy):
    found = read(body)
    assert len(found) == 1
    assert remedy in found[0].text
    assert found[0].line >= 2


def test_a_part_of_the_pipeline_may_be_attempted():
    source = """
        tried = await run.attempt(change, request, again=request.number)
        if tried.result is None:
            tried.raise_unless(request.number)
    """
    body = textwrap.indent(textwrap.dedent(source), "    ")
    function = ast.parse(f"async def sample(run: Run, request: Request) -> Outcome:\n{body}").body[
        0
    ]
    assert find_faults(function, {"change"}) == []
    assert len(find_faults(function)) == 1, "only parts of the same file are known to replay"


def test_every_fault_is_told_in_reading_order():
    found = read("x = time()\ny = request.number\nz = random()")
    assert [fault.line for fault in found] == [2, 4]


def test_a_pipeline_takes_the_run():
    found = read("return None", head="async def sample() -> Outcome:")
    assert "takes the run" in found[0].text
