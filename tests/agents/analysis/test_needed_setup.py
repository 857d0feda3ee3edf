"""Which parts of a set-up no check of the repository needs."""

import pytest

from agents.analysis.needed_setup import plan_setup
from agents.analysis.repository_files import RepositoryFiles
from agents.policy import Policy, Setup

CI = ".github/workflows/ci.yml"
PYTHON = {"requirements.txt": "attrs", "test_a.py": ""}
HUSKY = '{"scripts": {"prepare": "husky"}, "devDependencies": {"husky": "9", "prettier": "3"}}'


def list_needless(texts, *paths, policy=None):
    files = RepositoryFiles(frozenset([*texts, *paths]), texts)
    return [each.kind for each in plan_setup(files, policy or Policy()).recipes if each.needless]


def write_step(run, folder="."):
    step = f"{{run: {run}, working-directory: {folder}}}"
    return f"on: [push]\njobs: {{a: {{runs-on: ubuntu-latest, steps: [{step}]}}}}\n"


def test_gems_of_a_site_and_what_runs_hooks_are_needed_by_no_check():
    assert list_needless({**PYTHON, "Gemfile": "gem 'jekyll'"}) == ["Ruby"]
    assert list_needless({**PYTHON, "package.json": HUSKY}) == ["JavaScript (npm)"]
    assert list_needless({**PYTHON, "site/package.json": HUSKY}) == ["JavaScript (npm) in site"]


@pytest.mark.parametrize(
    ("run", "folder"), [("npx prettier --check .", "."), ("npx eslint .", "site/app")]
)
def test_what_a_workflow_checks_with_is_needed_whether_it_can_run_or_not(run, folder):
    texts = {**PYTHON, "package.json": HUSKY, CI: write_step(run, folder)}
    assert list_needless(texts, "site/app/a.js") == []


def test_what_has_tests_or_linters_of_its_own_is_needed():
    assert list_needless({**PYTHON, "Gemfile": ""}, "spec/a_spec.rb") == []
    scripts = '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "29"}}'
    assert list_needless({**PYTHON, "package.json": scripts}) == []


def test_commands_of_the_policy_are_all_needed():
    policy = Policy(setup=Setup(run=("npm ci",)))
    assert list_needless({"package.json": HUSKY}, policy=policy) == []
