"""env.example says what the settings are now, and holds nothing that must stay secret."""

import re
import subprocess
import sys

from app.config.settings import load_settings


def assignments(text):
    return dict(re.findall(r"^#?([A-Z_]+)=(.*)$", text, re.MULTILINE))


def test_it_is_what_the_settings_say_now(deploy):
    made = subprocess.run(
        [sys.executable, deploy / "make_env_example.py"], capture_output=True, text=True, check=True
    ).stdout
    assert (deploy / "env.example").read_text("utf-8") == made, (
        "the settings have changed: run "
        "`.venv/bin/python deploy/make_env_example.py >deploy/env.example`"
    )


def test_it_has_every_setting_with_its_words_and_decides_none(deploy, variables):
    text = (deploy / "env.example").read_text("utf-8")
    assert list(assignments(text)) == list(variables)
    assert all(line.startswith("#") for line in text.splitlines() if line)
    said = " ".join(text.replace("\n# ", " ").split())
    for name, field in variables.items():
        assert " ".join(field.description.split()) in said, name


def test_a_secret_has_no_value_and_says_where_it_belongs(deploy, secret_variables):
    text = (deploy / "env.example").read_text("utf-8")
    given = assignments(text)
    assert {"FETTLE_PRIVATE_KEY", "ANTHROPIC_API_KEY"} <= secret_variables
    for name in secret_variables:
        assert given[name] == ""
        assert re.search(rf"^# A secret: .*\n#{name}=$", text, re.MULTILINE)


def test_the_defaults_that_it_shows_are_the_defaults(deploy, variables, tmp_path):
    shown = assignments((deploy / "env.example").read_text("utf-8"))
    taken = load_settings({**shown, "FETTLE_DATA_DIR": str(tmp_path)}, serving=False)
    plain = load_settings({"FETTLE_DATA_DIR": str(tmp_path)}, serving=False)
    assert taken == plain
    assert shown["FETTLE_PORT"] == str(variables["FETTLE_PORT"].default)
    assert shown["FETTLE_REPOSITORIES"] == "{}"
