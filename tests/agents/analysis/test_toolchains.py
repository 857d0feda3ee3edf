"""What version files and manifests ask for, and which wishes can be met together."""

import time

import pytest

from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.toolchains import find_wanted, list_version_files
from agents.analysis.toolchains.version_range import npm_range, python_range


def read(files):
    return find_wanted(RepositoryFiles(frozenset(files), files))


def demand(files):
    [found] = read(files).demands
    return found


@pytest.mark.parametrize(
    ("path", "text", "tool", "fits", "not_"),
    [
        (".python-version", "# ours\n3.13\n", "python", "3.13.4", "3.12.9"),
        (".python-version", "3.13.1", "python", "3.13.1", "3.13.2"),
        ("pyproject.toml", "[project]\nrequires-python = '>=3.13'", "python", "3.13.0", "3.11.2"),
        ("pyproject.toml", "[tool.poetry.dependencies]\npython='^3.11'", "python", "3.12.1", "4.0"),
        ("setup.cfg", "[options]\npython_requires = >=3.9,<3.12", "python", "3.11.9", "3.12.0"),
        ("setup.py", "setup(name='a', python_requires='~=3.10')", "python", "3.11.0", "3.9.1"),
        ("Pipfile", "[requires]\npython_version = '3.12'", "python", "3.12.3", "3.13.0"),
        (".nvmrc", "v22\n", "node", "22.9.0", "20.1.0"),
        (".nvmrc", "lts/jod", "node", "22.9.0", "20.1.0"),
        (".node-version", "20.11.0", "node", "20.11.0", "20.12.0"),
        ("package.json", '{"engines": {"node": ">= 18 <21"}}', "node", "20.1.0", "22.1.0"),
        ("package.json", '{"engines": {"node": "^20.19 || >=22.12"}}', "node", "22.13.0", "22.1.0"),
        ("package.json", '{"volta": {"node": "20.1.0"}}', "node", "20.1.0", "22.1.0"),
        ("go.mod", "module a\n\ngo 1.22 // why\n", "go", "1.25.1", "1.21.13"),
        ("go.mod", "module a\ngo 1.22\ntoolchain go1.24.1\n", "go", "1.24.1", "1.23.9"),
        ("Cargo.toml", "[package]\nrust-version = '1.75'", "rust", "1.80.0", "1.74.1"),
        ("rust-toolchain.toml", "[toolchain]\nchannel = '1.75'", "rust", "1.75.3", "1.80.0"),
        ("rust-toolchain", "1.75.0\n", "rust", "1.75.0", "1.75.1"),
        (".java-version", "temurin-21.0.1+12.0.LTS", "java", "21.0.7", "17.0.15"),
        (".java-version", "1.8", "java", "8.0.3", "11.0.1"),
        (".sdkmanrc", "java=17.0.9-tem\ngradle=8", "java", "17.0.15", "21.0.1"),
        ("pom.xml", "<maven.compiler.release>21</maven.compiler.release>", "java", "25", "17"),
        ("build.gradle", "languageVersion = JavaLanguageVersion.of(21)", "java", "21.0.1", "25"),
        ("build.gradle.kts", "sourceCompatibility = JavaVersion.VERSION_17", "java", "21", "11"),
        (".ruby-version", "ruby-3.2.2", "ruby", "3.2.2", "3.3.0"),
        ("Gemfile", "ruby '~> 3.1'\ngem 'rake'\n", "ruby", "3.4.1", "4.0.0"),
        ("global.json", '{"sdk": {"version": "8.0.100"}}', "dotnet", "8.0.105", "8.0.200"),
        ("mise.toml", "[tools]\n'core:go' = {version = '1.22'}", "go", "1.22.4", "1.23.0"),
        (".tool-versions", "nodejs 20.11.0 18\nelixir 1\n", "node", "20.11.0", "18.1.0"),
    ],
)  # fmt: skip
def test_each_file_is_understood(path, text, tool, fits, not_):
    found = demand({path: text})

    assert found.tool == tool
    assert found.fits(fits)
    assert not found.fits(not_)


def test_a_package_manager_is_pinned_beside_its_runtime():
    files = {"package.json": '{"packageManager": "pnpm@9.1.0+sha512.0ab", "engines": {}}'}

    found = {each.tool: each for each in read(files).demands}

    assert found["pnpm"].list_requests() == ["9.1.0", "9"]
    assert found["node"].is_open


