"""What no check looks at by its kind is named, and a change of nothing else is not verified."""

import pytest

from agents.pipelines.stages.quality import checks_table, headline
from agents.policy import POLICY_PATH

PYTEST = "python3 -m pytest -q"
CI = ".github/workflows/ci.yml"
WORKFLOW = "on: [push]\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: make test}]}}\n"
FILES = {
    POLICY_PATH: "setup: {second_look: false}\n",
    "calc.py": "A = 1\n",
    "tests/test_calc.py": "import calc\n\n\ndef test_a():\n    assert calc.A\n",
}


@pytest.fixture
def compared(compare_change):
    """Compare a change with what was there, by pytest, which passes."""

    async def compare(changes, more=None):
        files = {**FILES, **(more or {})}
        green = (0, "1 passed in 0.1s")
        commands = dict.fromkeys((PYTEST, "make test", "docker build ."), green)
        return await compare_change(files, changes, commands)

    return compare


@pytest.mark.parametrize(
    "path",
    ["Dockerfile", "deploy/main.tf", "compose.yaml", "api.service", "deploy/up.sh", "web/app.js"],
)
async def test_a_change_of_what_nothing_looks_at_is_not_verified(compared, path):
    quality = await compared({path: "new\n", "README.md": "says so\n"})

    assert quality.verdict == "unknown"
    said = f"Not verified: no check that ran looks at `{path}`. Besides, `tests` passed."
    assert headline(quality) == said


async def test_beside_what_is_looked_at_it_is_named_and_no_more_is_claimed(compared):
    quality = await compared({"Dockerfile": "new\n", "calc.py": "A = 2\n"})

    said = "Checked: `tests` passed. Besides, no check that ran looks at `Dockerfile`."
    assert (quality.verdict, headline(quality)) == ("no worse", said)
    assert "No check that ran looks at `Dockerfile`: that is for you to look at." in (
        checks_table(quality)
    )


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({"Dockerfile": "new\n"}, {"tests/test_image.py": "open('Dockerfile')\n"}),
        ({"deploy/up.sh": "new\n"}, {"tests/test_up.py": "run(['deploy/up.sh'])\n"}),
        ({"Dockerfile": "new\n"}, {POLICY_PATH: "quality: [{name: a, run: make test}]\n"}),
        ({"Dockerfile": "new\n"}, {CI: WORKFLOW, "Makefile": "test:\n\tdocker build .\n"}),
        ({"src/fast.c": "new\n", "src/lib.rs": "new\n"}, None),
        ({".gitignore": "new\n"}, None),
        ({"docs/site.css": "new\n", "docs/conf.js": "new\n"}, None),
        ({"templates/page.html": "new\n", "migrations/2.sql": "new\n"}, None),
    ],
)
async def test_what_tests_may_look_at_is_not_held_against_anybody(compared, changes, more):
    quality = await compared(changes, more)

    assert not quality.unseen.files
    assert "looks at" not in headline(quality)
