"""A server that does not start leaves the verdict open, unless no check is known to want it."""

import pytest

from agents.pipelines.stages.quality import check_quality, measure_base
from agents.policy import POLICY_PATH
from agents.ports import SetupResult

SERVER = "services: {db: {image: 'postgres:16'}}"
CI = ".github/workflows/ci.yml"
JOB = "on: push\njobs:\n  test:\n    steps: [{run: make test}]\n"
COMPOSE = {CI: JOB, "compose.yml": SERVER}
WORKFLOW = {CI: f"{JOB}    {SERVER}\n"}
OWNERS = {POLICY_PATH: "quality: [{name: tests, run: make test}]\n", **WORKFLOW}
MISSING = (97, "[service unavailable] postgres: missing program postgres")
GREEN = (0, "9 passed in 1s")
RED = (1, "=== short test summary info ===\nFAILED t.py::a - x\n=== 1 failed, 8 passed in 1s ===")


@pytest.mark.parametrize(
    ("files", "ended", "verdict"),
    [
        (OWNERS, GREEN, "no worse"),
        (OWNERS, RED, "unknown"),
        (WORKFLOW, GREEN, "unknown"),
        (COMPOSE, GREEN, "no worse"),
        (COMPOSE, RED, "unknown"),
    ],
    ids=["chosen", "chosen and red", "workflow", "compose", "compose and red"],
)
async def test_a_server_counts_where_a_check_may_want_it(
    make_world, request_, files, ended, verdict
):
    world = make_world(files, (), commands={"make test": ended, "true": MISSING})
    run = world.run(request_)
    at = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
    run.context.standing = run.context.standing.model_copy(update=at)

    setup = SetupResult(source="nothing to install")
    quality = await check_quality.work(run.context, await measure_base.work(run.context, setup))

    assert quality.verdict == verdict, quality.untold
    why = "The tests need PostgreSQL"
    assert (why in "".join(quality.untold)) == (verdict == "unknown")
    assert (why in "".join(quality.baseline.setup.notes)) == (files is COMPOSE and ended is GREEN)
