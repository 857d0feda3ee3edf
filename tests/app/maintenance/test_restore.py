"""Only a backup is restored: what else calls itself one changes nothing."""

from __future__ import annotations

import io
import json
import stat
import tarfile

import pytest

from agents.errors import ConfigError
from app.maintenance.backup import ABOUT, back_up
from app.maintenance.restore import restore
from app.secrets.files import app_folder, keep_alone, keep_app, kept_in
from app.store.database import Database

SOUND = {"format": 1, "made_at": 1.0, "revision": "0001", "live": 0, "secrets": False}


@pytest.fixture
async def backed_up(sqlite_url, tmp_path):
    """Return a function that makes a backup."""
    database = Database(sqlite_url)
    data = tmp_path / "from"
    data.mkdir()
    keep_app(data, {"FETTLE_APP_ID": "12", "FETTLE_WEBHOOK_SECRETS": '["s3cret-value"]'})
    keep_alone(data, "FETTLE_ENCRYPTION_KEYS", "a-key")

    async def make(**options):
        file = tmp_path / "backup.tgz"
        await back_up(database, data, file, **options)
        return file

    yield make
    database.close()


def pack(path, *members):
    """Make an archive of names and contents; None stands for a link."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


async def test_secrets_are_in_it_on_demand_alone(backed_up, tmp_path):
    plain = await backed_up(with_secrets=False)
    with tarfile.open(plain) as tar:
        assert set(tar.getnames()) == {ABOUT, "fettle.db"}
    whole = await backed_up(with_secrets=True)
    assert stat.S_IMODE(whole.stat().st_mode) == 0o600
    to = tmp_path / "to"
    await restore(whole, to, group=0)
    assert kept_in(to).values == {
        "FETTLE_APP_ID": "12",
        "FETTLE_WEBHOOK_SECRETS": '["s3cret-value"]',
        "FETTLE_ENCRYPTION_KEYS": "a-key",
    }
    assert stat.S_IMODE(app_folder(to).stat().st_mode) == 0o700
    assert stat.S_IMODE((to / "fettle.db").stat().st_mode) == 0o600
    assert {path.name for path in to.iterdir()} == {"fettle.db", "secrets"}


@pytest.mark.parametrize(
    "members",
    [
        [],
        [("fettle.db", b"x")],
        [(ABOUT, b"{}")],
        [(ABOUT, json.dumps(SOUND | {"format": 2}).encode())],
        [(ABOUT, json.dumps(SOUND).encode()), ("../escaped", b"x")],
        [(ABOUT, json.dumps(SOUND).encode()), ("secrets/../../escaped", b"x")],
        [(ABOUT, json.dumps(SOUND).encode()), ("fettle.db", None)],
        [(ABOUT, json.dumps(SOUND).encode()), ("fettle.db", b"not a database" * 99)],
        [(ABOUT, json.dumps(SOUND).encode())],
    ],
)
async def test_what_is_no_backup_changes_nothing(members, tmp_path):
    file, to = pack(tmp_path / "backup.tgz", *members), tmp_path / "to"
    with pytest.raises(ConfigError, match="is no backup of Fettle"):
        await restore(file, to, group=0)
    assert list(to.iterdir()) == []
    assert not (tmp_path / "escaped").exists()


async def test_refs_of_others_are_not_restored(backed_up, tmp_path):
    file = await backed_up(with_secrets=False)
    with tarfile.open(file) as tar:
        about, database = (tar.extractfile(name).read() for name in (ABOUT, "fettle.db"))
    refs = json.dumps({"refs/heads/main": "0" * 40}).encode()
    parts = [("mirrors/9-0.refs", refs), ("mirrors/9-0.pack", b"PACK")]
    pack(file, (ABOUT, about), ("fettle.db", database), *parts)
    with pytest.raises(ConfigError, match="is no backup"):
        await restore(file, tmp_path / "to", group=0)
    assert list((tmp_path / "to").iterdir()) == []


async def test_a_file_cut_short_is_told(backed_up, tmp_path):
    file = await backed_up(with_secrets=False)
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(ConfigError, match="is no backup"):
        await restore(file, tmp_path / "to", group=0)


async def test_the_log_of_a_database_that_was_moved_away_is_not_written_into_the_new_one(
    backed_up, tmp_path
):
    file, to = await backed_up(with_secrets=False), tmp_path / "to"
    to.mkdir()
    (to / "fettle.db-wal").write_bytes(b"of a server that was killed")
    with pytest.raises(ConfigError, match=r"fettle\.db-wal` is there already"):
        await restore(file, to, group=0)
    assert [path.name for path in to.iterdir()] == ["fettle.db-wal"]
