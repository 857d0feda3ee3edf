"""Which clone is of a repository: where it is looked for, and whom it is asked."""

from __future__ import annotations

import os

import pytest

from agents.errors import ConfigError
from app.operator.find_clone import Places, clone_at
from app.operator.repository_reference import RepositoryName
from tests.app.clone.conftest import make_clone
from tests.app.clone.test_resolve import make_hostile
from tests.app.git.conftest import git

GITHUB = "https://github.com"
LIB = RepositoryName("octo", "lib")


@pytest.fixture
def clone(tmp_path):
    def clone(place, remote=f"{GITHUB}/octo/lib.git", name="origin"):
        made = make_clone(tmp_path / place, {"a.txt": "a\n"})
        if remote:
            git(made, "remote", "add", name, remote)
        return made

    return clone


async def find_path(places):
    """Return the folder of the clone that is found."""
    got = await places.clone_of(LIB)
    return got.path if got else None


async def test_where_it_is_looked_for_in_order(clone, tmp_path):
    home, here = tmp_path / "home", clone("here/sub")
    common = clone("home/src/octo/lib")
    configured = clone("configured/lib")
    everywhere = Places(GITHUB, [tmp_path / "configured"], here, home)
    assert await find_path(everywhere) == here
    assert await find_path(Places(GITHUB, [tmp_path / "configured"], home=home)) == configured
    assert await find_path(Places(GITHUB, {"Octo/Lib": configured}, home=home)) == configured
    assert await find_path(Places(GITHUB, {"octo/other": configured}, home=home)) == common
    assert await find_path(Places(GITHUB, home=home)) == common
    assert await find_path(Places(GITHUB)) is None


async def test_a_name_is_not_believed(clone, tmp_path):
    clone("home/src/lib", remote="https://github.com/mallory/lib.git")
    clone("home/code/lib", remote=None)
    (tmp_path / "home" / "dev" / "lib").mkdir(parents=True)
    broken = clone("home/work/lib")
    (broken / ".git" / "config").write_text("[remote \x00")
    assert await find_path(Places(GITHUB, home=tmp_path / "home")) is None


async def test_the_remote_of_that_repository_among_many(clone):
    made = clone("lib", remote="https://github.com/ada/lib.git")
    git(made, "remote", "add", "upstream", "git@github.com:octo/lib.git")
    assert (await clone_at(made, GITHUB)).name == RepositoryName("ada", "lib")
    upstream = await Places(GITHUB, here=made / ".git" / "refs").clone_of(LIB)
    assert upstream.remote == "upstream"


async def test_a_folder_that_is_of_nothing_is_told(clone, tmp_path):
    with pytest.raises(ConfigError, match="is a repository on"):
        await clone_at(clone("lib", remote="https://gitlab.example/octo/lib"), GITHUB)
    with pytest.raises(ConfigError, match="not in a git repository"):
        await clone_at(tmp_path, GITHUB)


async def test_what_a_hostile_clone_has_in_its_settings_neither_runs_nor_leads_astray(clone):
    made = clone("lib")
    marker = made.parent / "marker"
    make_hostile(made, marker)
    git(made, "config", "--file", ".git/config", "url.https://github.com/octo/.insteadOf", "x:")
    git(made, "config", "--file", ".git/config", "remote.--exec=touch x.url", f"{GITHUB}/octo/lib")
    got = await Places(GITHUB, here=made).clone_of(LIB)
    assert (got.remote, got.name) == ("origin", LIB)
    assert not marker.exists()
    (made / ".git" / "config").unlink()
    os.mkfifo(made / ".git" / "hooks" / "pipe")
    assert await Places(GITHUB, here=made).clone_of(LIB) is None
