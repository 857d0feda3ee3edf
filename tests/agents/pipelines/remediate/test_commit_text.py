"""Titles, branches, and which files are those of dependencies."""

import pytest

from agents.analysis.lock_files import is_dependency_file
from agents.pipelines.remediate.commit_text import format_message, format_subject
from agents.pipelines.remediate.dependency_files import (
    find_strange,
    find_version_objection,
)
from agents.pipelines.remediate.ladder import Group, Move
from agents.remediation import branch_words
from agents.run.naming import branch_name
from tests.agents.pipelines.remediate.conftest import GHSA, alert

ALERTS = Group(repository="o/s", ecosystem="pip", package="jinja2", advisories=(alert(),))


@pytest.mark.parametrize(
    ("move", "directory", "expected"),
    [
        ({"old": ("3.1.3",), "new": ("3.1.6",)}, "", "Update jinja2 from 3.1.3 to 3.1.6"),
        ({"old": ("1", "2"), "new": ("3", "4")}, "a/b", "Update jinja2 from 1, 2 to 3, 4 in a/b"),
        ({"old": ("1", "2"), "new": ("1", "3")}, "", "Update jinja2 from 2 to 3"),
        ({"old": ("1", "2"), "new": ("2",)}, "", "Update jinja2 from 1 to 2"),
        ({"old": ("1", "2", "3", "4"), "new": ("5",)}, "", "Update jinja2 from …, 2, 3, 4 to 5"),
        ({"new": ("3.1.6",)}, "", "Update jinja2 to 3.1.6"),
        ({"old": ("3.1.3",)}, "", "Remove jinja2"),
    ],
)
def test_titles(move, directory, expected):
    group = ALERTS.model_copy(update={"directory": directory})

    assert format_subject(group, [Move(name="jinja2", **move)]) == expected


def test_what_goes_along_cannot_be_taken_for_another_version():
    several = Move(name="jinja2", old=("7.22.0", "6.26.0"), new=("7.23.2",))
    one = Move(name="jinja2", old=("3.1.3",), new=("3.1.6",))
    also = "3 more packages"
    assert format_subject(ALERTS, [several], also).endswith("to 7.23.2, and 3 more packages")
    assert format_subject(ALERTS, [one], "flask") == "Update jinja2 from 3.1.3 to 3.1.6 and flask"


def test_the_commits_body_names_the_advisories_unless_they_are_undisclosed():
    hidden = ALERTS.model_copy(update={"advisories": (alert(), alert(undisclosed=True))})

    assert GHSA in format_message(ALERTS, "why")
    assert format_message(hidden, "why") == ""


@pytest.mark.parametrize(
    ("package", "directory", "start"),
    [
        ("jinja2", "", "bot/deps-jinja2-abc"),
        ("@Scope/Pkg.js", "", "bot/deps-scope-pkg.js-abc"),
        ("../../x y;~^:", "", "bot/deps-x-y-abc"),
        ("....", "", "bot/deps-package-abc"),
    ],
)
def test_branches_are_names_that_git_takes(scene, package, directory, start):
    request = scene().request.model_copy(update={"package": package, "directory": directory})

    assert branch_name(None, *branch_words(request), "abc") == start


def test_branches_of_two_folders_differ(scene):
    request = scene().request
    one, two = (request.model_copy(update={"directory": each}) for each in ("a", "b"))

    assert branch_words(one) != branch_words(two)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("go.sum", True),
        ("a/b/Cargo.lock", True),
        ("requirements/dev.txt", False),
        ("requirements-dev.txt", True),
        ("package.json", True),
        ("Foo.csproj", True),
        ("src/package.json.js", False),
        ("Makefile", False),
        (".github/workflows/ci.yml", False),
        ("go.mod/evil.py", False),
    ],
)
def test_dependency_files(path, known):
    assert is_dependency_file(path) is known
    assert (find_strange([path]) == "") is known


@pytest.mark.parametrize(
    ("ecosystem", "version", "old", "fault"),
    [
        ("go", "v1.2.4", "v1.2.3", ""),
        ("go", "v2.0.0", "v1.2.3", "another major version"),
        ("rust", "1.3.0", "0.2.9", "another major version"),
        ("rust", "1.2.3", "1.2.2", "is in a vulnerable range"),
        ("maven", "1.2.4", "1.2.3", ""),
        ("rubygems", "1.2.4", "", ""),
        ("nuget", "1.2.4", "", ""),
        ("composer", "1.2.4", "", ""),
        ("erlang", "1.2.4", "", "is no version that Fettle can hold"),
        ("go", "v1.2.4; rm -rf /", "", "is no version"),
    ],
)
def test_a_claimed_version_is_held_against_the_ranges(ecosystem, version, old, fault):
    group = ALERTS.model_copy(
        update={"ecosystem": ecosystem, "advisories": (alert("< 1.2.4", ecosystem=ecosystem),)}
    )
    texts = {"lock": "1.2.3 1.2.4 2.0.0 0.3.0"}

    said = find_version_objection(group, version, texts, old, majors=False)

    assert (fault in said) if fault else said == ""
