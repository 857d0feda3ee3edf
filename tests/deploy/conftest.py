"""What the files of deploy/ are held against: the settings, the server, the project's own words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_args

import pytest
from pydantic import SecretStr

from app.config.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]


def variable(name, field):
    alias = field.validation_alias
    return alias if isinstance(alias, str) else f"{PREFIX}{name.upper()}"


def is_secret(annotation):
    return annotation is SecretStr or any(map(is_secret, get_args(annotation)))


@pytest.fixture(scope="session")
def deploy():
    """The folder."""
    return ROOT / "deploy"


@pytest.fixture(scope="session")
def project():
    """The table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="session")
def variables():
    """Every setting, by the name of its variable."""
    return {variable(name, field): field for name, field in Settings.model_fields.items()}


@pytest.fixture(scope="session")
def secret_variables(variables):
    """The names of those that must never be in a file with other things."""
    return {name for name, field in variables.items() if is_secret(field.annotation)}


@pytest.fixture(scope="session")
def port():
    """The port that the server listens on when nobody says another."""
    return Settings.model_fields["port"].default
