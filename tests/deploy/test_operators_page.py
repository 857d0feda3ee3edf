"""The pages in deploy/ and the top README speak of what is there: commands, settings, files."""

import re

import pytest
import typer
from typer.main import get_command

from app.cli import cli

MANUALS = ("commands.md", "policy.md", "remediation.md", "steering.md")
PAGES = ("README.md", "CHANGELOG.md", *MANUALS, "../README.md")
WORDS = r"(?:[a-z]+(?:-[a-z]+)* ?)+"


@pytest.fixture(scope="module", params=PAGES)
def page(request, deploy):
    return (deploy / request.param).read_text("utf-8")


def exists(words):
    """Whether these words, up to the first that is no name of a command, lead to a command."""
    group = get_command(cli)
    for word in words:
        if not isinstance(group, typer.core.TyperGroup):
            return True  # what follows is an argument
        if word not in group.commands:
            return False
        group = group.commands[word]
    return True


def test_every_command_of_fettle_is_one(page):
    """Those in a block of commands, and those that stand between backticks."""
    blocks = "".join(re.findall(r"^ *```sh\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL))
    shown = re.findall(rf"(?m)(?:^ *(?:.venv/bin/)?|exec fettle |-- )fettle ({WORDS})", blocks)
    shown += re.findall(rf"`(?:.venv/bin/)?fettle ({WORDS})", page)
    assert shown or "/bot" in page
    for words in shown:
        assert exists(words.split()), f"fettle {words}"


def test_every_setting_is_one(page, variables):
    named = set(re.findall(r"\b(?:FETTLE|ANTHROPIC)_[A-Z_]+[A-Z]\b", page))
    assert named <= set(variables)


def test_the_page_names_every_file_of_the_folder_that_is_for_operators(deploy):
    text = (deploy / "README.md").read_text("utf-8")
    of_the_checkout = {"setup.sh", "uv_like_pip.py", "screenshot.py", "pull-request.png"}
    of_the_checkout |= {"pages.sha256"}
    of_the_checkout |= {"make_seccomp.py", "make_env_example.py", "requirements-setup.lock"}
    of_the_checkout |= {"requirements-audit.lock"}
    inside = {"healthcheck.py", "image", "README.md", ".gitignore", "fettle.env", "secrets"}
    for path in deploy.iterdir():
        if path.name not in of_the_checkout | inside and not path.name.startswith("__"):
            assert f"]({path.name})" in text, path.name


def test_images_and_tags_are_the_projects_version(deploy, project):
    text = (deploy / "README.md").read_text("utf-8")
    assert set(re.findall(r"fettle:(\d[\w.]*)", text)) == {project["version"]}


def test_what_an_operator_writes_here_is_never_committed(deploy):
    ignored = (deploy / ".gitignore").read_text("utf-8").split()
    assert {"/fettle.env", "/secrets/"} <= set(ignored)


def test_the_changelog_has_the_next_release_first(deploy):
    heads = re.findall(r"^## (.+)$", (deploy / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heads[0] == "[Unreleased]"
