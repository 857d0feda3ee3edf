"""The command line in this process, and the database of the server beside it."""

from __future__ import annotations

import io
import os

import pytest

from app.cli import main
from tests.app.cli.runs.runs_scene import RunStore


@pytest.fixture
def fettle(monkeypatch, capsys, tmp_path):
    """Return a function that runs the command in this process: exit code, output, errors."""
    for name in [each for each in os.environ if each.startswith(("FETTLE_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FETTLE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args, typed=None, **settings):
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            if typed is not None:
                stdin = io.StringIO(typed)
                stdin.isatty = lambda: True
                patch.setattr("sys.stdin", stdin)
            patch.setattr("sys.argv", ["fettle", *map(str, args)])
            with pytest.raises(SystemExit) as ended:
                main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return run


@pytest.fixture
def store(tmp_path):
    return RunStore(f"sqlite:///{tmp_path / 'fettle.db'}")
