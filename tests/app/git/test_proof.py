"""A bug shown for real: git, a sandbox, the repository's own test program, before and after."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest

from agents.loop.budget import RunLimits
from agents.pipelines.stages.implement import StepResult
from agents.pipelines.stages.inspect_weakening import inspect
from agents.pipelines.stages.regression_proof import prove
from agents.run import Run, RunPorts, RunState, StageContext
from tests.app.git.conftest import git, write_files
from tests.fakes.reporter import RecordingReporter
from tests.fakes.requests import build_resolve_issue

FILES = {
    "lib.py": "def add(a, b):\n    return a + b + 1\n",
    "tests/test_old.py": (
        "import unittest\n\nimport lib\n\n\nclass TestOld(unittest.TestCase):\n"
        "    def test_larger(self):\n        self.assertGreater(lib.add(1, 1), 1)\n"
    ),
    "tests/__init__.py": "",
    ".gitignore": "build/\n",
}
RIGHT = "def add(a, b):\n    return a + b\n"
TEST = (
    "import unittest\n\nimport lib\n\n\nclass TestSum(unittest.TestCase):\n"
    "    def test_sum(self):\n        self.assertEqual(lib.add(1, 1), 2)\n"
)
UNITTEST = "/usr/bin/python3 -B -m unittest tests.test_sum"
PYTEST = "/usr/bin/python3 -B run_tests.py -q -p no:cacheprovider tests/test_sum.py"
RUN_TESTS = (
    "import sys\n\nsys.path.insert(0, 'third')\n\nimport pytest\n\n"
    "sys.exit(pytest.main(sys.argv[1:]))\n"
)


class Once:
    """Steps of an engine that never dies."""

    async def step(self, name, work):
        return await work()


class Repositories:
    """The port Source over a mirror."""

    def __init__(self, estate):
        self.estate = estate
        self.tree = None

    async def open(self, base, policy, image=None):
        self.tree = await self.estate.open("proof", base, policy)
        return self.tree

    async def show(self, revision, path):
        return await self.estate.mirror.show(revision, path)

    async def files(self, revision):
        return sorted(await self.estate.mirror.blobs(revision))


@pytest.fixture
def at_head(estate):
    """A run whose head is the base with these files; None takes one away."""

    async def make(files):
        upstream = estate.place / "somebody"
        write_files(upstream, {**FILES, "run_tests.py": RUN_TESTS})
        base = _commit(upstream, "base")
        for path in (path for path, text in files.items() if text is None):
            (upstream / path).unlink()
        write_files(upstream, {path: text for path, text in files.items() if text is not None})
        head = _commit(upstream, "head")
        git(upstream, "push", "-q", str(estate.upstream), "HEAD:main")
        await estate.mirror.fetch(estate.url, None)
        ports = RunPorts(
            model=None,
            journal=None,
            source=Repositories(estate),
            publisher=None,
            reporter=RecordingReporter(),
        )
        standing = RunState(trunk=base, base=base, start=base, head=head)
        limits = RunLimits(usd=1, turns=1, minutes=1)
        return Run(
            StageContext(
                id="proof",
                request=build_resolve_issue(),
                ports=ports,
                steps=Once(),
                conversations=(),
                models={},
                limits=limits,
                standing=standing,
            )
        )

    return make


def _commit(folder, words):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", words)
    return git(folder, "rev-parse", "HEAD")


def make_steps(command):
    return (StepResult(title="t", summary="s", tried="", proof=command, commit="c"),)


@pytest.fixture
def brings_pytest(estate):
    """Have the repository bring its pytest, as the system's Python has none."""
    third = estate.place / "somebody" / "third"
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        package = Path(importlib.import_module(name).__file__).parent
        shutil.copytree(package, third / name, ignore=_needless)
    shutil.copy(Path(pytest.__file__).parents[1] / "py.py", third)


def _needless(folder, names):
    """Name what pytest does not need of Pygments, which is most of it."""
    kept = {"lexers": {"__init__.py", "_mapping.py", "diff.py", "python.py"}}
    kept["styles"] = {"__init__.py", "_mapping.py", "default.py"}
    wanted = kept.get(Path(folder).name, set(names))
    return {name for name in names if name == "__pycache__" or name not in wanted}


