"""What the tests of checks share: a change, measured against what was there before it."""

import pytest

from agents.pipelines.stages.quality import check_quality, measure_base
from agents.ports import SetupResult


@pytest.fixture
def compare_change(make_world, request_):
    """Compare a change of these files with the base by the checks; None takes a file away.

    `commands`: what each command comes to, by its last word.
    """

    async def compare(base, changes, commands):
        world = make_world(base, (), commands=commands)
        files = {path: text for path, text in {**base, **changes}.items() if text is not None}
        head = world.history.commit(world.history.tree(files), world.base, "work")
        run = world.run(request_)
        at = dict.fromkeys(("base", "trunk", "start"), world.base) | {"head": head}
        run.context.standing = run.context.standing.model_copy(update=at)
        baseline = await measure_base.work(run.context, SetupResult(source="nothing to install"))
        return await check_quality.work(run.context, baseline)

    return compare
