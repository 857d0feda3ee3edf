"""No proof, no pull request: a lock file that nobody here can read is accepted by its own tool."""

import pytest

from agents.pipelines.remediate.frozen_locks import (
    explain_by_hand,
    explain_recipe,
    find_locks,
    list_accepted,
    list_refused,
    list_unproved,
)
from agents.pipelines.remediate.ladder import Group
from agents.ports import SetupCommand, SetupResult
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import alert

YARN = "yarn install --frozen-lockfile --ignore-scripts --non-interactive"
OLD = 'jinja2@^3.1.3:\n  version "3.1.3"\n  integrity sha512-old\n'
INVENTED = 'jinja2@^3.1.3:\n  version "3.1.4"\n  integrity sha512-invented\n'


def make_setup(*commands, problems=()):
    made = tuple(
        SetupCommand(command=command, exit_code=code, seconds=1, output="")
        for command, code in commands
    )
    return SetupResult(source="found", commands=made, problems=problems)


@pytest.fixture
def yarned(scene, acts):
    """A repository with a lock of yarn, whose set-up ends as it is told, before and after."""

    def make(*ends):
        answers = [acts.write("yarn.lock", INVENTED), acts.change(), acts.stands(), acts.sums_up()]
        place = scene(
            answers,
            advisories=[alert(ecosystem="npm", manifest="yarn.lock")],
            files={"yarn.lock": OLD, "package.json": "{}"},
            known=False,
        )
        results = iter(ends)
        last = ends[-1]

        async def set_up(base, policy, image=None, *, own=False):
            place.world.source.bases.append(base)
            return next(results, last)

        place.world.source.set_up = set_up
        return place

    return make


async def test_where_no_tool_runs_no_model_is_asked_and_people_get_the_recipe(yarned):
    place = yarned(make_setup())

    outcome = await place.run(ecosystem="npm")

    assert result_of(outcome.rule) != "fixed"
    by_hand = "run `yarn up -R jinja2` (with yarn 1 `yarn upgrade jinja2`; where a `package.json`"
    assert by_hand in outcome.text
    assert "its tool did not run here" in outcome.text
    assert place.world.model.asked == []
    assert not place.pushed


async def test_a_lock_that_its_tool_refused_before_is_left_to_people(yarned):
    place = yarned(make_setup((YARN, 1), problems=("yarn could not install.",)))

    outcome = await place.run(ecosystem="npm")

    assert "ended with exit code 1" in outcome.text
    assert not place.pushed


async def test_hashes_that_a_model_made_up_are_refused_by_the_tool(yarned):
    place = yarned(make_setup((YARN, 0)), make_setup((YARN, 1), ("yarn install", 0)))

    outcome = await place.run(ecosystem="npm", max_iterations=1)

    assert result_of(outcome.rule) == "verify_failed"
    assert not place.pushed


async def test_what_the_tool_accepted_is_published_with_the_command_that_did(yarned):
    place = yarned(make_setup((YARN, 0)))

    outcome = await place.run(ecosystem="npm")

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert f"`{YARN}` accepted `yarn.lock` as it is (exit code 0)." in place.told


GROUP = Group(
    repository="o/s", ecosystem="npm", package="left", directory="web/ui", advisories=(alert(),)
)


def test_the_nearest_lock_of_the_ecosystem_holds():
    paths = ("yarn.lock", "web/yarn.lock", "web/Pipfile.lock", "api/yarn.lock")
    assert find_locks(paths, GROUP) == ("web/yarn.lock",)
    assert find_locks(("yarn.lock",), GROUP) == ("yarn.lock",)
    assert find_locks(("Pipfile.lock", "other/yarn.lock"), GROUP) == ()


