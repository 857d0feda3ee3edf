"""The pages of the manual: one for each command, each read whole."""

from importlib import resources

import pytest
import typer
from typer.main import get_command

from app.cli import cli
from app.cli.declaration import read_page


def commands(group, words="fettle"):
    yield words
    if isinstance(group, typer.core.TyperGroup):
        for name in group.commands:
            yield from commands(group.commands[name], f"{words} {name}")


COMMANDS = list(commands(get_command(cli)))
PAGES = [file for file in resources.files("app.cli.help").iterdir() if file.name.endswith(".md")]


def test_each_command_has_a_page_and_each_page_a_command():
    assert {file.read_text().splitlines()[0] for file in PAGES} == {f"# {c}" for c in COMMANDS}
    assert len(PAGES) == len(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_a_page_is_lost_between_the_file_and_the_terminal(command):
    page = read_page(command)
    name = command.removeprefix("fettle ").replace(" ", "-")
    written = resources.files("app.cli.help").joinpath(f"{name}.md").read_text()
    parts = [command, page.text]
    for title, rows in page.sections.items():
        assert rows, title
        parts += [title, *(part for row in rows for part in row)]

    def letters(text):
        return "".join(char for char in text if char.isalnum())

    assert letters("".join(parts)) == letters(written)
