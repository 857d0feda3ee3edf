"""The demo's toolchain: a Python with pytest that a sandbox can use."""

from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.config.settings import Settings
from app.demo import toolchain
from app.demo.folders import demo_folder
from app.demo.toolchain import make_toolchain
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.port import SandboxCommand


@pytest.fixture
def cache():
    folder = demo_folder() / "cache"
    folder.mkdir(exist_ok=True)
    return folder


async def test_a_sandbox_runs_its_pytest(cache):
    folder = await make_toolchain(cache)
    sandbox = Bubblewrap(Settings.model_fields["sandbox_uid"].default, (folder,))
    report = await sandbox.probe()
    if not report.held:
        pytest.skip(f"no sandbox here: {report.cause}; {report.remedy}")
    ran = await sandbox.run(
        SandboxCommand(argv=("python3", "-m", "pytest", "--version"), folder="/")
    )
    assert (ran.exit_code, ran.output.startswith("pytest ")) == (0, True), ran.output


async def test_it_is_made_once(cache):
    first = await make_toolchain(cache)
    made = (first / "ready").stat()
    assert await make_toolchain(cache) == first
    again = (first / "ready").stat()
    assert (again.st_ino, again.st_mtime_ns) == (made.st_ino, made.st_mtime_ns)


async def test_one_that_was_cut_short_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(ConfigError, match="could not be"):
        await make_toolchain(tmp_path)
    assert list(tmp_path.glob("*/ready")) == []


async def test_without_the_systems_python_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(toolchain, "SYSTEM_PYTHON", Path("/usr/bin/python-of-nobody"))
    with pytest.raises(ConfigError, match="Install the package python3"):
        await make_toolchain(tmp_path)
