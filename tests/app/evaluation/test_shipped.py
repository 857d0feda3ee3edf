"""The shipped cases, with the local model, through the real pipeline: real bugs, solved."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from agents.errors import ConfigError
from app.demo.folders import demo_folder
from app.evaluation import case as cases
from app.evaluation.case import find_cases, read_case
from app.evaluation.sources import fetch
from tests.app.evaluation.conftest import ROOT, fork_eval, results

SHIPPED = ROOT / "app/evaluation/cases"
NAMES = ["humanize", "parse", "pycodestyle"]


@pytest.fixture
def fetched(place):
    """What the cases are made of, kept from one session of tests to the next."""
    kept = demo_folder() / "evaluation"
    kept.mkdir(exist_ok=True)
    try:
        for folder in find_cases(SHIPPED):
            asyncio.run(fetch(read_case(folder), kept))
    except ConfigError as error:
        pytest.skip(f"the package index is out of reach: {error}")
    cache = place / "data/evaluation/cache"
    shutil.copytree(kept, cache, symlinks=True)
    cache.parent.chmod(0o755)
    return place


def test_the_three_shipped_cases_hold_and_are_solved_by_the_local_model(fetched):
    code, out, err = fork_eval(fetched, "--script", "--json", "--jobs", 2)
    found = results(out)
    why = {name: each["why"] for name, each in found.items()}
    assert {name: each["state"] for name, each in found.items()} == dict.fromkeys(
        NAMES, "solved"
    ), why
    assert code == 0, err
    assert not any(each["draft"] for each in found.values())
    for each in found.values():
        assert each["tests"]
        assert {test["before"] for test in each["tests"].values()} <= {"failed", "absent"}
        assert {test["after"] for test in each["tests"].values()} == {"passed"}
        assert each["cache_read_share"] > 0.5


def test_they_are_complete_and_name_no_cure():
    found = find_cases(SHIPPED)
    assert [cases.name_of(folder) for folder in found] == NAMES
    for folder in found:
        case = read_case(folder)
        assert case.script is not None
        assert case.policy is not None
        about = case.about
        assert about.cured is not None
        assert about.source.sha256 != about.cured.sha256
        assert about.cured.version not in case.body
