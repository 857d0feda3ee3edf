"""The demo's case: a real package with its bug, fetched once, and an issue in a file."""

import shutil
import subprocess
import sys

import pytest

from agents.errors import ConfigError
from app.demo.case import load_case
from app.demo.folders import demo_folder

BUG = 'import parse; print(parse.parse("{:%H:%M:%S.%f}", "13:23:27.5"))'


@pytest.fixture
def cache():
    folder = demo_folder() / "cache"
    folder.mkdir(exist_ok=True)
    return folder


async def test_the_bug_is_in_one_and_not_in_the_other(cache):
    case = await load_case("parse", cache)

    def says(folder):
        run = [sys.executable, "-B", "-c", BUG]
        return subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True).stdout

    assert says(case.before) == "None\n"
    assert "13, 23, 27, 500000" in says(case.after)
    assert "six digits" in case.title
    assert case.script.is_file()


async def test_what_only_packaging_made_is_left_out(cache):
    case = await load_case("parse", cache)
    assert not any((case.before / name).exists() for name in case.about.leave_out)
    assert (case.before / "parse.py").is_file()
    assert all((case.after / part).exists() for part in case.about.judge.take)


async def test_what_was_fetched_is_kept(cache, monkeypatch):
    first = await load_case("parse", cache)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert await load_case("parse", cache) == first


async def test_without_an_index_it_says_what_to_check(cache, tmp_path, monkeypatch):
    case = await load_case("parse", cache)
    shutil.copytree(case.after, tmp_path / case.after.name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(ConfigError, match=r"with pip: .*works here"):
        await load_case("parse", tmp_path)
    assert not (tmp_path / "parse-1.20.0").exists()


async def test_a_fetch_that_was_cut_short_is_begun_anew(cache, tmp_path, monkeypatch):
    whole = await load_case("parse", cache)
    for folder in (whole.before, whole.after):
        shutil.copytree(folder, tmp_path / folder.name)
    half = tmp_path / "fetch-parse-1.20.0"
    half.mkdir()
    (half / "rest").touch()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert (await load_case("parse", tmp_path)).before == tmp_path / "parse-1.20.0"
