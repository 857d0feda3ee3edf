"""The manual of what keeps, hides, copies and deletes data: encrypt, forget, backup, restore."""

from __future__ import annotations

from collections.abc import Sequence

ENCRYPT = """
Seal every text in the database with the newest key: what people, models and tools said.

With --new-key a key is made first and put, in front of older ones, into the data folder's secrets;
restart the server, which from then on seals what it writes, and run this again for what is there
already. The same after a key was replaced: once all is sealed with the newest, the older ones can
be taken out of FETTLE_ENCRYPTION_KEYS. --undo makes all of it readable again; stop the server
first. A backup of the database without the keys is worth nothing: keep them somewhere else, too.

Not sealed are names, numbers and times, by which rows are found, and the mirrors of repositories.
"""

FORGET = """
Delete everything that is kept about a repository, now: runs, what was said in them, deliveries,
the mirror, work trees, installed dependencies.

Nothing on GitHub changes. While a run of it is under way that is refused; --cancel ends it first,
and the server tells people so. With no server at work nobody can, and it takes --untold as well.
Where the App is still installed there, what is labelled or asked for next starts anew.
"""

BACKUP = """
Write a backup of a server that may be at work, readable by its owner alone.

It holds the database as of one moment, and what runs under way have committed and not yet pushed.
Everything else can be fetched or made again. Secrets are in it with --with-secrets alone. It is for
SQLite; with PostgreSQL this tells what to save instead.
"""

RESTORE = """
Put a server back from a backup, into a data folder without a database.

Runs that were under way go on at the next `fettle serve`: approvals that waited can still be given.
Do not let the server that the backup is from go on as well: both would answer.

What GitHub delivered after the backup is asked for again: the server does that by itself, for as
far as GitHub keeps it, which is three days. What had been finished by then is found, and not done
twice. A database that was put back by other means, like a dump of PostgreSQL or a snapshot of a
disk, is told so with --since and the time at which the dump or the snapshot was begun.
"""

_ENVIRONMENT = (
    ("FETTLE_DATA_DIR", "the server's data folder"),
    ("FETTLE_DATABASE_URL", "the server's database, when it is not in that folder"),
    ("FETTLE_ENCRYPTION_KEYS", "what texts are sealed with, when not in the folder's secrets"),
)

SECTIONS: dict[str, dict[str, Sequence[tuple[str, str]]]] = {
    "encrypt": {
        "Examples": (
            ("fettle encrypt --new-key", "make a key; then restart the server"),
            ("fettle encrypt", "seal what is there, beside a running server"),
            ("fettle encrypt --undo", "back to plain text"),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "done"),
            ("2", "a person has to act first: no key, a server that has to be restarted"),
        ),
    },
    "forget": {
        "Examples": (
            ("fettle forget octo/lib", "shows what there is, then asks"),
            ("fettle forget octo/lib --cancel --yes", "in a script"),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "nothing of it is left here"),
            ("1", "not: you said no, or a run does not come to its end"),
            ("2", "a run is under way, or nothing is known of the repository"),
        ),
    },
    "backup": {
        "Examples": (
            ("fettle backup /backup/fettle.tgz", "while the server runs"),
            ("fettle backup fettle.tgz --with-secrets", "then guard it like a key"),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "the file is whole"),
            ("2", "it could not be written; nothing is left"),
        ),
    },
    "restore": {
        "Examples": (
            ("FETTLE_DATA_DIR=/srv/fettle fettle restore fettle.tgz", ""),
            ('fettle restore --since "2026-03-01 04:00"', "after pg_restore, the server stopped"),
        ),
        "Environment": _ENVIRONMENT,
        "Exit codes": (
            ("0", "restored"),
            ("2", "there is data already, it is no backup, or a server is at work"),
        ),
    },
}
