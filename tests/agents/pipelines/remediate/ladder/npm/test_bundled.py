"""What packages bundle: npm takes it out of their archives, and what the root bundles it fetches.

https://docs.npmjs.com/cli/configuring-npm/package-json#bundledependencies
"""

from agents.pipelines.remediate.ladder import Fix, Level
from tests.agents.pipelines.remediate.ladder.npm.conftest import entry
from tests.agents.pipelines.remediate.ladder.npm.test_npm_index import climb_from, lay, packages


async def test_what_the_repository_itself_bundles_moves_like_all_else(tree, index):
    lay(tree, {"old": entry("old", "1.0.0", inBundle=True),
        "evil": entry("evil", "1.0.0", inBundle=True)},
        {"bundleDependencies": ["old"], "dependencies": {"old": "1.0.0"}})  # fmt: skip

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.FLOAT, ("package-lock.json",))
    assert packages(tree)["node_modules/evil"] == entry("evil", "1.0.1", inBundle=True)


async def test_what_lies_in_the_archive_of_another_is_said_to_lie_there(tree, index):
    lay(tree, {"old": entry("old", "1.0.0"),
        "old/node_modules/evil": {"version": "1.0.0", "inBundle": True}},
        {"dependencies": {"old": "1.0.0"}})  # fmt: skip

    refusal = await climb_from(tree)

    assert refusal.cause == "no_rung"
    assert refusal.steps[0].why.startswith("evil 1.0.0 lies in the archive of old 1.0.0, which")
