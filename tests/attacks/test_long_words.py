"""Words of strangers that are made to take long: one comment must not hold up everybody's work."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.weakening.test_cases import name_in
from agents.pipelines.address.suggestions.suggestion import read_suggestions
from agents.text import clean, publish
from agents.tools.shell.script import read
from app.secrets.redaction import Redactor
from handlers.command_parser import parse_commands, strip_commands

LONGEST = 65_536  # characters of a comment on GitHub
ENOUGH = 2.0  # seconds of a processor; some of these took minutes

SLOW = True
"""Each was found by a reader that took longer than this; to wait for one anew is dear."""

UNITS = ("\n", "  \n", "\t\n", "![", "[a](", "<![CDATA[", "<!--", "`", "> ", "on wrote ", "eyJ")
TABLE, COMMANDS = "|a\n|-\n", "/a\n"
REDACTOR = Redactor(["a-secret-of-ours"])

READERS = {
    "commands of a comment": lambda text: parse_commands(f"/bot status\n\n{text}"),
    "the rest of a comment": lambda text: strip_commands(f"/bot status\n\n{text}"),
    "the text of an issue": clean,
    "suggestions of a review": read_suggestions,
    "secrets in it": REDACTOR.clean,
}


def repeat(unit, length=LONGEST):
    """Return a text of this length that is little else than one thing again and again."""
    return f"x {unit * (length // len(unit))}y"[:length]


def seconds(read, text):
    began = time.process_time()
    read(text)
    return time.process_time() - began


@pytest.mark.attack(15)
@pytest.mark.parametrize("name", READERS)
def test_no_comment_takes_long_to_read(attempts, name):
    for unit in UNITS:
        took = seconds(READERS[name], repeat(unit))
        attempts.note(f"{name}: {unit!r}", blocked=took < ENOUGH, detail=took, bites=SLOW)


@pytest.mark.attack(15)
@pytest.mark.parametrize("unit", [COMMANDS, TABLE, "fixes #1\n"])
def test_nothing_takes_long_to_make_harmless(attempts, unit):
    took = seconds(publish, repeat(unit, 14_000))
    attempts.note(f"published {unit!r}", blocked=took < ENOUGH, detail=took, bites=SLOW)


SETTINGS = {
    "a key of many parts": ".".join("a" * 100_000) + " = 1",
    "a key within a value": f"x = {{{'a.' * 50_000}a = 1}}",
    "what is nested deep": f"x = {'[' * 50_000}",
    "a number of many digits": f"x = {'9' * 50_000}",
    "tables of tables": "[a.b]\n" * 40_000,
    "megabytes": "x = [" + "1, " * 2_000_000,
}


@pytest.mark.attack(15)
@pytest.mark.parametrize("name", SETTINGS)
def test_no_settings_of_a_repository_take_long(attempts, name):
    files = RepositoryFiles(frozenset({"pyproject.toml"}), {"pyproject.toml": SETTINGS[name]})
    took = seconds(files.toml, "pyproject.toml")
    held = took < ENOUGH and files.toml("pyproject.toml") == {}
    attempts.note(name, blocked=held, detail=took, bites=SLOW)


@pytest.mark.attack(15)
def test_no_makefile_stands_for_gigabytes(attempts):
    lines = ["A=" + "$(B)" * 150, "B=" + "$(C)" * 150, "C=" + "x" * 600, "all:", "\t$(A)"]
    script = "make -f - <<'EOF'\n{}\nEOF\n".format("\n".join(lines))
    tracemalloc.start()
    read(script)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    attempts.note("variables of make", blocked=most < 5_000_000, bites=True)


@pytest.mark.attack(15)
@pytest.mark.parametrize("family", ["php", "swift"])
def test_no_line_of_a_test_takes_long(attempts, family):
    line = "\t" * 999 + "x"
    took = seconds(lambda text: [name_in(text, family) for _ in range(100)], line)
    attempts.note(f"tabs in {family}", blocked=took < ENOUGH, detail=took, bites=SLOW)
