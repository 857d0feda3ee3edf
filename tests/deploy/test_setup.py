"""Set-up tells a person what to do where it may not do it itself, and touches nothing then."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EVERYDAY = (
    "bash",
    "cat",
    "cut",
    "dirname",
    "env",
    "flock",
    "grep",
    "mkdir",
    "sha256sum",
    "tail",
    "true",
)


SYSTEM_PYTHON = "readonly SYSTEM_PYTHON=/usr/bin/python3\n"


@pytest.fixture
def checkout(tmp_path):
    """A checkout in a folder with a space in its name, with the files that set-up reads."""
    place = tmp_path / "check out"
    (place / "deploy").mkdir(parents=True)
    shutil.copy2(ROOT / "pyproject.toml", place)
    script = (ROOT / "deploy/setup.sh").read_text()
    assert SYSTEM_PYTHON in script
    own = SYSTEM_PYTHON.replace("/usr/bin/python3", "nowhere/python3")
    (place / "deploy/setup.sh").write_text(script.replace(SYSTEM_PYTHON, own))
    return place


@pytest.fixture
def programs(tmp_path):
    """A PATH with everyday programs, where we are somebody without rights."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in EVERYDAY:
        (folder / name).symlink_to(shutil.which(name))
    program(folder, "id", "echo 1000")
    program(folder, "apt-get", "echo must not run; exit 99")
    return folder


def program(folder: Path, name: str, body: str):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def setup(checkout: Path, programs: Path, *arguments: str):
    return subprocess.run(
        ["bash", str(checkout / "deploy/setup.sh"), *arguments],
        env={"PATH": str(programs), "HOME": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_missing_programs_without_rights_give_one_line_to_run(checkout, programs):
    program(programs, "git", "exit 0")
    result = setup(checkout, programs)
    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("setup: as root, please run: apt-get update && apt-get install -y ")
    assert "bubblewrap ripgrep" in line
    assert " git" not in line
    assert not (checkout / ".venv").exists()


def test_with_sudo_the_missing_programs_are_installed_and_a_failure_is_shown(checkout, programs):
    calls = checkout / "calls"
    program(programs, "sudo", 'shift; exec "$@"')
    program(programs, "apt-get", f'echo "$@" >>"{calls}"; echo disk full; [ "$1" = update ]')
    result = setup(checkout, programs)
    assert result.returncode == 2
    update, install = calls.read_text().splitlines()
    assert update == "update"
    assert install.startswith("install -y --no-install-recommends")
    assert " git bubblewrap ripgrep" in install
    assert "setup: installing git bubblewrap ripgrep" in result.stderr
    assert "disk full" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("setup: as root, please run: apt-get update")


def test_a_python_that_is_too_old_or_absent_is_told_with_its_remedy(checkout, programs):
    for name in ("git", "bwrap", "rg"):
        program(programs, name, "exit 0")
    program(programs, "python3", "exit 1")
    result = setup(checkout, programs, "dev")
    assert result.returncode == 2
    assert "Python 3.11 or later is needed" in result.stderr
    assert "apt-get install -y python3 python3-venv" in result.stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize(("complete", "chosen"), [("exit 0", "system"), ("exit 1", "own")])
def test_the_systems_python_comes_first_where_it_is_complete(checkout, programs, complete, chosen):
    for name in ("git", "bwrap", "rg"):
        program(programs, name, "exit 0")
    make = '[ "$2" = venv ] && {{ echo {0} >made; exit 1; }}\n{1}'
    system = checkout / "nowhere"
    system.mkdir()
    told = f'case "$2" in *ensurepip*) {complete} ;; esac'
    program(system, "python3", make.format("system", told))
    program(programs, "python3", make.format("own", "exit 0"))
    setup(checkout, programs)
    assert (checkout / "made").read_text() == f"{chosen}\n"


def test_an_unknown_profile_is_refused(checkout, programs):
    result = setup(checkout, programs, "everything")
    assert result.returncode == 2
    assert result.stderr == "setup: usage: deploy/setup.sh [runtime|extras|dev]\n"


@pytest.mark.parametrize(
    ("there", "wanted"),
    [("dev", "extras"), ("dev", "runtime"), ("extras", "runtime"), ("extras", "extras")],
)
def test_an_upgrade_takes_nothing_away_that_was_installed_on_purpose(
    checkout, programs, there, wanted
):
    stamp(checkout, programs, there)
    result = setup(checkout, programs, wanted)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(("there", "wanted"), [("runtime", "extras"), ("extras", "dev")])
def test_what_was_not_asked_for_before_is_installed_now(checkout, programs, there, wanted):
    stamp(checkout, programs, there)
    result = setup(checkout, programs, wanted)
    assert f"setup: installing requirements-{wanted}.lock" in result.stderr


def stamp(checkout: Path, programs: Path, profile: str):
    """Make it look as if set-up had been here with this profile, and could not go on today."""
    for name in ("git", "bwrap", "rg"):
        program(programs, name, "exit 0")
    program(programs, "sed", 'exec /usr/bin/sed "$@"')
    home = checkout / ".venv/bin"
    home.mkdir(parents=True)
    (home / "activate").write_text(str(home.parent))
    program(home, "python", 'case "$*" in *pip\\ install*) exit 9 ;; esac')
    functions = "/^readonly/p;/^fingerprint()/,/^}/p"
    script = f"""source <(sed -n '{functions}' deploy/setup.sh)
        echo {profile} "$(fingerprint)" >$STAMP"""
    subprocess.run(
        ["bash", "-c", script], cwd=checkout, env={"PATH": str(programs)}, check=True, timeout=60
    )
