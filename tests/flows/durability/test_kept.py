"""What is kept of a run: sealed on disk, in a backup that goes on, and nowhere once forgotten."""

from __future__ import annotations

import json
import os
import stat

import pytest
from cryptography.fernet import Fernet

from app.secrets.encryption import Cipher
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from tests.flows.approvals.test_approval_commands import questions
from tests.flows.conftest import CHECKED
from tests.flows.forked import call_fettle
from tests.flows.scripted import CURE, SHORT_PARTS, step, usual

WORDS = ("c4n4ry-issue", "c4n4ry-answer", "c4n4ry-output", "c4n4ry-approval", "c4n4ry-denied")
ISSUE = ("It adds one too many", f"`calc.add(1, 1)` gives 3. {WORDS[0]}")
CALL = {"bash": {"command": f"git reset --hard HEAD~1 || echo {WORDS[3]}"}}
FILES = CHECKED | {"notes.md": f"{WORDS[2]}\n"}


def story():
    """The model says one word, and a tool returns another, before it asks for a third."""
    only = step([CALL], CURE)
    only["turns"].insert(0, {"say": WORDS[1], "call": [{"bash": {"command": "cat notes.md"}}]})
    return usual(*SHORT_PARTS, only)


async def fettle(place, *args, **variables):
    """Run a command of the operator; return exit code and what it said."""
    own = {**place.server.environment(place.app), "PATH": os.environ["PATH"], **variables}
    code, *told = await call_fettle(*args, environment=own)
    return code, " ".join(" ".join(told).split())


def find_words(folder, words=WORDS, leave_out=("server.log",)):
    """Return which of the words are in the bytes of any file, and where."""
    hits = set()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.name not in leave_out:
            data = path.read_bytes()
            hits |= {(word, path.name) for word in words if word.encode() in data}
    return hits


def in_database(folder, words=WORDS):
    return {hit for hit in find_words(folder, words) if hit[1].startswith("fettle.db")}


@pytest.fixture
def told():
    return story()


async def test_sealed_backed_up_restored_and_gone_on_with(make_place, told):
    key = Fernet.generate_key().decode()
    sealed = {"FETTLE_ENCRYPTION_KEYS": key, "FETTLE_LOG_FORMAT": "json"}
    async with make_place(files=FILES, issue=ISSUE, script=told, **sealed) as place:
        await place.label()
        _, [ident] = await questions(place)
        run_id = await place.wait_for_parked()
        assert not in_database(place.server.data)

        backup = place.server.data.parent / "fettle.tgz"
        code, said = await fettle(place, "backup", str(backup))
        assert (code, "1 runs under way" in said) == (0, True), said
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        assert [path.name for path in backup.parent.glob(".*")] == []
        lines_are_about(place.server.log, run_id)

        await place.server.stop()
        first = place.server.data
        place.server.data = first.parent / "restored"
        bare = {"FETTLE_PRIVATE_KEY_FILE": ""}
        code, said = await fettle(place, "restore", str(backup), **bare)
        assert code == 0, said
        code, said = await fettle(place, "restore", str(backup), **bare)
        assert (code, "is there already" in said) == (2, True), said
        code, said = await fettle(place, "runs", FETTLE_ENCRYPTION_KEYS="", **bare)
        assert code == 2
        assert "sealed with a key which this process was not given" in said

        await place.server.start(place.app)
        code, said = await fettle(place, "deny", ident, WORDS[4], "--yes")
        assert code == 0, said
        [run] = await place.all_done(1)
        assert run.id == run_id
        assert len(place.pulls()) == 1
        assert not in_database(place.server.data)
        database = Database(place.server.database_url, Cipher([key]))
        place.databases.append(database)
        assert (await StoredApprovals(database).get(ident)).reason == WORDS[4]


def lines_are_about(log, run_id):
    """Each line of a run says which delivery, installation, repository, run; and at which stage."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    of_run = [line for line in lines if line.get("run") == run_id]
    inside = [line for line in of_run if line["message"] != "dispatched"]
    assert inside, lines
    for line in inside:
        assert line["delivery"] == run_id.split("-", 1)[1]
        assert line["repository"] == "octo-org/calc"
        assert isinstance(line["installation"], int)
    stages = {line["stage"] for line in inside if "stage" in line}
    assert any(stage.startswith("stage/") for stage in stages), inside
    [dispatched] = [line for line in of_run if line["message"] == "dispatched"]
    assert {"delivery", "event", "installation"} <= dispatched.keys()


async def test_forgotten_beside_a_running_server(make_place, told):
    async with make_place(files=FILES, issue=ISSUE, script=told) as place:
        await place.label()
        await questions(place)
        run_id = await place.wait_for_parked()
        data = place.server.data
        assert {word for word, _ in in_database(data)} >= set(WORDS[:4]), "it would be found"

        code, said = await fettle(place, "forget", "octo-org/calc", "--yes")
        assert code == 2
        assert "1 of its runs is under way" in said
        code, said = await fettle(place, "forget", "octo-org/CALC", "--yes", "--cancel")
        assert code == 0, said
        assert "Forgotten: 1 runs" in said
        assert await place.runs() == []
        assert find_words(data) == set()
        assert find_words(data, [run_id]) == set()
        assert not (data / "mirrors" / f"{place.repository.id}.git").exists()

        await place.label_again("mara")  # it still serves
        assert await place.wait_for_parked() != run_id

        await place.server.stop()
        code, said = await fettle(place, "forget", "octo-org/calc", "--yes", "--cancel")
        assert (code, "No server is at work that could tell people" in said) == (2, True), said
        assert len(await place.runs()) == 1
        code, said = await fettle(place, "forget", "octo-org/calc", "--yes", "--cancel", "--untold")
        assert (code, "Forgotten: 1 runs" in said) == (0, True), said
        code, said = await fettle(place, "forget", "octo-org/calc", "--yes")
        assert (code, "Forgotten: 0 runs and 0 deliveries" in said) == (0, True), said
