"""Programs, disk, fsync and sandbox as the doctor finds them."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

import pytest

from app.config.settings import read_settings
from app.doctor import machine
from app.doctor.machine import disk_findings, git_finding, programs_finding
from app.doctor.sandboxes import sandbox_finding
from tests.app.doctor.conftest import by_subject


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def settings(tmp_path):
    return read_settings({"FETTLE_DATA_DIR": str(tmp_path / "data")}).settings


def program(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


async def test_this_machines_git_will_do():
    found = await git_finding()
    assert (found.level, "with HTTPS" in found.said) == ("ok", True)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo git version 2.30.2", "2.30.2"),
        ("echo nonsense", "nonsense"),
        ("exit 1", "says"),
        ('[ "$1" = --version ] && echo git version 2.47.1 || echo /nowhere', "over HTTPS"),
    ],
)
async def test_a_git_that_will_not_do(tmp_path, monkeypatch, script, words):
    program(tmp_path, "git", script)
    monkeypatch.setattr(machine, "PATH", f"{tmp_path}:/usr/bin:/bin")
    found = await git_finding()
    assert (found.level, words in found.said, bool(found.remedy)) == ("failed", True, True)


async def test_missing_programs_are_named_with_their_packages(tmp_path, monkeypatch):
    assert programs_finding().level == "ok"
    program(tmp_path, "bash", "")
    monkeypatch.setattr(machine, "PATH", str(tmp_path))
    assert (await git_finding()).level == "failed"
    found = programs_finding()
    assert found.said.startswith("There is no perl, prlimit, rg in ")
    assert found.remedy == "Run `apt-get install perl ripgrep util-linux`."


def test_the_disk_and_how_fast_it_is_are_measured_and_nothing_stays(settings, tmp_path):
    found = by_subject(disk_findings(settings))
    assert "GB free" in found["disk"].said
    assert "ms" in found["fsync"].said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("free_mb", "level"), [(100, "failed"), (5_000, "warning"), (50_000, "ok")]
)
def test_room(settings, monkeypatch, free_mb, level):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, free_mb * 1024 * 1024))
    assert by_subject(disk_findings(settings))["disk"].level == level


def test_a_slow_disk(settings, monkeypatch):
    monkeypatch.setattr(machine, "SLOW_FSYNC", 0.0)
    assert by_subject(disk_findings(settings))["fsync"].level == "warning"


def test_a_folder_of_somebody_else(settings, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    [found] = disk_findings(settings)
    assert (found.level, "FETTLE_DATA_DIR" in found.remedy) == ("failed", True)


async def test_a_disk_that_is_all_but_full_ends_no_examination(tmp_path):
    environ = {"FETTLE_DATA_DIR": str(tmp_path), "FETTLE_DISK_RESERVE_MB": "999999999"}
    found = await sandbox_finding(read_settings(environ).settings)
    assert (found.about, found.level) == ("sandbox", "failed")
    assert "could not be tried" in found.said
    assert "Free some space" in found.said
