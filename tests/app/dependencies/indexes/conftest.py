"""An operator whose tools say what a test wants, in a home of their own."""

import os
import stat
from pathlib import Path

import pytest

from app.dependencies.indexes.operator_config import Operator

NEUTRAL = {"LANG": "C.UTF-8", "XDG_CONFIG_DIRS": "/nonexistent"}


MAVEN_SETTINGS = """<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0">
<mirrors><mirror><id>own</id><url>{url}</url><mirrorOf>*</mirrorOf></mirror></mirrors>
</settings>"""
NUGET_SOURCE = """<configuration><packageSources><clear/>
<add key="{name}" value="{url}"/></packageSources></configuration>"""


class HomeMachine:
    """A home folder, programs that print what they are told, and the variables of Fettle."""

    def __init__(self, folder):
        self.home = folder / "home"
        self.programs = folder / "bin"
        self.environ = {**NEUTRAL, "HOME": str(self.home), "PATH": str(self.programs)}
        self.tools = {}
        for path in (self.home, self.programs):
            path.mkdir()
        for name in ("pip", "pip3", "uv", "npm", "yarn", "go"):
            self.absent(name)
        for name in ("cat", "env", "grep", "sed"):
            (self.programs / name).symlink_to(f"/usr/bin/{name}")

    def absent(self, name):
        self.program(name, "exit 1")

    def program(self, name, script):
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    def prints(self, name, **answers):
        """Make a program that prints an answer for each of its first arguments."""
        cases = "".join(
            f"{first}) cat <<'END'\n{text}\nEND\n;;\n" for first, text in answers.items()
        )
        self.program(name, f'case "$1" in --*) shift;; esac\ncase "$1" in\n{cases}*) exit 1;; esac')

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def operator(self, **options):
        return Operator(self.environ, **options)


@pytest.fixture
def machine(tmp_path):
    return HomeMachine(tmp_path)


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Stand in a repository whose every file names an index of its own."""
    tree = tmp_path / "repository"
    tree.mkdir()
    evil = "https://evil.example"
    files = {
        ".npmrc": f"registry={evil}/\n@team:registry={evil}/\n",
        "pip.conf": f"[global]\nindex-url = {evil}/simple\n",
        "uv.toml": f'index-url = "{evil}/simple"\n',
        "pyproject.toml": f'[[tool.uv.index]]\nurl = "{evil}/simple"\ndefault = true\n'
        f'[[tool.poetry.source]]\nname = "evil"\nurl = "{evil}/simple"\n',
        "requirements.txt": f"--index-url {evil}/simple\n--extra-index-url {evil}/2\nsix\n",
        ".cargo/config.toml": f'[registries.evil]\nindex = "sparse+{evil}/"\n',
        ".yarnrc.yml": f"npmRegistryServer: {evil}\n",
        ".env": f"PIP_INDEX_URL={evil}/simple\nGOPROXY={evil}\n",
        "package-lock.json": f'{{"packages": {{"a": {{"resolved": "{evil}/a.tgz"}}}}}}',
        "settings.xml": MAVEN_SETTINGS.format(url=evil),
        ".mvn/settings.xml": MAVEN_SETTINGS.format(url=evil),
        ".mvn/maven.config": f"-s .mvn/settings.xml -Dmaven.repo.remote={evil}",
        "build.gradle": f"repositories {{ maven {{ url '{evil}' }} }}",
        "init.gradle": f"allprojects {{ repositories {{ maven {{ url '{evil}' }} }} }}",
        "init.d/a.gradle": f"allprojects {{ repositories {{ maven {{ url '{evil}' }} }} }}",
        ".bundle/config": f'---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "{evil}"\n',
        ".gemrc": f":sources:\n- {evil}\n",
        "Gemfile": f'source "{evil}"\n',
        "composer.json": f'{{"repositories": [{{"type": "composer", "url": "{evil}"}}]}}',
        "config.json": f'{{"repositories": [{{"type": "composer", "url": "{evil}"}}]}}',
        "nuget.config": NUGET_SOURCE.format(name="evil", url=evil),
        "NuGet.Config": NUGET_SOURCE.format(name="evil", url=evil),
        "hex.config": f'{{mirror_url,<<"{evil}">>}}.',
        "mix.exs": f'[hex: [mirror_url: "{evil}"]]',
    }
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tree)
    return Path(os.getcwd())  # noqa: PTH109 where the tools would look
