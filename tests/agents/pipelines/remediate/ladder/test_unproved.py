"""Without a lock file: what no resolver has found a solution of is not published."""

import pytest

from agents.pipelines.remediate.ladder import Stuck, Unfit, ecosystem_of
from tests.agents.pipelines.remediate.ladder.conftest import group
from tests.fakes.work_trees import AnsweringTree

MANIFESTS = {
    "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["jinja2>={}"]\n',
    "requirements.txt": "jinja2=={}\n",
    "package.json": '{{"dependencies": {{"jinja2": "^{}"}}}}',
}


async def prove(manifest, *ends):
    tree = AnsweringTree({manifest: MANIFESTS[manifest].format("3.1.3")}, *ends)
    about = group("jinja2", "< 3.1.4", manifests=[manifest])
    if manifest == "package.json":
        about = about.model_copy(update={"ecosystem": "npm"})
    ecosystem = ecosystem_of(frozenset(tree.files), about)
    before = await ecosystem.read(tree)
    tree.files[manifest] = MANIFESTS[manifest].format("3.1.4")
    return await ecosystem.verify_lock(tree, before, await ecosystem.read(tree))


@pytest.mark.parametrize("manifest", MANIFESTS)
@pytest.mark.parametrize(
    ("end", "said"),
    [
        ((-9, "timeout", ""), "was stopped (timeout) after 9 s."),
        ((137, "exit", ""), "was stopped (killed)"),
        ((-9, "memory", ""), "was stopped (memory)"),
    ],
)
async def test_a_resolver_that_was_stopped_has_found_no_solution(manifest, end, said):
    with pytest.raises(Stuck) as raised:
        await prove(manifest, end)
    assert said in str(raised.value)


@pytest.mark.parametrize("manifest", MANIFESTS)
async def test_what_has_no_solution_before_either_is_left_to_people_with_the_commands(manifest):
    with pytest.raises(Unfit) as raised:
        await prove(manifest, (1, "exit", "no wheel for odd 1.0"))
    said = str(raised.value)
    assert "finds no solution before the change either: no wheel for odd 1.0" in said
    assert "move jinja2 to 3.1.4" in said
    assert ("npm install --package-lock-only" in said) or ("pip install --dry-run" in said)


@pytest.mark.parametrize("manifest", MANIFESTS)
async def test_a_resolver_that_failed_in_silence_has_failed(manifest):
    with pytest.raises(Stuck, match="ended with exit code 2"):
        await prove(manifest, (2, "exit", ""), (0, "exit", ""))
