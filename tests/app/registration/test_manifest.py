"""app.yml as the code reads it, from a checkout and from the package that is built of it."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

import pytest
import yaml
from pydantic import ValidationError

from app.registration.manifest import AppManifest, app_manifest
from tests.deploy.conftest import ROOT
from tests.patience import PATIENCE


@pytest.fixture
def plain():
    return yaml.safe_load((ROOT / "app.yml").read_text("utf-8"))


def test_it_says_what_app_yml_says(plain):
    assert app_manifest().model_dump(mode="json") == plain


def test_the_form_changes_where_things_are_and_nothing_else(plain):
    form = json.loads(
        app_manifest().form(name=None, webhook_url="https://h/w", redirect_url="http://r")
    )
    plain["hook_attributes"]["url"] = "https://h/w"
    assert form == plain | {"redirect_url": "http://r"}


@pytest.mark.parametrize(
    "change", [{"default_permission": {}}, {"default_permissions": {"a": "b"}}]
)
def test_a_slip_of_the_pen_is_refused(plain, change):
    with pytest.raises(ValidationError):
        AppManifest.model_validate(plain | change)


def test_the_package_brings_it_along(tmp_path):
    """Built without isolation, as the image does; then read where there is no checkout."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        packed.extractall(tmp_path / "site")
    assert "app/app.yml" in names
    assert "app/web/templates/register.html" in names
    look = (
        "import app.registration.manifest as m\n"
        "assert m.__file__.startswith(%r), m.__file__\n"
        "print(m.app_manifest().name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", look % str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (0, "fettle\n"), done.stderr
