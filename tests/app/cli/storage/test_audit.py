"""`fettle audit`: listed, exported, and verified with the database or without."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from app.cli import main
from app.store.audit import PrivilegedAct, append_act
from app.store.database import Database

ACTS = [
    PrivilegedAct("run.asked", "mara", repository="octo/lib", details={"number": 3}),
    PrivilegedAct("approval.decided", "jo\x1b[31m", repository="octo/lib"),
    PrivilegedAct("secret.replaced", "operator", details={"secret": "FETTLE_PRIVATE_KEY"}),
]


@pytest.fixture
def data(tmp_path, sqlite_tables, monkeypatch):
    """A data folder with three entries, which the settings name."""
    shutil.copy(sqlite_tables, tmp_path / "fettle.db")
    database = Database(f"sqlite:///{tmp_path}/fettle.db")

    async def fill():
        for act in ACTS:
            await database.write(lambda c, act=act: append_act(c, act))

    asyncio.run(fill())
    database.close()
    monkeypatch.setenv("FETTLE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def fettle(data, monkeypatch, capsys):
    """Run the command in this process; return its exit code and what it printed."""

    def run(*args):
        monkeypatch.setattr("sys.argv", ["fettle", "audit", *args])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return stopped.value.code or 0, said.out, said.err

    return run


def test_what_was_done_is_listed_and_drives_no_terminal(fettle):
    code, out, _ = fettle("--limit", "2")
    assert code == 0
    assert "run.asked" not in out
    assert "secret=FETTLE_PRIVATE_KEY" in out
    assert "\x1b" not in out


def test_an_export_is_verified_without_the_database(fettle, data):
    export = data / "audit.jsonl"
    code, out, _ = fettle("--json")
    export.write_text(out)
    assert code == 0
    assert [json.loads(line)["number"] for line in out.splitlines()] == [1, 2, 3]
    code, _, said = fettle("verify", "--file", str(export))
    assert (code, said.partition(" The newest")[0]) == (0, "The audit log holds: 3 entries.")


def test_each_byte_of_an_export_counts(fettle, data):
    export = data / "audit.jsonl"
    lines = fettle("--json")[1].splitlines()
    entry = json.loads(lines[1])
    for name, value in entry.items():
        other = value + 1 if not isinstance(value, str) else value.replace(value[-2], "~")
        changed = json.dumps({**entry, name: other})
        export.write_text("\n".join([lines[0], changed, lines[2]]))
        code, _, said = fettle("verify", "--file", str(export))
        assert (code, said.partition(":")[0]) == (1, "The audit log does not hold"), name


def test_the_newest_are_missed_by_whoever_kept_one(fettle, data):
    export = data / "audit.jsonl"
    lines = fettle("--json")[1].splitlines()
    kept = "3:" + json.loads(lines[2])["hash"]
    assert fettle("verify", "--kept", kept)[0] == 0
    export.write_text("\n".join(lines[:2]))
    code, _, said = fettle("verify", "--kept", kept, "--file", str(export))
    assert (code, "it ends at 2, and 3 was there" in said) == (1, True)
    code, _, said = fettle("verify", "--kept", f"3:{'0' * 64}")
    assert (code, "entry 3 has another hash" in said) == (1, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--kept", "three"], "takes a number and a hash"),
        (["--file", "nowhere"], "cannot be read"),
        (["--file", "fettle.db"], "cannot be read"),
        (["--file", "odd.jsonl"], "Line 1 of `odd.jsonl` is no entry"),
    ],
)
def test_what_is_no_log_is_told(fettle, data, monkeypatch, args, said):
    monkeypatch.chdir(data)
    (data / "odd.jsonl").write_text('{"number": 1}\n')
    code, _, heard = fettle("verify", *args)
    assert code == 2
    assert said in heard
