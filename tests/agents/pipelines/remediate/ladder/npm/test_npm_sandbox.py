"""npm's ladder in the real sandbox: with this machine's index, and nothing else in reach."""

from agents.pipelines.remediate.ladder import Fix, Level, climb, ecosystem_of
from agents.policy import Policy
from tests.agents.pipelines.remediate.ladder.conftest import TERMS
from tests.agents.pipelines.remediate.ladder.npm.test_npm_real import alerts, has_npm, lock, real
from tests.app.conftest import open_folder, sandbox
from tests.app.dependencies.install.conftest import ground

__all__ = ["ground", "has_npm", "open_folder", "real", "sandbox"]  # fixtures


async def test_a_lock_moves_with_the_npm_that_the_sandbox_has(held, real):
    await lock(
        real, {"name": "shop", "dependencies": {"mkdirp": "0.5.5"}}, first={"minimist": "1.2.5"}
    )
    names = ("package.json", "package-lock.json")
    held.commit({name: (real.folder / name).read_text() for name in names})
    _, tree = await held.run(policy=Policy.model_validate({"setup": {"run": []}}))
    about = alerts("minimist", "< 0.2.4", ">= 1.0.0, < 1.2.6")

    fix = await climb(tree, ecosystem_of(frozenset(names), about), about, TERMS)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.FLOAT, ("package-lock.json",))
    assert b'"version": "1.2.6"' in await tree.read("package-lock.json")
    assert await tree.snapshot() == fix.tree
