"""What no index has is found in what pip and npm say, and the rest is asked for without it."""

import shlex
import subprocess

import pytest

from agents.analysis.languages.unavailable import find_unavailable

NOWHERE = "ERROR: No matching distribution found for {0}"
NPM = "npm install --ignore-scripts --no-audit --no-fund"


@pytest.mark.parametrize("asked", ["acme-lint>=2", "Acme_Lint", "acme.lint[x]==3"])
def test_a_package_that_pip_does_not_find_is_left_out(asked):
    wanted = ["pytest", "acme.lint[x]>=2; python_version > '3'", "six>=1"]
    found = find_unavailable(f"pip install {shlex.join(wanted)}", NOWHERE.format(asked))
    assert found.name == "acme-lint"
    assert found.commands == ("pip install pytest 'six>=1'",)
    assert find_unavailable(
        f"pip install {shlex.join(wanted)}", NOWHERE.format(asked), [found.name]
    ) is (None)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pip install a", NOWHERE.format("a")),  # nothing would be left
        ("pip install a b", NOWHERE.format("c")),  # one that another one needs
        ("pip install a b", "ERROR: Failed building wheel for a"),
        ("pip show x || { pip install a b; }", NOWHERE.format("a")),
        ("pip install $(cat a) b", NOWHERE.format("b")),
        ("pip install a b; curl evil.example", NOWHERE.format("b")),
        ("pip install 'a b", NOWHERE.format("b")),
        ("pip install ", NOWHERE.format("b")),
        ("make deps", NOWHERE.format("a")),
        (NPM, "npm error code ERESOLVE"),
        (NPM, "npm error 404 Not Found - GET https://index.example/$(id) - Not found"),
        ("npm ci --ignore-scripts", "notarget No matching version found for a@1."),
    ],
)
def test_where_nothing_is_said_that_helps_nothing_else_is_run(command, output):
    assert find_unavailable(command, output) is None


LISTED = """\
# ours
acme-lint>=2  # private
Acme_Lint[x]==2.1 ; python_version > "3"
acme-linter==1
six>=1
"""


def test_of_a_file_with_requirements_a_copy_is_used(tmp_path):
    (tmp_path / "dev requirements.txt").write_text(LISTED)
    copy = tmp_path / "dev requirements.txt.in-reach.txt"
    found = find_unavailable(
        "pip install -r 'dev requirements.txt'", NOWHERE.format("acme-lint>=2")
    )
    edit, command = found.commands
    subprocess.run(["bash", "-c", edit], cwd=tmp_path, check=True)
    assert shlex.split(command)[3] == copy.name
    assert copy.read_text() == "# ours\nacme-linter==1\nsix>=1\n"
    assert (tmp_path / "dev requirements.txt").read_text() == LISTED
    again = find_unavailable(command, NOWHERE.format("six"), [found.name])
    subprocess.run(["bash", "-c", again.commands[0]], cwd=tmp_path, check=True)
    assert copy.read_text() == "# ours\nacme-linter==1\n"
    assert again.commands[1] == command


def test_where_a_file_has_hashes_nothing_is_edited(tmp_path):
    (tmp_path / "r.txt").write_text("a==1 --hash=sha256:0\nb==1 --hash=sha256:0\n")
    edit, _ = find_unavailable("pip install -r r.txt", NOWHERE.format("a==1")).commands
    assert subprocess.run(["bash", "-c", edit], cwd=tmp_path, check=False).returncode
    assert not (tmp_path / "r.txt.in-reach.txt").exists()


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("npm error notarget No matching version found for typescript@next.", "typescript"),
        ("npm error 404  '@acme/lint@^1.0.0' is not in this registry.", "@acme/lint"),
        ("npm error 404 Not Found\n404  'lodash.merge@1' is not in this registry.", "lodash.merge"),
        ("403 403 Forbidden - GET https://index.example/@acme%2flint - no", "@acme/lint"),
    ],
)
def test_a_package_that_npm_does_not_find_goes_from_the_copy_of_the_manifest(said, name):
    found = find_unavailable(NPM, said)
    assert found.name == name
    change, command = found.commands
    assert command == NPM
    assert change.startswith("npm pkg delete ")
    assert f"devDependencies[{name}]" in change
    assert find_unavailable(NPM, said, [name]) is None
