"""The command line as people meet it: manuals, versions, mistakes, exit codes."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app.cli.terminal import PERSON
from app.config.settings import Settings
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]


def test_without_arguments_it_shows_the_manual(fettle):
    _, out, err = fettle()
    assert "fettle demo" in out + err


def test_the_version_is_the_packages(fettle):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert fettle("--version") == (0, f"fettle {project['version']}\n", "")


@pytest.mark.parametrize(
    "command",
    [
        *((), ("serve",), ("demo",), ("setup",), ("doctor",), ("resolve",), ("eval",)),
        *(("approvals",), ("approve",), ("deny",), ("scan",), ("remediate",)),
    ],
)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_each_manual_has_its_parts(fettle, command, option):
    code, out, err = fettle(*command, option)
    assert (code, err) == (0, "")
    assert "Usage: fettle" in out
    assert "\nExit codes:\n" in out
    assert not command or "\nExamples:\n" in out
    assert "..." not in out.partition("Commands:")[2].partition("Exit codes:")[0], "cut short"
    assert max(map(len, out.splitlines())) <= 100


def test_the_manual_of_serve_lists_every_setting(fettle):
    _, out, _ = fettle("serve", "--help")
    settings = out.partition("\nSettings:\n")[2]
    listed = set(re.findall(r"^  ([A-Z_]{8,})", settings, re.MULTILINE))
    aliases = {f.validation_alias for f in Settings.model_fields.values()} - {None}
    assert len(listed) == len(Settings.model_fields)
    assert aliases <= listed
    assert "[default: 8080]" in settings


def test_serve_lists_every_problem_with_its_settings(fettle):
    code, out, err = fettle("serve", FETTLE_PORT="many", FETTLE_COLOUR="red")
    assert (code, out) == (2, "")
    for name in (
        "FETTLE_APP_ID",
        "FETTLE_PRIVATE_KEY",
        "FETTLE_WEBHOOK_SECRETS",
        "ANTHROPIC_API_KEY",
        "FETTLE_PORT",
        "FETTLE_COLOUR",
    ):
        assert sum(line.startswith(f"- {name}: ") for line in err.splitlines()) == 1
    assert "without one anybody could send deliveries." in err, "lines are not broken"


@pytest.mark.parametrize(
    "args", [("fly",), ("demo", "--port", "x"), ("demo", "--port", "70000"), ("serve", "--fast")]
)
def test_a_wrong_word_is_told_in_plain_words(fettle, args):
    code, out, err = fettle(*args)
    assert (code, out) == (2, "")
    assert "Error: " in err


def test_an_error_of_the_system_names_the_file(fettle, monkeypatch):
    def full():
        raise OSError(28, "No space left on device", "/data/fettle.db")

    monkeypatch.setattr("app.config.settings.load_settings", full)
    assert fettle("serve") == (2, "", "Failed: `/data/fettle.db`: No space left on device\n")


HEAVY = "aiohttp", "anthropic", "app.simulator", "dbos", "graphql", "sqlalchemy"


@pytest.mark.parametrize(
    ("args", "modules", "code"),
    [
        (("resolve", "--help"), (*HEAVY, "pydantic_settings"), 0),
        (("resolve", "/", "Mend it"), HEAVY, PERSON),
    ],
    ids=["the manual", "a mistake"],
)
def test_what_takes_long_to_import_is_not_waited_for(args, modules, code):
    """And the manual reads no settings."""
    check = (
        f"import sys; sys.argv = ['fettle', *{args!r}]\n"
        "from app.cli import main\n"
        "try: main()\n"
        f"finally: print([name for name in {modules!r} if name in sys.modules], file=sys.stderr)"
    )
    wrong = {"FETTLE_PORT": "wrong"} if not code else {"FETTLE_DATA_DIR": "/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", check],
        env={"PYTHONIOENCODING": "ascii", **wrong},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"
