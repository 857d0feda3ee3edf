"""A tiny case made by the test: a repository with a bug, its own tests, hidden ones, scripts."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import tempfile
from functools import partial
from pathlib import Path

import pytest
import structlog
import yaml

from app.config.settings import load_settings
from app.evaluation import attempt
from app.evaluation.case import read_case
from app.evaluation.case_repository import make_repository
from app.evaluation.run_hidden_tests import CommitJudge
from app.evaluation.sources import fetch
from app.sandbox.select import choose
from tests.app.clone.conftest import GOOD, STEP, part
from tests.flows.forked import call_fettle, forking_command
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
MARKER = "hidden-4f1c7a"

RUNNER = '''
"""Run the functions named test_* of the files beside this one, and write a JUnit file."""
import importlib, pathlib, sys
sys.path[:0] = [".", "tests"]
if pathlib.Path("conftest.py").exists():
    importlib.import_module("conftest")
cases = []
for file in sorted(pathlib.Path("tests").glob("test_*.py")):
    try:
        found = vars(importlib.import_module(file.stem))
        tests = {name: test for name, test in found.items() if name.startswith("test_")}
    except Exception:
        cases.append(f'<testcase classname="{file.stem}" name=""><error/></testcase>')
        continue
    for name, test in tests.items():
        try:
            test()
            inside = ""
        except Exception:
            inside = "<failure/>"
        cases.append(f'<testcase classname="{file.stem}" name="{name}">{inside}</testcase>')
pathlib.Path(sys.argv[1]).write_text(f"<testsuite>{''.join(cases)}</testsuite>")
sys.exit(any("<failure/>" in case or "<error/>" in case for case in cases))
'''
SOURCE = {
    "calc.py": "def add(a, b):\n    return a + b + 1\n\n\ndef sign(a):\n    return a > 0\n",
    "tests/run.py": RUNNER,
    "tests/test_sign.py": (
        "import calc\n\n\ndef test_positive():\n    assert calc.sign(1)  # seen-by-all\n"
    ),
}
HIDDEN = {
    "tests/test_sum.py": (
        f"import calc\n\n\ndef test_sum():\n    assert calc.add(1, 1) == 2  # {MARKER}\n"
    ),
}
POLICY = {
    "setup": {"run": []},
    "quality": [{"name": "tests", "run": "python3 -B tests/run.py /dev/null"}],
    "ask": [{"command": "touch *", "reason": "someone should look"}],
}
ABOUT = {
    "source": {"folder": "source"},
    "cured": {"folder": "cured"},
    "judge": {
        "hidden": {"folder": "hidden"},
        "own": ["tests"],
        "command": 'python3 -B tests/run.py "$REPORT"',
        "must_pass": ["test_sum::test_sum"],
    },
}
ISSUE = "# It adds one too many\n\n`calc.add(1, 1)` gives 3 and should give 2.\n"
CURE = {"edit": {"path": "calc.py", "old": "a + b + 1", "new": "a + b"}}
DONE = {"submit_step": {"summary": "add() added one too many.", "tried": "Ran it."}}


def step(*calls):
    """A script that makes these calls instead of the cure."""
    others = [each for each in GOOD if each is not STEP]
    return [part(STEP["when"], *calls, DONE), *others]


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def make_case(folder, script=None, about=None, hidden=None):
    """Make a case's folder."""
    cured = SOURCE | {"calc.py": SOURCE["calc.py"].replace("a + b + 1", "a + b")}
    for name, files in (("source", SOURCE), ("cured", cured), ("hidden", hidden or HIDDEN)):
        write(folder / name, files)
    texts = {"case.yml": yaml.safe_dump(about or ABOUT), "fettle.yml": yaml.safe_dump(POLICY)}
    if script is not None:
        texts["script.yml"] = yaml.safe_dump(script)
    write(folder, {"issue.md": ISSUE, **texts})
    return folder


def fettle_eval(place, *args, **settings):
    """Run the command as a person would; return exit code, output, errors."""
    return asyncio.run(_call(place, *args, **settings))


def fork_eval(place, *args, **settings):
    """The same, with attempts that need not read Fettle's code anew."""
    return asyncio.run(_call_forking(place, *args, **settings))


async def _call_forking(place, *args, **settings):
    async with forking_command() as command:
        return await _call(place, *args, first=partial(_take, command), **settings)


def _take(command):
    attempt.FETTLE = command


async def _call(place, *args, first=None, **settings):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "COLUMNS": "200",
        "FETTLE_DATA_DIR": str(place / "data"),
        **{name: os.environ[name] for name in os.environ if name.startswith("PIP_")},
        **settings,
    }
    return await call_fettle(
        "eval", *args, environment=environment, seconds=10 * PATIENCE, first=first
    )


def results(out):
    """Return the results of a JSON object by case."""
    return {each["case"]: each for each in json.loads(out)["results"]}


def _place():
    made = Path(tempfile.mkdtemp(prefix="fettle-eval-"))
    made.chmod(0o711)  # the sandbox's user has to pass; pytest's own folders are closed to it
    return made


@pytest.fixture(scope="session")
def session_place():
    """A place for evaluations that several tests look at."""
    made = _place()
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def place():
    """A place that the sandbox's user may pass through."""
    made = _place()
    umask, handlers = os.umask(0o022), logging.getLogger().handlers[:]
    yield made
    os.umask(umask)
    logging.getLogger().handlers = handlers
    structlog.reset_defaults()
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
async def judging(place):
    """A judge of the tiny case, with its repository."""
    (place / "cache").mkdir()
    fetched = await fetch(read_case(make_case(place / "calc")), place / "cache")
    settings = load_settings({"FETTLE_DATA_DIR": str(place / "data")}, serving=False)
    repository = await make_repository(fetched, place / "repository")
    return CommitJudge(fetched, repository, await choose(settings), place)
