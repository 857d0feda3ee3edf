"""The files of the repository: locks, charts, nothing of one machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agents.pipelines.flowchart import README, with_charts

ROOT = Path(__file__).resolve().parents[1]
LOCKS = (
    "requirements.lock",
    "requirements-extras.lock",
    "requirements-dev.lock",
    "deploy/requirements-setup.lock",
    "deploy/requirements-audit.lock",
)
PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z,-]+\])?==([^ ;]+)", re.MULTILINE)

# Written in parts, since this file is searched as well.
REGISTRIES = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("registry", "yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
    )
)
# Where the checkout of whoever runs this is, and a Python of their own; short paths are anybody's.
MACHINE = tuple(
    str(place)
    for place in (ROOT, Path(sys.base_prefix))
    if len(place.parts) > 2 and not place.is_relative_to("/usr")
)


def files() -> list[str]:
    """Every file that is or would be committed."""
    git = ["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}"]
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted(name for name in set(listed.split("\0")) if (ROOT / name).is_file() and name)


def test_no_file_names_a_registry_or_a_place_of_one_machine():
    found = []
    for name in files():
        text = (ROOT / name).read_bytes().decode("utf-8", "replace")
        found += [f"{name}: {host}" for host in REGISTRIES if host in text]
        found += [f"{name}: {place}" for place in MACHINE if f"{place}/" in text]
    assert not found, "\n".join(["users have mirrors and folders of their own:", *found])


def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / lock).read_text("utf-8")))


def locks():
    return [name for name in files() if name.endswith((".lock", "-lock.json", "-lock.yaml"))]


@pytest.mark.parametrize("lock", locks())
def test_a_lock_names_no_index(lock):
    found = re.findall(r'"resolved"|index-url|\bsource = ', (ROOT / lock).read_text("utf-8"))
    assert not found


@pytest.mark.parametrize("lock", [n for n in locks() if Path(n).name.startswith("requirements")])
def test_what_we_install_is_pinned_by_hash(lock):
    text = (ROOT / lock).read_text("utf-8")
    assert "://" not in text
    entries = re.split(r"\n(?=\S)", text.strip())
    entries = [entry for entry in entries if not entry.startswith("#")]
    assert entries
    unpinned = [e.splitlines()[0] for e in entries if not PIN.match(e) or "--hash=sha256:" not in e]
    assert not unpinned


def test_the_locks_agree():
    """What is tested is what runs."""
    dev = pins("requirements-dev.lock")
    for lock in LOCKS:
        other = pins(lock)
        differing = {name for name in other.keys() & dev.keys() if other[name] != dev[name]}
        assert not differing, f"{lock} and requirements-dev.lock: run `make lock`"
    extras = pins("requirements-extras.lock")
    assert pins("requirements.lock").keys() < extras.keys() < dev.keys()


def test_the_locks_hold_what_pyproject_asks_for():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    runtime = settings["project"]["dependencies"]
    extra = [*settings["dependency-groups"]["dev"], *runtime]
    optional = [
        line for asked in settings["project"]["optional-dependencies"].values() for line in asked
    ]
    for lock, asked in (
        ("requirements.lock", runtime),
        ("requirements-extras.lock", [*runtime, *optional]),
        ("requirements-dev.lock", extra),
    ):
        held = pins(lock)
        for line in asked:
            wanted = Requirement(line)
            version = held.get(canonicalize_name(wanted.name), "absent")
            fits = version != "absent" and version in wanted.specifier
            assert fits, f"{lock} has {wanted.name} {version}, not {line}: run `make lock`"


def test_npm_locks_pin_by_hash_and_name_no_address():
    bad = []
    for lock in (name for name in files() if name.endswith("package-lock.json")):
        packages = json.loads((ROOT / lock).read_text("utf-8"))["packages"]
        entries = {name: entry for name, entry in packages.items() if name}
        bad += [
            f"{lock} {n}" for n, e in entries.items() if "resolved" in e or "integrity" not in e
        ]
    assert not bad, (
        "npm install --package-lock-only --omit-lockfile-registry-resolved makes them so"
    )


def test_the_charts_show_the_pipelines_as_they_are():
    folder = ROOT / "agents/pipelines"
    readme = (folder / README).read_text("utf-8")
    assert readme == with_charts(readme, folder), "run `make charts`"


def test_each_make_target_has_one_recipe():
    """Make takes the last of two, with a warning that nobody reads."""
    targets = re.findall(
        r"^([a-z-]+):(?! export)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    assert targets
    assert len(targets) == len(set(targets))


FETCHED_SHELL = re.compile(r"\b(?:curl|wget)\b[^\n|]*\|\s*(?:sudo\s+)?(?:ba|da|z)?sh\b")
INSTALLS = re.compile(
    r"^(?![^\n]*--(?:require-hashes|no-index|offline))[^#\n]*\bpip3? install\b[^\n]*$", re.MULTILINE
)
BINARY = {".png", ".xz"}
"""What is no text here: the pages' pictures, and what an earlier version left behind."""


def test_security_is_told_where_people_look_for_it():
    said = (ROOT / ".github/SECURITY.md").read_text("utf-8")
    assert "Report a vulnerability" in said
    assert "Do not open an issue" in said
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")


def test_nothing_that_nobody_can_read_is_kept_here():
    binary = [n for n in files() if b"\0" in (ROOT / n).read_bytes()[:8000]]
    assert {Path(name).suffix for name in binary} <= BINARY, binary


def test_scripts_run_nothing_that_was_just_fetched():
    scripts = [n for n in files() if n.endswith((".sh", "Dockerfile", "Makefile", ".ci/run"))]
    assert scripts
    for name in scripts:
        text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
        assert not FETCHED_SHELL.search(text), name
        assert not INSTALLS.findall(text), name


def test_the_image_runs_as_nobody_in_particular():
    lines = (ROOT / "deploy/Dockerfile").read_text("utf-8").splitlines()
    [user] = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert user not in {"root", "0"}
    assert not any(line.startswith("ADD ") for line in lines)
