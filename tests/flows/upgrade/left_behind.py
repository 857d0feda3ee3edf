"""Puts back what the fixture holds: a data folder, and the GitHub that belongs to it.

It is as if the earlier version had been killed an hour ago and had known this GitHub by its present
address: nobody's approval waits for years, and here GitHub listens somewhere else each time.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from backports import tarfile

from app.simulator.github import LocalGitHub
from app.simulator.github.accounts import Actor
from app.simulator.github.gitdir import GitDir

FIXTURE = Path(__file__).with_name("fettle-0.1.0.tar.xz")
DATA, GITHUB, BUNDLE = "data", "github.json", "calc.bundle"
DOWN = 3600.0
"""Seconds for which the server was down."""
SECONDS, MILLISECONDS = (10**9, 10**10), (10**12, 10**13)
"""Between which numbers a stored one is a moment."""
MOMENT = re.compile(r"(?<![\w.])1\d{9}\.\d+(?![\w.])")


def unpack(root):
    """Lay out what the archive holds, with modes and owners as they were, and as of now."""

    def fresh(info, path):
        return tarfile.tar_filter(info, path).replace(mtime=time.time(), deep=False)

    with tarfile.open(FIXTURE) as archive:
        archive.extractall(root, filter=fresh)


# --- the database -------------------------------------------------------------------------------


def adapt(path, seconds, old, new):
    """Have all in the database be so much later, and GitHub at its new address."""
    with closing(sqlite3.connect(path)) as database, database:
        _move(database, old, new)
        _bring_forward(database, round(seconds))


def _move(database, old, new):
    for table, column in _columns(database, "TEXT"):
        update = f"UPDATE {table} SET {column} = replace({column}, ?, ?) WHERE instr({column}, ?)"
        database.execute(update, (old, new, old))


def _bring_forward(database, seconds):
    """Change every column of moments, ours and the engine's, and those that a step recorded."""
    for table, column in _columns(database, "INT", "FLOAT", "REAL"):
        for (low, high), by in ((SECONDS, seconds), (MILLISECONDS, seconds * 1000)):
            update = f"UPDATE {table} SET {column} = {column} + ? WHERE {column} BETWEEN ? AND ?"
            database.execute(update, (by, low, high))

    def shift(text):
        return text and MOMENT.sub(lambda moment: str(float(moment[0]) + seconds), text)

    database.create_function("later", 1, shift)
    database.execute("UPDATE operation_outputs SET output = later(output)")


def _columns(database, *kinds):
    """Return the columns of these kinds, with their tables, as SQL names them."""
    query = (
        "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' ORDER BY 1, 2"
    )
    every = database.execute(query).fetchall()
    fitting = [each for each in every if any(kind in each[2].upper() for kind in kinds)]
    return [(f'"{table}"', f'"{column}"') for table, column, _ in fitting]


# --- GitHub -------------------------------------------------------------------------------------


@dataclass
class Replay:
    """Has a GitHub live through what another one did, under the same ids; tells nobody of it."""

    github: LocalGitHub
    root: Path
    seconds: float
    """How much later everything happens."""
    app: Any = None
    repository: Any = None

    async def play(self, told):
        """Do all of it in the order in which it was done."""
        world = self.github.world
        for event in told["events"]:
            world.ids = itertools.count(event["id"])
            at = datetime.fromtimestamp(event["at"] + self.seconds, UTC)
            world.clock_skew = at - datetime.now(UTC)
            what = event["what"]
            made = await (
                self._setting(what, event) if what in SETTING else self._replay_issue(event)
            )
            assert made.id == event["id"], f"it has another id than {event}"
        world.ids = itertools.count(told["events"][-1]["id"] + 100)
        world.clock_skew = timedelta()

    async def _setting(self, what, event):
        """Make what all the rest happens in."""
        github = self.github
        match what:
            case "User":
                return github.create_user(event["login"])
            case "Organization":
                return github.create_organization(event["login"])
            case "repository":
                return await self._repository(event)
            case "app":
                self.app = github.create_app(event["slug"])
                assert self.app.app_id == event["app_id"]
                return self._find_account(self.app.bot_login)
            case "installation":
                return await github.install(self.app.app_id, [self.repository])
            case "new label":
                return github.create_label(self.repository, event["name"], event["color"])

    async def _repository(self, event):
        """Make a repository with the commits that it had."""
        made = await self.github.create_repository(
            self._find_account(event["owner"]), event["name"]
        )
        bundle = str(self.root / BUNDLE)
        await GitDir(made.gitdir).run("fetch", "--quiet", bundle, "+refs/*:refs/*")
        for login, role in event["roles"].items():
            self.github.set_role(made, self._find_account(login), role)
        self.repository = made
        return made

    async def _replay_issue(self, event):
        """Do what somebody did on an issue."""
        github, who, number = self.github, self._find_account(event["by"]), event["number"]
        through = github.world.apps[self.app.app_id] if who.kind == "Bot" else None
        match event["what"]:
            case "issue":
                return await github.create_issue(
                    self.repository, who, event["title"], event["body"]
                )
            case "label":
                await github.label_issue(self.repository, number, event["name"], who)
                return self.repository.issues[number].timeline[-1]
            case "comment":
                return await github.comment(
                    self.repository, number, who, event["body"], through=through
                )
            case "reaction":
                issue, on = self.repository.issues[number], event["comment"]
                written = self.repository.comment(on) if on else issue
                actor = Actor(who, through)
                return github.parts.issues.react(written, actor, event["content"])[0]

    def _find_account(self, login):
        return self.github.world.account(login)


SETTING = {"User", "Organization", "repository", "app", "installation", "new label"}
