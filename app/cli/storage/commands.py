"""The commands `fettle encrypt`, `backup` and `restore`: what becomes of what is stored."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import ConfigError
from app.cli.terminal import say

if TYPE_CHECKING:
    from app.cli.storage.databases import RunDatabase
    from app.config.settings import Settings
    from app.store.database import Database

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick

KEYS = "FETTLE_ENCRYPTION_KEYS"
WITH_POSTGRESQL = """\
The database is PostgreSQL, which has a tool of its own. Save two things:

1. the database:         pg_dump --format=custom --file=fettle.dump --username=USER DATABASE
2. the settings, the secrets, and the keys that texts are sealed with, somewhere else

deploy/README.md says how to put them back."""


def encrypt(
    *,
    new_key: Annotated[bool, typer.Option("--new-key", help="Only make a key.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Store everything as plain text.")] = False,
) -> None:
    """Seal what is stored."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    if new_key and undo:
        raise ConfigError("--new-key and --undo contradict each other.")
    if new_key:
        _make_key(settings)
        return
    if not settings.encryption_keys:
        raise ConfigError(f"There is no key: {KEYS} is not set. Run `fettle encrypt --new-key`.")
    asyncio.run(_encrypt(settings, undo=undo))


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
    *,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="The App's key and all other secrets, too.")
    ] = False,
) -> None:
    """Write a backup."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    asyncio.run(_back_up(settings, file.expanduser().absolute(), with_secrets=with_secrets))


def restore(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A backup.")] = None,
    *,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Instead of FILE: other means put the database back, as of this time (UTC).",
        ),
    ] = "",
) -> None:
    """Restore a backup."""
    from app.config.settings import load_settings

    settings = load_settings(serving=False)
    if (file is None) == (not since):
        raise ConfigError("Name either a backup, or with --since the time that the database is of.")
    if file is None:
        asyncio.run(_put_back_by_others(settings, _moment(since)))
        return
    if settings.database_url is not None:
        raise ConfigError(
            "A backup is put back into the data folder. FETTLE_DATABASE_URL names another place:"
            " take it away for this command. A dump of PostgreSQL is put back with pg_restore; then"
            " `fettle restore --since TIME` has GitHub deliver again what came after it."
        )
    asyncio.run(_restore(settings, file.expanduser()))


# --- encrypt ------------------------------------------------------------------------------------


def _make_key(settings: Settings) -> None:
    from cryptography.fernet import Fernet

    from app.config.settings import process_environment
    from app.secrets.files import keep_alone

    if process_environment().get(KEYS, "").strip():
        raise ConfigError(
            f"{KEYS} is set, and a variable wins over what this command would write. Make a key"
            " with `openssl rand -base64 32 | tr +/ -_`, and put it in front of the others"
            " wherever the server gets the variable."
        )
    settings.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    keys = [Fernet.generate_key().decode()]
    keys += [key.get_secret_value() for key in settings.encryption_keys]
    where = keep_alone(settings.data_dir, KEYS, ",".join(keys))
    say(
        f"A new key is in `{where}`. Copy that file to a safe place: without it nobody reads the"
        " texts again. Restart the server, then run `fettle encrypt` for what is there already."
    )


async def _encrypt(settings: Settings, *, undo: bool) -> None:
    from app.cli.storage.database_lock import hold_database
    from app.cli.storage.databases import known_places

    found = known_places(settings)
    if not found:
        say("There is no database yet: whatever is written will be sealed.")
    for place in found:
        async with hold_database(settings, place) as (database, alone):
            if undo and not alone:
                raise ConfigError("A server is at work, and seals what it writes. Stop it first.")
            await _reencrypt(database, place, alone=alone, undo=undo)
    if undo and found:
        say(f"Now take {KEYS} away, before the server is started again.")


async def _reencrypt(database: Database, place: RunDatabase, *, alone: bool, undo: bool) -> None:
    from app.cli.storage.database_lock import Rewritten, at_work, rewrite_database
    from app.secrets.encryption import OPEN
    from app.store.encryption.keys import find_outdated_workers, forget_others
    from app.store.encryption.reencrypt import reencrypt

    to = OPEN if undo else place.cipher
    late = [] if alone else await database.read(lambda c: find_outdated_workers(c, to))
    if names := ", ".join(await at_work(place, late)):
        raise ConfigError(
            f"The server {names} was last started without the newest key, and goes on storing"
            " otherwise. Restart it with the same keys as this command has, then run this again."
        )
    changed = await reencrypt(database, to)
    done = await rewrite_database(database, alone=alone)
    await database.write(lambda c: forget_others(c, to))
    how = "plain text again" if undo else "sealed with the newest key"
    say(f"{place.name}: {changed} texts rewritten; all of them are {how}.")
    if done is Rewritten.LATER:
        say(
            "The file is large, and a server is at work. Parts of it that are not in use may still"
            " hold texts as they were: run this once more while the server is stopped."
        )
    elif done is Rewritten.BUSY:
        say("Somebody holds up the database's file. Run this again to empty its log.")


# --- backup, restore ----------------------------------------------------------------------------


async def _back_up(settings: Settings, file: Path, *, with_secrets: bool) -> None:
    from app.cli.storage.databases import known_places, open_database
    from app.maintenance.backup import back_up

    if not settings.database.startswith("sqlite"):
        raise ConfigError(WITH_POSTGRESQL)
    place = next((each for each in known_places(settings) if not each.clone), None)
    if place is None:
        raise ConfigError(f"There is no database in `{settings.data_dir}` yet.")
    with open_database(place) as database:
        done = await back_up(database, settings.data_dir, file, with_secrets=with_secrets)
    under_way = f"{done.live} runs under way" if done.live else "no run under way"
    guard = " It holds the secrets: guard it like them." if with_secrets else ""
    keys = (
        f" Its texts are sealed: it is of use with the keys in {KEYS} alone."
        if place.cipher and not with_secrets
        else ""
    )
    say(f"The backup is whole, with {under_way}: `{file}`.{guard}{keys}")


async def _restore(settings: Settings, file: Path) -> None:
    from app.maintenance.restore import restore as restoring

    done = await restoring(file, settings.data_dir, group=settings.sandbox_uid)
    secrets = "" if done.secrets else " Secrets were not in it."
    say(
        f"Restored into `{settings.data_dir}`, with {done.live} runs under way.{secrets} Run"
        f" `fettle doctor`, then `fettle serve`. {_spell_time(done.made_at)}"
    )


async def _put_back_by_others(settings: Settings, since: float) -> None:
    from app.cli.storage.database_lock import hold_database
    from app.cli.storage.databases import known_places
    from app.store.restore_recovery import put_back

    place = next((each for each in known_places(settings) if not each.clone), None)
    if place is None:
        raise ConfigError(f"There is no database in `{settings.data_dir}` yet.")
    async with hold_database(settings, place) as (database, alone):
        if not alone:
            raise ConfigError("A server is at work on the database. Stop it first.")
        await database.write(lambda c: put_back(c, since))
    say(f"Noted. Run `fettle serve`. {_spell_time(since)}")


def _moment(typed: str) -> float:
    """Return the time in unix seconds. Raises ConfigError for none, or one to come."""
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(typed.strip())
    except ValueError:
        found = None
    now = datetime.now(UTC)
    moment = found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
    if moment is None or moment > now:
        raise ConfigError(
            f"--since takes a time in the past, in UTC, like `{now:%Y-%m-%d %H:%M}`: when the dump"
            " or the snapshot was begun."
        )
    return moment.timestamp()


def _spell_time(since: float) -> str:
    """Return what becomes of that which arrived after the backup."""
    import time

    from app.reconcile.after_restore import gone_by

    asked = (
        "It then has GitHub deliver again all that arrived after the backup; what the lost server"
        " had finished stays as it is."
    )
    gone = gone_by(since, time.time())
    more = " Comments and reviews of that time have to be said again." if gone else ""
    return " ".join(part for part in (asked, f"{gone}{more}") if part)
