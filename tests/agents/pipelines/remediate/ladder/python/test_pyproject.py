"""A changed requirement in pyproject.toml is written as people had written it."""

import pytest

from agents.pipelines.remediate.ladder.python.pyproject import require
from agents.pipelines.remediate.ladder.python.specs import Goal

FILE = "pyproject.toml"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "[project]\ndependencies = [\n\t'urllib3[socks] == 2.0.3 ; python_version > \"3\"',\n]",
            "[project]\ndependencies = [\n\t'urllib3[socks] == 2.0.6 ; python_version > \"3\"',\n]",
        ),
        (
            '[dependency-groups]\r\ndev = ["urllib3==2.0.3"]  # pinned\r\n',
            '[dependency-groups]\r\ndev = ["urllib3==2.0.6"]  # pinned\r\n',
        ),
        (
            "[tool.poetry.dependencies]\nurllib3 = '2.0.3'\n",
            "[tool.poetry.dependencies]\nurllib3 = '2.0.6'\n",
        ),
        (
            "[tool.poetry.group.a.dependencies]\nURLlib3 = {version = '2.0.3', optional = true}\n",
            "[tool.poetry.group.a.dependencies]\nURLlib3 = {version = '2.0.6', optional = true}\n",
        ),
        (
            '[tool.poetry.dependencies.urllib3]\nversion = "2.0.3"  # why\n',
            '[tool.poetry.dependencies.urllib3]\nversion = "2.0.6"  # why\n',
        ),
        (
            "[project.optional-dependencies]\nx = ['''urllib3==2.0.3''']\n",
            "[project.optional-dependencies]\nx = ['urllib3==2.0.6']\n",
        ),
    ],
)
async def test_quotes_remarks_and_line_ends_stay(tree, before, after):
    (tree.folder / FILE).write_bytes(before.encode())

    changes = await require(tree, FILE, "urllib3", Goal("2.0.6", {}), widen=True)

    assert len(changes) == 1
    assert (tree.folder / FILE).read_bytes().decode() == after