async def test_a_bug_is_shown_by_the_repositorys_own_tests(estate, at_head):
    run = await at_head({"lib.py": RIGHT, "tests/test_sum.py": TEST, "build/x": "x"})

    proof = await run.stage(prove, "bug", make_steps(UNITTEST))

    assert proof.shown, proof
    assert (proof.base.exit_code, proof.head.exit_code) == (1, 0)
    assert "AssertionError: 3 != 2" in proof.section
    tree = await run.context.tree()
    assert await tree.list_changed_paths(run.head, await tree.snapshot()) == []


@pytest.mark.usefixtures("brings_pytest")
async def test_a_bug_is_shown_by_pytest_and_what_fails_otherwise_is_not(at_head):
    run = await at_head({"lib.py": RIGHT, "tests/test_sum.py": TEST})

    none = await run.stage(prove, "bug", make_steps(f"{PYTEST} -k nothing_of_that_name"))
    shown = await run.stage(prove, "bug", make_steps(PYTEST))

    assert "pytest found no tests to run (exit code 5)" in none.why
    assert not none.shown
    assert shown.shown, shown
    assert shown.why == ""
    assert "FAILED tests/test_sum.py" in shown.section


@pytest.mark.usefixtures("brings_pytest")
async def test_a_new_name_that_only_the_change_has_is_weaker_evidence(at_head):
    plus = "from lib import plus\n\n\ndef test_plus():\n    assert plus(1, 1) == 2\n"
    run = await at_head({"lib.py": f"{RIGHT}\n\nplus = add\n", "tests/test_sum.py": plus})

    proof = await run.stage(prove, "bug", make_steps(PYTEST))

    assert proof.shown, proof
    assert proof.base.exit_code == 2
    assert "cannot even be imported or built" in proof.section


async def test_a_test_that_passes_anyway_shows_nothing(at_head):
    weak = TEST.replace("assertEqual(lib.add(1, 1), 2)", "assertTrue(lib.add(1, 1))")
    run = await at_head({"lib.py": RIGHT, "tests/test_sum.py": weak})

    proof = await run.stage(prove, "bug", make_steps(UNITTEST))

    assert not proof.shown
    assert "pass without the change, too" in proof.section


async def test_a_test_that_can_be_run_by_itself_can_be_so_before_as_well(estate, at_head):
    script = (
        "#!/bin/sh\ngrep -q '+ 1' lib.py && { echo tests/sum.sh: not right; exit 1; }\nexit 0\n"
    )
    run = await at_head({"lib.py": RIGHT, "tests/sum.sh": script})
    upstream = estate.place / "somebody"
    (upstream / "tests/sum.sh").chmod(0o755)
    head = _commit(upstream, "executable")
    git(upstream, "push", "-q", str(estate.upstream), "HEAD:main")
    await estate.mirror.fetch(estate.url, None)
    run.context.standing = run.context.standing.model_copy(update={"head": head})

    proof = await run.stage(prove, "bug", make_steps("./tests/sum.sh"))

    assert proof.shown, proof


async def test_what_git_shows_of_a_change_is_what_is_inspected(estate, at_head):
    run = await at_head(
        {
            "tests/test_old.py": None,
            "tests/unit/test_old.py": FILES["tests/test_old.py"],
            "tests/test_sum.py": TEST,
            "setup.cfg": "[metadata]\nname = lib\n",
            ".github/workflows/ci.yml": "on: push\n",
        }
    )

    inspection = await run.stage(inspect)

    assert [(each.path, each.what) for each in inspection.findings] == [
        (".github/workflows/ci.yml", "settings of checks changed")
    ]


async def test_an_attribute_cannot_hide_a_test(at_head):
    """Git shows nothing of a file with `-diff`, and that is not nothing."""
    loose = FILES["tests/test_old.py"].replace("assertGreater(lib.add(1, 1), 1)", "assertTrue(1)")
    run = await at_head({".gitattributes": "tests/** -diff\n", "tests/test_old.py": loose})

    inspection = await run.stage(inspect)

    assert [each.path for each in inspection.grave] == [".gitattributes", "tests/test_old.py"]
