"""Makes the fixture of test_upgrade.py: what a server leaves behind that is killed amid four runs.

It was made once, by the code of commit 134d57c (Fettle 0.1.0), and has to stay as that made it. For
another version give it another name, check that version out with this folder in it, and there, as
root (the sandbox's files keep their owner):

    faketime '2024-01-01' .venv/bin/pytest -q -n 0 tests/flows/upgrade/make_fixture.py

The clock is set back for machines whose own is behind: the id of a run says when it was asked for,
and what people say counts for runs that they could know of.

It uses the flows' harness and nothing below it, but for what the local GitHub holds, which is
written down as the events that led there, in the order of their ids. In the archive:

    github.json   the events on GitHub, the moment of the kill, the address that GitHub had
    calc.bundle   the repository as GitHub has it
    data/         the data folder, as `kill -9` left it: the database with its log, mirrors, runs
"""

from __future__ import annotations

import asyncio
import io
import json
import lzma
import sqlite3
import tarfile
import time
from pathlib import Path

from app.simulator.github.gitdir import GitDir
from tests.flows.conftest import PATIENCE
from tests.flows.upgrade import story
from tests.flows.upgrade.left_behind import BUNDLE, DATA, FIXTURE, GITHUB

LEFT_OUT = {"server.log", "app.pem", "fettle.db.lock", "fettle.db-shm"}
"""What the server's next start, or SQLite, makes by itself; the App gets another key."""
ROOT = Path(__file__).resolve().parents[3]


async def test_make_the_fixture(make_place):
    first, *others = story.ISSUES.values()
    async with make_place(issue=(first, story.BODY)) as place:
        issues = [place.issue, *[await place.file(title, story.BODY) for title in others]]
        for issue, (name, stands) in zip(issues, STANDS.items(), strict=True):
            place.model.play(story.script_before(name))
            await place.label(issue=issue)
            await wait_until(place, stands, issue)
        moment = time.time()
        await place.server.kill()
        parts = {
            GITHUB: json.dumps(read_story(place, moment), indent=1).encode(),
            BUNDLE: await GitDir(place.repository.gitdir).run(
                "bundle", "create", "--quiet", "-", "--all"
            ),
        }
        write(FIXTURE, parts, place.server.data)
    print(f"\n{FIXTURE}: {FIXTURE.stat().st_size} bytes")


# --- where each run is when the server dies -----------------------------------------------------


async def wait_until(place, stands, issue):
    async with asyncio.timeout(PATIENCE):
        while not await stands(place, issue):
            await asyncio.sleep(0.05)


async def asks_for_approval(place, issue):
    return await rests(place, issue) and says(issue, "**Waiting for a decision.**")


async def asks_a_question(place, issue):
    return await rests(place, issue) and says(issue, "**Waiting for an answer on the issue.**")


async def writes_the_words(place, issue):
    return at_turn_two(place, story.DESCRIBED) and says(issue, "key=progress")


async def writes_a_test(place, issue):
    """Wait until a tree was recorded beside a turn of the stage: the checkpoint."""
    trees = "SELECT count(*) FROM turns WHERE session = 'implement/2' AND tree IS NOT NULL"
    if not at_turn_two(place, story.SECOND) or not says(issue, "key=progress"):
        return False
    with sqlite3.connect(place.server.data / "fettle.db") as connection:
        return connection.execute(trees).fetchone()[0] > 0


STANDS = {
    "approval": asks_for_approval,
    "answer": asks_a_question,
    "words": writes_the_words,
    "step": writes_a_test,
}


async def rests(place, issue):
    [run] = [run for run in await place.runs() if run.number == issue.number] or [None]
    if run is None or run.state != "parked":
        return False
    return not (place.server.data / "runs" / run.id).exists()


def says(issue, text):
    return any(text in comment.body for comment in issue.comments)


def at_turn_two(place, part):
    asked = [(each.part, each.turn) for each in place.model.requests if not each.answered]
    return (part["when"], 2) in asked


# --- what GitHub holds --------------------------------------------------------------------------


def read_story(place, moment):
    """Return what happened on GitHub, and when the server died."""
    happened = [*of_the_place(place)]
    for issue in place.repository.issues.values():
        happened += of_issue(issue)
    return {
        "killed_at": moment,
        "url": place.github.url,
        "events": sorted(happened, key=lambda event: event["id"]),
    }


def of_the_place(place):
    app = place.github.world.apps[place.app.app_id]
    repository = place.repository
    for account in place.github.world.accounts.values():
        if account.login in place.people or account is repository.owner:
            yield event(account.kind, account, login=account.login)
    roles = {login: repository.role_of(who).name for login, who in place.people.items()}
    owner = repository.owner.login
    yield event("repository", repository, name=repository.name, owner=owner, roles=roles)
    yield event("app", app.bot, slug=app.slug, app_id=app.id)
    yield from (event("installation", each) for each in place.github.world.installations.values())
    for label in repository.labels.values():
        if label.name.startswith("bot:"):
            yield event("new label", label, name=label.name, color=label.color)


def of_issue(issue):
    number = issue.number
    by = issue.author.account.login
    yield event("issue", issue, number=number, title=issue.title, body=issue.body, by=by)
    yield from (to_event(each, number, None) for each in issue.reactions)
    for line in issue.timeline:
        assert line.event == "labeled", f"test_upgrade.py cannot do this again: {line.event}"
        by = line.actor.account.login
        yield event("label", line, number=number, name=line.label.name, by=by)
    for each in issue.comments:
        by = each.author.account.login
        yield event("comment", each, number=number, body=each.body, by=by)
        yield from (to_event(face, number, each.id) for face in each.reactions)


def to_event(reaction, number, comment):
    by, content = reaction.user.login, reaction.content
    return event("reaction", reaction, number=number, comment=comment, content=content, by=by)


def event(what, thing, **more):
    return {"id": thing.id, "what": what, "at": thing.created_at.timestamp(), **more}


# --- the archive --------------------------------------------------------------------------------


def write(fixture, parts, data):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        archive.add(data, DATA, filter=filter_member)
    assert str(ROOT).encode() not in packed.getvalue()
    fixture.write_bytes(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def filter_member(info):
    info.uname = info.gname = ""  # the numbers say whose it is, on any machine
    info.mtime = 0
    return None if Path(info.name).name in LEFT_OUT else info
