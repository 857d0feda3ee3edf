"""What tests of a Python project need, by the settings of each tool that says so."""

import subprocess

import pytest

from agents.analysis.languages import make_plan
from agents.analysis.languages.python_needs import to_specifier
from agents.analysis.repository_files import RepositoryFiles
from agents.policy import Policy

BUILD = "[build-system]\nrequires = []\n"


def installs(*paths, **files):
    """Return what is installed beside the project, and pytest."""
    texts = {name.replace("__", "."): text for name, text in files.items()}
    files = RepositoryFiles(frozenset([*paths, *texts]), texts)
    [recipe] = make_plan(files, Policy()).recipes
    return [each for each in recipe.commands[1:] if "pytest" not in each and " -e " not in each]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        (
            '[tool.poetry.dev-dependencies]\nmock = "^5.1"\nblack = "*"\n',
            "mock>=5.1,<6 black",
        ),
        (
            """[tool.poetry.group.test.dependencies]
            mock = {version = "~5.1", extras = ["x"], optional = true}
            ours = {path = "../a"}
            """,
            "mock[x]>=5.1,<5.2",
        ),
        ('[tool.pdm.dev-dependencies]\nanything = ["mock>=5", "-e file:///x"]\n', "mock>=5"),
        ('[tool.uv]\ndev-dependencies = ["mock"]\n', "mock"),
        ('[dependency-groups]\ntests = ["mock"]\ndocs = ["sphinx"]\n', "mock"),
        ('[tool.hatch.envs.default]\ndependencies = ["mock"]\n', "mock"),
        ('[tool.hatch.envs.hatch-test]\nextra-dependencies = ["mock"]\n', "mock"),
        ('[tool.tox]\nlegacy_tox_ini = """\n[testenv]\ndeps =\n    mock>5\n"""\n', "mock>5"),
        ('[tool.tox.env_run_base]\ndeps = ["mock"]\n', "mock"),
    ],
)
def test_pyproject_names_what_tests_need(settings, wanted):
    given = installs(pyproject__toml=BUILD + settings)
    assert given == [_pip(wanted)]


def _pip(wanted):
    words = (f"'{each}'" if set(each) & set("<>[~*") else each for each in wanted.split())
    return f"pip install {' '.join(words)}"


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("tox.ini", "[testenv]\ndeps =\n    mock\n    py311: attrs>=1\n    {[base]deps}\n",
         ["mock attrs>=1"]),
        ("setup.cfg", "[options]\ntests_require =\n    mock\n    attrs\n", ["mock attrs"]),
        ("noxfile.py", "def tests(session):\n    session.install('mock', '-e', '.', name)\n",
         ["mock"]),
        ("Pipfile", '[packages]\nattrs = "*"\n[dev-packages]\nmock = {version = "==5"}\n',
         ["attrs mock==5"]),
    ],
)  # fmt: skip
def test_files_of_other_tools_name_it(path, text, wanted):
    given = installs("setup.py", **{path.replace(".", "__"): text})
    assert given == [_pip(each) for each in wanted]


def test_tests_require_of_a_setup_py_is_read_without_running_it():
    text = "from setuptools import setup\nsetup(name='a', tests_require=['mock', NAME, 7])\n"
    assert installs(setup__py=text) == ["pip install mock"]


def test_files_of_requirements_that_tox_and_nox_name_are_installed():
    tox = "[testenv]\ndeps =\n    -r{toxinidir}/ci/needs.txt\n    -r ci/absent.txt\n    -r/etc/x\n"
    assert installs("setup.py", "ci/needs.txt", tox__ini=tox) == ["pip install -r ci/needs.txt"]


@pytest.mark.parametrize(
    "line", ["--index-url https://evil.example", "git+https://x/y", "$(id)", "a@b c"]
)
def test_a_line_that_is_no_requirement_is_left_out(line):
    assert installs("setup.py", tox__ini=f"[testenv]\ndeps =\n    {line}\n") == []


@pytest.mark.parametrize(
    ("constraint", "specifier"),
    [
        ("^1.2.3", ">=1.2.3,<2"),
        ("^0.3", ">=0.3,<0.4"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("~1.2", ">=1.2,<1.3"),
        ("~=1.2", "~=1.2"),
        ("~1", ">=1,<2"),
        ("1.2", "==1.2"),
        (">=1,<2", ">=1,<2"),
        (">=1, !=1.5", ">=1,!=1.5"),
        ("^2 || ^3", ">=2,<3"),
        ("*", ""),
        ("", ""),
        ("x; rm", ""),
    ],
)
def test_constraints_as_pip_writes_them(constraint, specifier):
    assert to_specifier(constraint) == specifier


@pytest.mark.parametrize(
    ("path", "text", "linter"),
    [
        ("pyproject.toml", f"{BUILD}[tool.ruff]\n", "ruff"),
        (".ruff.toml", "", "ruff"),
        (".flake8", "", "flake8"),
        ("setup.cfg", "[flake8]\nmax-line-length = 99\n", "flake8"),
        ("mypy.ini", "", "mypy"),
    ],
)
def test_a_linter_with_settings_is_there_to_run(path, text, linter):
    texts = {"pyproject.toml": BUILD, path: text}
    [recipe] = make_plan(RepositoryFiles(frozenset(texts), texts), Policy()).recipes

    wanted = f"python3 -m {linter} --version 2>/dev/null || pip install {linter}"
    assert recipe.commands[-1] == wanted


def test_tasks_that_call_poetry_run_find_it_where_pip_installs(tmp_path):
    [made] = [
        each
        for each in installs("pyproject.toml", "setup.py", Makefile="lint:\n\tpoetry run ruff .\n")
        if "poetry" in each
    ]
    script = tmp_path / "poetry"
    nowhere = {"PATH": "/nowhere"}
    made = made.replace("/setup/venv/bin/poetry", str(script)).replace("chmod", "/bin/chmod")
    subprocess.run(["/bin/bash", "-c", made], check=True, env=nowhere)

    def call(*words):
        return subprocess.run([script, *words], capture_output=True, text=True, check=False)

    assert call("run", "echo", "a b").stdout == "a b\n"
    assert call("run", "sh", "-c", "exit 3").returncode == 3
    assert call("install").returncode == 127
    assert "poetry is not here" in call("install").stderr
