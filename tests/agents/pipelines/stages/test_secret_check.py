"""What looks like a secret stays out of commits: the engineer is told, then people are asked."""

from __future__ import annotations

import json

import pytest

from agents.errors import RunError
from agents.pipelines.stages.inspect_weakening import Inspection, put_back

KEY = f"ghp_{'Ab3dEfGh1jKl' * 3}"
FILES = {"calc.py": "A = 1\n"}
LEAKY = f"A = 1\nTOKEN = '{KEY}'\n"


@pytest.fixture
def work(make_world, request_, talk):
    """Have the engineer write these texts, each time submitting; return the world and the run."""

    def make(*texts, **more):
        answers = []
        for text in texts:
            if text is not None:
                answers.append([talk.use("write", path="calc.py", content=text)])
            answers.append([talk.use("submit_fix", summary="Did it.")])
        world = make_world(FILES, answers, **more)
        run = world.run(request_)
        stands = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
        sessions = {"implement": "implement/1"}
        run.context.standing = run.context.standing.model_copy(
            update={**stands, "sessions": sessions}
        )
        return world, run

    return make


def read_told(world):
    """Return what the engineer was told, and nothing that it said itself."""
    messages = json.loads(world.model.asked[-1]["messages"])
    return json.dumps([each for each in messages if each["role"] == "user"])


async def test_the_engineer_is_told_and_takes_it_out(work, talk):
    approvals = talk.Approvals([])
    world, run = work(LEAKY, "A = 1\nTOKEN = os.environ['TOKEN']\n", approvals=approvals)
    await run.stage(put_back, Inspection())
    assert "calc.py:2: GitHub Token" in read_told(world)
    assert KEY not in "".join(world.history.files(run.head).values())
    assert approvals.askings == []


async def test_what_stays_needs_a_yes_for_exactly_these_files(work, talk):
    approvals = talk.Approvals([{"state": "approved", "decided_by": "mara"}])
    world, run = work(LEAKY, None, approvals=approvals)
    await run.stage(put_back, Inspection())
    [asking] = approvals.askings
    assert asking.rule == "change/secret"
    assert "- calc.py:2: GitHub Token" in asking.arguments["places"]
    assert KEY not in json.dumps(asking.arguments)
    assert world.history.files(asking.arguments["files"]) == world.history.files(run.head)
    assert KEY in world.history.files(run.head)["calc.py"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"state": "denied", "decided_by": "mara"}, "mara said no"),
        ({"state": "void", "decided_by": ""}, "the answer is void"),
        (None, "nobody could be asked"),
    ],
)
async def test_without_a_yes_nothing_is_committed(work, talk, answer, why):
    more = {} if answer is None else {"approvals": talk.Approvals([answer])}
    world, run = work(LEAKY, None, **more)
    with pytest.raises(RunError, match=why) as failed:
        await run.stage(put_back, Inspection())
    assert run.head == world.base
    assert "calc.py:2 looks like a secret (GitHub Token)" in str(failed.value)
    assert KEY not in str(failed.value)


async def test_another_secret_is_told_of_again(work, talk):
    other = LEAKY + f"MORE = 'AKIA{'ABCD' * 4}'\n"
    world, run = work(LEAKY, other, "A = 2\n", approvals=talk.Approvals([]))
    await run.stage(put_back, Inspection())
    assert "calc.py:3: AWS Access Key" in read_told(world)
    assert world.history.files(run.head)["calc.py"] == "A = 2\n"