@pytest.mark.parametrize(
    ("lock", "accepted", "refused"),
    [
        ("yarn.lock", YARN, "yarn install --no-lockfile"),
        ("yarn.lock", "yarn install --immutable --mode=skip-build", "yarn install"),
        ("bun.lock", "bun install --frozen-lockfile --ignore-scripts", "bun install"),
        (
            "pnpm-lock.yaml",
            "pnpm install --frozen-lockfile --ignore-scripts",
            "pnpm install --no-frozen-lockfile",
        ),
        ("package-lock.json", "npm ci --ignore-scripts", "npm install"),
        ("go.sum", "go mod download", "go build"),
        ("Pipfile.lock", "pipenv sync --dev", "pipenv install"),
        ("pdm.lock", "pdm install --frozen-lockfile -G :all", "pdm install"),
        ("uv.lock", "uv sync --frozen --all-extras", "uv sync"),
        ("Cargo.lock", "cargo fetch --locked", "cargo fetch"),
        ("Gemfile.lock", "BUNDLE_FROZEN=true bundle install", "bundle install"),
        ("composer.lock", "composer install --no-interaction", "composer update"),
    ],
)
def test_only_an_install_that_holds_to_the_lock_is_a_proof(lock, accepted, refused):
    good, other = make_setup((accepted, 0)), make_setup((refused, 0))
    assert list_unproved([lock], good) == []
    assert len(list_accepted([lock], good)) == 1
    assert len(list_unproved([lock], other)) == 1
    assert list_accepted([lock], other) == []
    assert list_accepted([lock], make_setup((accepted, 1))) == []
    assert lock in explain_recipe([lock], other, GROUP)
    assert explain_recipe([lock], good, GROUP) == ""


@pytest.mark.parametrize(
    ("lock", "accepted", "refused"),
    [
        ("bun.lockb", "bun ci", "bun add x"),
        ("npm-shrinkwrap.json", "npm ci", "npm install"),
        ("go.work.sum", "go mod download", "go mod download example.com/x@v1"),
        ("gems.locked", "bundle install --frozen", "bundle install"),
        ("packages.lock.json", "dotnet restore --locked-mode", "dotnet restore"),
        ("mix.lock", "mix deps.get --only test --check-locked", "mix deps.get"),
        ("pubspec.lock", "dart pub get --enforce-lockfile", "dart pub get"),
        ("Package.resolved", "swift package resolve --force-resolved-versions", "swift build"),
        ("pylock.toml", "uv pip sync pylock.toml", "uv pip sync requirements.txt"),
        ("gradle.lockfile", "gradle --no-daemon testClasses", "gradle -m testClasses"),
        ("go.sum", "go mod download", "go mod verify"),  # what was not downloaded passes
    ],
)
def test_every_kind_of_lock_has_its_command(lock, accepted, refused):
    assert list_unproved([lock], make_setup((accepted, 0))) == []
    assert len(list_unproved([lock], make_setup((refused, 0)))) == 1
    assert len(list_unproved([lock], make_setup())) == 1


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("gradle/libs.versions.toml", "the repository's root"),
        ("api/gradle/libs.versions.toml", "`api`"),
        ("api/build.gradle", "`api`"),
    ],
)
def test_a_catalog_of_gradle_is_for_the_project_above_its_folder(file, place):
    about = GROUP.model_copy(update={"ecosystem": "maven", "manifests": (file,)})
    assert f", in {place}, look at" in explain_by_hand([file], about)


def test_a_file_that_nobody_here_knows_is_never_taken_on_a_word():
    every = make_setup(("npm ci", 0), (YARN, 0), ("go mod download", 0))
    [why] = list_unproved(["flake.lock"], every)
    assert "It holds hashes" in why
    assert "flake.lock" in explain_recipe(["flake.lock"], every, GROUP)


@pytest.mark.parametrize(
    "command",
    [
        "npm ci || npm install",
        "npm ci --dry-run; true",
        "npm ci; true",
        "npm ci | tail -n 3",
        "npm ci &",
        "! npm ci",
        "npm ci --dry-run",
        "npm ci --omit=dev",
        "npm ci --prefix web",
        "echo npm ci",
        "if npm ci; then true; fi",
        "npm() { true; }; npm ci",
        "cd api && npm ci",
        'cd "$WHERE" && npm ci',
        "true || npm ci",
        "for each in a; do npm ci; done",
        "npm ci && (",
    ],
)
def test_a_line_that_may_end_well_without_the_tool_accepts_nothing(command):
    assert len(list_unproved(["package-lock.json"], make_setup((command, 0)))) == 1