@pytest.mark.parametrize(
    ("files", "requests"),
    [
        ({"pyproject.toml": "[project]\nrequires-python = '>=3.13'"}, ["3.13", "3.14", ""]),
        ({".python-version": "3.13.1"}, ["3.13.1", "3.13"]),
        ({".nvmrc": "20", "package.json": '{"engines": {"node": ">=18"}}'}, ["20"]),
        ({"package.json": '{"engines": {"node": ">=14"}}'}, ["22", "24", "20", ""]),
        ({"go.mod": "go 1.23.12\n"}, ["1.23", "1.24", ""]),
        ({"go.mod": "go 1.12\n"}, ["1.12", "1.13", ""]),
        ({"go.mod": "module a\n"}, [""]),
        ({"rust-toolchain": "stable"}, [""]),
    ],
)
def test_what_is_looked_for_is_numbers_the_most_lasting_first(files, requests):
    [found] = read(files).demands

    assert found.list_requests() == requests


def test_a_version_file_prevails_over_a_manifest_and_the_root_over_folders():
    files = {
        "package.json": '{"engines": {"node": ">=22"}}',
        ".nvmrc": "20",
        "web/.nvmrc": "18",
        "api/.python-version": "3.12",
        "jobs/pyproject.toml": "[project]\nrequires-python = '>=3.11'",
    }

    node, own, python = read(files).demands

    assert [wish.source for wish in node.wishes] == [".nvmrc"]
    assert [wish.source for wish in node.refused] == ["package.json"]
    assert (own.folder, [wish.source for wish in own.wishes]) == ("web", ["web/.nvmrc"])
    assert len(python.wishes) == 2
    assert python.refused == ()


def test_the_next_patch_is_near_to_a_pinned_one_and_the_next_line_is_not():
    found = demand({".node-version": "20.11.0"})

    assert found.is_near("20.20.2")
    assert not found.is_near("22.1.0")
    assert demand({"go.mod": "go 1.22\ntoolchain go1.24.1\n"}).is_near("1.22.5")


def test_files_of_examples_and_deep_folders_say_nothing():
    deep = ["a/b/c/.nvmrc", "a/b/c/d/.nvmrc", "tests/x/go.mod", "node_modules/x/package.json"]

    assert list_version_files([*deep, "x/.nvmrc", "go.mod"]) == [
        "go.mod",
        "x/.nvmrc",
        "a/b/c/.nvmrc",
    ]


@pytest.mark.parametrize(
    "text",
    ["$(touch /tmp/x)", "22; rm -rf /", "../../etc/passwd", "`id`", "22\x00", "--help", "pypy3.10"],
)
@pytest.mark.parametrize("path", [".nvmrc", ".python-version", ".ruby-version", ".java-version"])
def test_what_a_version_file_pins_and_nobody_can_read_is_not_met(path, text):
    found = read({path: text})

    assert found.demands == []
    assert "which is no version that Fettle can look for" in found.unmet[0]


def test_of_a_file_for_many_tools_only_what_the_repository_needs_has_to_be_met():
    cargo = {"Cargo.toml": "[package]\n", "rust-toolchain.toml": "[toolchain]\nchannel = 'nightly'"}
    assert "asks for rust `nightly`" in read(cargo).unmet[0]
    many = {".tool-versions": "ruby jruby-9.4.5.0\nelixir 1.15\n", "go.mod": "module x\ngo 1.22\n"}
    assert read(many).unmet == []
    assert "ruby `jruby-9.4.5.0`" in read(many | {"Gemfile": ""}).unmet[0]


@pytest.mark.parametrize(
    "text",
    ["9" * 290_000, "." * 290_000, "\n" * 290_000, "a-" * 145_000, "<1 " * 90_000, "// " * 90_000],
)
def test_a_huge_file_is_read_quickly(text):
    names = (".nvmrc", ".python-version", ".java-version", "global.json", "pom.xml", "go.mod")
    names += ("setup.py", "Gemfile", "build.gradle", ".tool-versions", "mise.toml", "Cargo.toml")
    files = dict.fromkeys(names, text)
    files["package.json"] = f'{{"engines": {{"node": "{" ".join(text.split())[:9_000]}"}}}}'

    began = time.thread_time()
    found = read(files)

    assert time.thread_time() - began < 2.0
    assert all(each.is_open for each in found.demands if each.tool != "node")


@pytest.mark.parametrize("read_range", [npm_range, python_range])
def test_no_range_of_many_parts_takes_long(read_range):
    ranges = [read_range(part * 40) for part in (">=1,", "^1||", "1 - 2 ", "=" * 5)]

    began = time.thread_time()
    found = [each.fits(version) for each in ranges if each for version in ("99.1.0", "0.1")]

    assert True in found
    assert time.thread_time() - began < 1.0
