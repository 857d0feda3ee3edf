"""Where this machine keeps its runs: the databases, and the mirrors with what they made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agents.errors import ConfigError, TransientError
from app.cli.terminal import say

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.git import Mirror
    from app.secrets.encryption import Cipher
    from app.store.database import Database

T = TypeVar("T")

# ruff: noqa: PLC0415 - imports of seconds wait until they are needed, so that `--help` is quick


@dataclass(frozen=True)
class RunDatabase:
    """A database with runs."""

    url: str
    folder: Path
    """The folder that it belongs to: a server's data, or one run on a clone."""
    clone: bool
    cipher: Cipher

    @property
    def name(self) -> str:
        """Return what to call it; the URL of a server may hold a password."""
        return f"`{self.folder}`" if self.url.startswith("sqlite") else "FETTLE_DATABASE_URL"

    def mirror(self, repository_id: int) -> Mirror | None:
        """Return the mirror of a repository, if this machine has one."""
        from app.clone.run_folder import MIRROR
        from app.git import Mirror, Mirrors

        if self.clone:
            found = Mirror(self.folder / MIRROR)
        else:  # only a new one would be given to a group
            found = Mirrors(self.folder / "mirrors", group=-1).open_mirror(repository_id)
        return found if (found.gitdir / "HEAD").is_file() else None


def list_places(settings: Settings, file: Path | None) -> list[RunDatabase]:
    """Return the places to look in. Raises ConfigError when there is none."""
    if file is None:
        if found := known_places(settings):
            return found
        raise ConfigError(
            f"There is no database in `{settings.data_dir}`. Set FETTLE_DATA_DIR, or"
            " FETTLE_DATABASE_URL, to what the server is started with."
        )

    from app.maintenance.clone_folders import DATABASE

    if not file.is_file():
        raise ConfigError(f"`{file}` is no file. Name the database of a run or of the server.")
    file = file.absolute()
    clone = file.name == DATABASE
    return [RunDatabase(f"sqlite:///{file}", file.parent, clone=clone, cipher=settings.cipher)]


def known_places(settings: Settings) -> list[RunDatabase]:
    """Return the places that the settings name, and that are there."""
    from sqlalchemy import make_url

    from app.maintenance.clone_folders import CLONES, DATABASE

    data = settings.data_dir
    cipher = settings.cipher
    server = [RunDatabase(settings.database, data, clone=False, cipher=cipher)]
    url = make_url(settings.database)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        server = []  # nothing was ever served from here; looking must not make a database
    # Those of runs that failed as well: nothing else tells what became of them.
    found = sorted((data / CLONES).glob(f"*/{DATABASE}"))
    clones = (
        RunDatabase(f"sqlite:///{path}", path.parent, clone=True, cipher=cipher) for path in found
    )
    return [*server, *clones]


@contextmanager
def open_database(place: RunDatabase) -> Iterator[Database]:
    """Open the database for a while. Raises ConfigError when it does not do its part."""
    from sqlalchemy.exc import DBAPIError

    from app.store.database import Database
    from app.store.encryption.keys import require_keys

    database = Database(place.url, place.cipher)
    try:
        with database.engine.connect() as connection:
            require_keys(connection, place.cipher)
        yield database
    except (TransientError, DBAPIError) as error:
        said = str(error) if isinstance(error, TransientError) else f"{error.orig}"
        raise ConfigError(
            f"The database of {place.name} cannot be read: {said}\nIs it of this version of Fettle?"
            " Starting the server brings its own up to date."
        ) from error
    finally:
        database.close()


async def of_each(
    found: Sequence[RunDatabase], ask: Callable[[Database], Awaitable[T]]
) -> list[tuple[RunDatabase, T]]:
    """Return what each database answers; one that cannot be read is named and left out.

    Raises ConfigError when none can be read.
    """
    told, troubles = [], []
    for place in found:
        try:
            with open_database(place) as database:
                told.append((place, await ask(database)))
        except ConfigError as error:
            troubles.append(error)
    if troubles and not told:
        raise troubles[0]
    for trouble in troubles:
        say(str(trouble))
    return told