@pytest.mark.parametrize(
    "command",
    [
        "cd web && npm ci --ignore-scripts --no-audit --no-fund",
        "cd web && export PATH=.venvs/web/bin:$PATH && npm ci",
        "cd web && npm ci >log 2>&1",
        "(cd web && npm ci)",
        "cd web; npm ci --audit=false || npm clean-install",
        "cd ./api/../web && CI=1 npm ci && npm run build",
    ],
)
def test_the_command_has_to_run_in_the_folder_of_the_lock(command):
    assert list_unproved(["web/package-lock.json"], make_setup((command, 0))) == []
    for other in ("package-lock.json", "web/ui/package-lock.json", "api/package-lock.json"):
        assert len(list_unproved([other], make_setup((command, 0)))) == 1


def test_what_set_up_wrote_anew_proves_nothing_of_what_was_there():
    again = make_setup(("npm ci", 1), ("npm install", 0), ("npm ci", 0))
    assert len(list_unproved(["package-lock.json"], again)) == 1
    changed = make_setup(("npm ci", 0)).model_copy(update={"changed": ("package-lock.json",)})
    assert "set-up itself changed it" in list_unproved(["package-lock.json"], changed)[0]
    anyway = make_setup(("composer install", 2), ("composer install --ignore-platform-reqs", 0))
    assert list_unproved(["composer.lock"], anyway) == []


@pytest.mark.parametrize(
    ("manifest", "command", "other"),
    [
        ("pom.xml", "mvn --batch-mode -Dmaven.test.failure.ignore=true test", "mvn --version"),
        ("core/pom.xml", "mvn dependency:go-offline", "mvn -pl web test"),
        ("build.gradle.kts", "gradle --console=plain --continue testClasses", "gradle tasks"),
        ("gradle/libs.versions.toml", "./gradlew build", "gradle help"),
        ("src/App/App.csproj", "dotnet restore", "dotnet --info"),
        ("setup.py", "pip install -e '.[test]'", "pip install pytest"),
        ("setup.py", "python3 -m pip install .", "pip install -e . --no-deps"),
        ("requirements-dev.txt", "pip install -r requirements-dev.txt", "pip install ."),
        ("package.json", "npm install --no-package-lock", "npm run build"),
        ("mix.exs", "mix deps.get --only test", "mix compile"),
        ("web/package.json", "yarn install", "cd api && yarn install"),
    ],
)
def test_a_manifest_counts_once_its_tool_has_found_a_solution(manifest, command, other):
    assert list_unproved([manifest], make_setup((command, 0))) == []
    [said] = list_accepted([manifest], make_setup((command, 0)))
    assert "found a solution" in said
    assert len(list_unproved([manifest], make_setup((command, 1)))) == 1
    assert len(list_unproved([manifest], make_setup((other, 0)))) == 1


def test_the_recipe_names_the_smallest_version_that_the_alerts_call_safe():
    patched = [alert(first_patched="3.1.4"), alert("< 3.1.6", 6, first_patched="3.1.6")]
    group = GROUP.model_copy(update={"ecosystem": "pip", "advisories": tuple(patched)})
    assert "`uv lock -P left==3.1.6`" in explain_recipe(["uv.lock"], make_setup(), group)
    hostile = group.model_copy(update={"advisories": (alert(first_patched="3.1.4; rm -rf x"),)})
    assert "rm -rf" not in explain_recipe(["uv.lock"], make_setup(), hostile)


def test_a_lock_that_its_tool_refuses_since_the_change_is_told():
    """The ladder reads it itself, and set-up goes on with another command where this one fails."""
    before = make_setup(("npm ci", 0))
    after = make_setup(("npm ci", 1), ("npm install", 0))
    [why] = list_refused(["package-lock.json", "package.json"], after, before)
    assert why.startswith("`npm ci` refuses `package-lock.json` with the change (exit code 1)")
    assert list_refused(["package-lock.json"], after, after) == [], "it was so before"
    assert list_refused(["package-lock.json"], before, before) == []
    assert list_refused(["package-lock.json"], make_setup(), before) == [], "nothing ran"
