"""`fettle receive` and `fettle redeliver` as they are typed: one delivery, by hand."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.cli import deliveries
from app.config.settings import load_settings
from app.operator import redeliver as redelivered
from app.store.database import Database
from tests.app.github.conftest import LABEL, key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures, shared with the tests of the client


@pytest.fixture
def payload(sender, tmp_path):
    """Return a function that writes a payload into a file."""

    def write(**changes):
        file = tmp_path / "payload.json"
        file.write_text(json.dumps(sender.payload(**changes)))
        return str(file)

    return write


@pytest.fixture
def rows(tmp_path):
    """Return a function that reads the inbox of a server that ran here once."""
    made = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    made.migrate()
    made.close()

    def read():
        with sqlite3.connect(tmp_path / "fettle.db") as connection:
            found = connection.execute("SELECT id, event, state FROM deliveries").fetchall()
        connection.close()
        return found

    return read


def test_dry_it_shows_what_would_come_of_it_and_writes_nothing(fettle, payload, rows):
    code, out, err = fettle("receive", "issues", payload(), "--dry-run")
    assert code == 0
    assert out.splitlines() == [
        "The door: 202 accepted",
        "The front desk: resolve_issue on octo/hello#1 for maintainer: It is broken",
    ]
    assert err == "Nothing was written.\n"
    assert rows() == []


def test_it_waits_in_the_inbox_like_a_delivery(fettle, payload, rows):
    file = payload()
    _, _, err = fettle("receive", "issues", file)
    [(ident, event, state)] = rows()
    assert (event, state) == ("issues", "received")
    assert ident in err
    fettle("receive", "issues", file)
    assert len(rows()) == 2  # asked twice, it is meant twice


def test_as_json(fettle, payload, rows):
    code, out, _ = fettle("receive", "issues", payload(), "--json")
    told = json.loads(out)
    assert code == 0
    assert told["door"] == {"status": 202, "text": "accepted"}
    assert [each["kind"] for each in told["asked"]] == ["resolve_issue"]
    assert (told["ignored"], told["delivery"]) == (None, rows()[0][0])


def test_from_standard_input(fettle, payload, monkeypatch, rows):
    body = Path(payload()).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(body)))
    assert fettle("receive", "issues", "-")[0] == 0
    assert len(rows()) == 1


@pytest.mark.parametrize(
    ("event", "changes", "told"),
    [
        ("issues", {"action": "assigned"}, "The door: 204"),
        ("issues", {"sender": {"id": 5, "login": "x[bot]", "type": "Bot"}}, "The door: 204"),
        ("ping", {}, "The door: 200 pong"),
        ("issues", {"label": {"name": "bug"}}, "nothing, the label is not bot:resolve"),
        ("issues", {"installation": None}, "nothing, the delivery names no installation"),
    ],
)
def test_what_asks_for_nothing(fettle, payload, event, changes, told):
    code, out, err = fettle("receive", event, payload(**changes))
    assert code == 0
    assert told in out
    assert err == "Nothing comes of it.\n"  # and there is no database that it could be in


@pytest.mark.parametrize(
    ("event", "near"), [("star", ""), ("issue", "; `issues` is near"), ("pull_requests", "; `pull")]
)
def test_an_event_that_nothing_handles_is_named(fettle, payload, event, near):
    code, out, err = fettle("receive", event, payload())
    assert code == 0
    assert "The door: 204" in out
    assert err.startswith(f"Fettle asks GitHub for no event `{event}`{near}")
    assert err.endswith(". Nothing comes of it.\n")


@pytest.mark.parametrize("event", ["fettle.terminal", "Issues", "is sues", ""])
def test_no_event_but_githubs_own_are_let_in(fettle, payload, rows, event):
    code, _, err = fettle("receive", event, payload())
    assert code == 1
    assert "does not look like one of GitHub's" in err
    assert rows() == []


def test_a_payload_of_another_shape_is_told_by_its_places_not_by_its_values(fettle, payload):
    code, out, err = fettle("receive", "issues", payload(sender={"id": "hush-hush", "login": "x"}))
    assert (code, out) == (1, "")
    assert "sender.id" in err
    assert "hush" not in err


def test_what_nobody_can_see_is_written_out(fettle, payload, rows):
    issue = {
        "number": 7,
        "title": "Mend\u202e it\x1b[2J",
        "user": {"id": 7, "login": "author"},
        "html_url": "https://github.com/octo/hello/issues/7",
    }
    _, out, _ = fettle("receive", "issues", payload(issue=issue), "--dry-run")
    assert "Mend" in out
    assert not {"\x1b", "\u202e"} & set(out)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (["receive", "issues", "/nowhere.json"], "No such file"),
        (["redeliver", "a b"], "is no X-GitHub-Delivery"),
        (["redeliver", "72d3162e"], "FETTLE_APP_ID"),
    ],
)
def test_what_a_person_has_to_mend(fettle, said, told):
    code, out, err = fettle(*said)
    assert (code, out) == (2, "")
    assert told in err


def test_without_a_database_it_says_so(fettle, payload):
    code, _, err = fettle("receive", "issues", payload())
    assert code == 2
    assert "There is no database" in err


# --- redeliver ------------------------------------------------------------------------------------


@pytest.fixture
async def receiver(scene, aiohttp_server):
    """Answer webhooks with the last of these."""
    answers = [(500, "")]

    async def take(request):
        await request.read()
        status, text = answers[-1]
        return web.Response(status=status, text=text)

    app = web.Application()
    app.router.add_post("/webhook", take)
    url = str((await aiohttp_server(app)).make_url("/webhook"))
    await scene.server.set_webhook(scene.app.app_id, url, "s3cret")
    return answers


@pytest.fixture
def settings(scene, key, tmp_path, monkeypatch):
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    given = {
        "FETTLE_APP_ID": str(scene.app.app_id),
        "FETTLE_PRIVATE_KEY": pem.decode(),
        "FETTLE_WEBHOOK_SECRETS": "s3cret",
        "FETTLE_GITHUB_URL": scene.server.url,
        "FETTLE_DATA_DIR": str(tmp_path / "data"),
    }
    monkeypatch.setattr(redelivered, "LOOK_SECONDS", 0.05)
    return load_settings(given, serving=False)


@pytest.mark.parametrize(("status", "text", "code"), [(202, "accepted", 0), (503, "full", 1)])
async def test_it_shows_what_the_server_answers(
    scene, receiver, settings, capsys, *, status, text, code
):
    mallory, bob = scene.people["mallory"], scene.people["bob"]
    issue = await scene.server.create_issue(scene.repository, mallory, "Lost")
    [lost] = await scene.server.label_issue(scene.repository, issue.number, LABEL, bob)
    receiver.append((status, text))
    assert await deliveries._redeliver(settings, lost.guid) == code
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("issues.labeled, last tried ")
    assert first.endswith(": answered 500")
    assert second == f"Delivered again: answered {status} {text}"


async def test_one_that_github_does_not_have(scene, receiver, settings, capsys):
    assert await deliveries._redeliver(settings, "72d3162e-cc78") == 1
    assert "no such delivery" in capsys.readouterr().err
    assert scene.calls("POST", "/attempts") == []
