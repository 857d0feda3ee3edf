"""The ladders in the real sandbox: their tools reach this machine's index, and nothing else."""

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, climb, ecosystem_of
from agents.policy import Policy
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group
from tests.agents.pipelines.remediate.ladder.npm.test_npm_real import alerts, has_npm, lock, real
from tests.agents.pipelines.remediate.ladder.yarn.test_yarn import lay_vulnerable
from tests.app.conftest import open_folder, sandbox
from tests.app.dependencies.install.conftest import ground

__all__ = ["ground", "has_npm", "open_folder", "real", "sandbox"]  # fixtures


@pytest.mark.usefixtures("has_index")
async def test_a_pin_is_moved_with_tools_that_the_sandbox_was_given(held):
    more = "--find-links https://evil.example/\n"
    held.commit({"requirements.txt": f"{more}sqlparse==0.4.4\n"})
    _, tree = await held.run(policy=Policy.model_validate({"setup": {"run": []}}))
    about = group("sqlparse", "< 0.5.0", manifests=["requirements.txt"])

    fix = await climb(tree, ecosystem_of(frozenset({"requirements.txt"}), about), about, TERMS)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("requirements.txt",))
    assert await tree.read("requirements.txt") == f"{more}sqlparse==0.5.0\n".encode()
    assert await tree.snapshot() == fix.tree

    for option in ("-i", "--extra-index-url"):
        named = f"{option} https://evil.example/simple\nsqlparse==0.4.4\n"
        await tree.write("requirements.txt", named.encode())
        pip = ecosystem_of(frozenset({"requirements.txt"}), about)
        assert (await climb(tree, pip, about, TERMS)).cause == "other_index"


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


async def test_a_lock_of_yarn_3_moves_though_it_knows_other_settings_than_yarn_4(held, real):
    lay_vulnerable(real, "3.8.7")
    names = ("package.json", "yarn.lock")
    held.fetches = False  # the ladder brings a Yarn of its own
    held.commit({name: (real.folder / name).read_text() for name in names})
    _, tree = await held.run(policy=Policy.model_validate({"setup": {"run": []}}))
    about = alerts("minimist", ">= 1.0.0, < 1.2.6", file="yarn.lock")

    fix = await climb(tree, ecosystem_of(frozenset(names), about), about, TERMS)

    assert isinstance(fix, Fix), "\n".join(each.why for each in fix.steps)
    assert (fix.level, fix.files) == (Level.FLOAT, ("yarn.lock",))
