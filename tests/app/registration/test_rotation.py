"""The webhook secret is replaced, cut off at any step: no delivery of GitHub is refused."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys

import pytest

from agents.errors import ConfigError, DeliveryError
from app.cli import main
from app.github.transport.client import GitHub
from app.observability.metrics import Metrics
from app.registration.reload_secrets import SecretReloader
from app.registration.rotation import (
    RECORD,
    begin,
    finish,
    finish_if_due,
    rotate,
    rotation_in,
    secrets_in,
)
from app.secrets.files import app_folder, keep_app, keep_of_app
from app.secrets.redaction import Redactor
from app.simulator.github import LocalGitHub
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import OwnIdentity, WebhookReceiver
from app.webhooks.server import Readiness, build_server, start_server
from tests.deploy.conftest import ROOT
from tests.patience import PATIENCE

OLD, WINDOW = "the-old-secret, with a comma", 300.0


class RotationKilled(BaseException):
    """Stands for kill -9."""


@pytest.fixture
async def github(tmp_path):
    started = await LocalGitHub.start(tmp_path / "github")
    yield started
    await started.stop()


@pytest.fixture
def app(github):
    events = ("issues", "issue_comment")
    return github.create_app("fettle", webhook_secret=OLD, events=events)


@pytest.fixture
def data(tmp_path, github, app):
    folder = tmp_path / "data"
    folder.mkdir()
    values = {
        "FETTLE_APP_ID": str(app.app_id),
        "FETTLE_PRIVATE_KEY": app.private_key,
        "FETTLE_WEBHOOK_SECRETS": json.dumps([OLD]),
        "FETTLE_GITHUB_URL": github.url,
    }
    keep_app(folder, values)
    return folder


def watch_of(data, key, redactor=None):
    return SecretReloader(data, redactor or Redactor(), secrets=[OLD], key=key)


async def tell_nobody(_secret):
    return None


async def dies(_secret):
    raise RotationKilled


# --- step by step -------------------------------------------------------------------------------


async def test_both_are_accepted_before_github_hears_of_it(data):
    seen = []

    async def tell(secret):
        seen.append((secret, secrets_in(data)))

    await rotate(data, tell, window=WINDOW, now=1000.0)
    [(new, accepted)] = seen
    assert accepted == [new, OLD]
    assert rotation_in(data).until == 1000.0 + WINDOW
    for path in app_folder(data).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not path.name.startswith(".")
    assert new not in (app_folder(data) / RECORD).read_text()


async def test_killed_before_or_after_github_heard_it_goes_on_with_the_same_secret(data):
    with pytest.raises(RotationKilled):
        await rotate(data, dies, window=WINDOW, now=1000.0)
    new, old = secrets_in(data)
    assert old == OLD
    told = []

    async def tell(secret):
        told.append(secret)

    with pytest.raises(ConfigError, match="goes on where it was stopped"):
        finish(data)
    assert not finish_if_due(data, 10**12), "GitHub may sign with the old one still"
    await rotate(data, tell, window=WINDOW, now=2000.0)
    assert told == [new]
    assert secrets_in(data) == [new, OLD]


def test_killed_between_its_two_files_nothing_is_left_over(data, monkeypatch):
    begin(data)
    (app_folder(data) / "FETTLE_WEBHOOK_SECRETS").write_text(json.dumps([OLD]))  # was not written
    assert len(set(secrets_in(data)) | {begin(data)}) == 2
    assert len(secrets_in(data)) == 2


def test_what_a_killed_writer_left_is_taken_away(data):
    left = app_folder(data) / ".FETTLE_WEBHOOK_SECRETS-123456"
    left.write_text("half of a sec")
    begin(data)
    assert not left.exists()


async def test_the_old_one_goes_when_its_time_is_over_and_not_before(data):
    await rotate(data, tell_nobody, window=WINDOW, now=1000.0)
    new = secrets_in(data)[0]
    assert not finish_if_due(data, 1000.0 + WINDOW - 1)
    with pytest.raises(ConfigError, match="accepted until 1970-01-01 00:21 UTC"):
        await rotate(data, tell_nobody, window=WINDOW, now=1001.0)
    assert finish_if_due(data, 1000.0 + WINDOW)
    assert secrets_in(data) == [new]
    assert rotation_in(data) is None
    await rotate(data, tell_nobody, window=WINDOW, now=9000.0)
    assert secrets_in(data)[1:] == [new]


async def test_killed_between_dropping_and_noting_it(data):
    await rotate(data, tell_nobody, window=WINDOW, now=1000.0)
    record = (app_folder(data) / RECORD).read_text()
    assert finish(data) == 1
    (app_folder(data) / RECORD).write_text(record)
    (app_folder(data) / RECORD).chmod(0o600)
    assert finish(data) == 0
    assert len(secrets_in(data)) == 1


# --- the server's door --------------------------------------------------------------------------


def test_a_stranger_causes_no_reading(data, app, sender):
    watch = watch_of(data, app.private_key)
    receiver = WebhookReceiver([OLD], OwnIdentity(), renewed=watch.new_secrets)
    new = begin(data)
    headers, body = sender.make(secret=new)
    assert receiver.admit(headers, body).event == "issues"
    (app_folder(data) / "FETTLE_WEBHOOK_SECRETS").chmod(0)  # a look at its content would tell
    with pytest.raises(DeliveryError):
        receiver.admit(*sender.make(secret="a guess"))
    assert receiver.admit(*sender.make(secret=OLD))


def test_a_file_that_others_may_read_changes_nothing(data, app, sender):
    watch = watch_of(data, app.private_key)
    receiver = WebhookReceiver([OLD], OwnIdentity(), renewed=watch.new_secrets)
    new = begin(data)
    (app_folder(data) / "FETTLE_WEBHOOK_SECRETS").chmod(0o644)
    with pytest.raises(DeliveryError):
        receiver.admit(*sender.make(secret=new))
    assert receiver.admit(*sender.make(secret=OLD))


def test_a_server_with_secrets_of_its_own_does_not_look(data, app):
    watch = SecretReloader(data, Redactor(), secrets=["from a variable"], key=app.private_key)
    begin(data)
    assert watch.new_secrets() is None


async def test_what_is_dropped_is_refused_soon(data, app, sender):
    redactor = Redactor()
    watch = watch_of(data, app.private_key, redactor)
    receiver = WebhookReceiver([OLD], OwnIdentity(), renewed=watch.new_secrets)
    await rotate(data, tell_nobody, window=0.0, now=1000.0)
    new = secrets_in(data)[0]
    recorded = []

    async def record(name):
        recorded.append(name)

    looking = asyncio.create_task(watch.run(receiver, lambda: None, record))
    async with asyncio.timeout(PATIENCE):
        while rotation_in(data) is not None:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
    looking.cancel()
    await asyncio.wait([looking])
    assert receiver.admit(*sender.make(secret=new))
    with pytest.raises(DeliveryError):
        receiver.admit(*sender.make(secret=OLD))
    assert new not in redactor.clean(f"it is {new}")
    assert set(recorded) == {"FETTLE_WEBHOOK_SECRETS"}


# --- the command --------------------------------------------------------------------------------


async def fettle(*args, data, stdin=None, **variables):
    """Start the command."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", *args),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "FETTLE_DATA_DIR": str(data), "COLUMNS": "200"}
        | variables,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def wait_for_end(process, stdin=b""):
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate(stdin)
    return process.returncode, " ".join(out.decode().split())


@pytest.fixture
async def door(data, app, github, database, tmp_path):
    """The real server, which GitHub delivers to."""
    watch = watch_of(data, app.private_key)
    receiver = WebhookReceiver([OLD], OwnIdentity(), renewed=watch.new_secrets)
    inbox = Inbox(database, limit=10_000)
    await inbox.open()
    application = build_server(receiver, inbox, database, Metrics(), Readiness(tmp_path))
    runner = await start_server(application, "127.0.0.1", 0)
    github.world.apps[app.app_id].webhook_url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    yield runner
    await runner.cleanup()


async def test_200_deliveries_while_it_is_replaced_and_killed_on_the_way(
    github, app, data, door, database
):
    owner = github.create_organization("octo")
    mara = github.create_user("mara")
    repository = await github.create_repository(owner, "lib")
    github.set_role(repository, mara, "write")
    await github.install(app.app_id, [repository])
    issues = [await github.create_issue(repository, mara, f"Issue {n}", "") for n in range(100)]
    stopped, codes = asyncio.Event(), []

    async def replace():
        for pause in (1.3, 1.8):
            process = await fettle("rotate-secret", data=data)
            await asyncio.sleep(pause)
            if process.returncode is None:
                process.kill()
            await process.wait()
        codes.append(await wait_for_end(await fettle("rotate-secret", data=data)))
        stopped.set()

    replacing = asyncio.create_task(replace())
    number = 0
    while number < 200 or not stopped.is_set():
        issue = issues[number % 100]
        change = github.label_issue if number % 200 < 100 else github.unlabel_issue
        await change(repository, issue.number, "bot:resolve", mara)
        number += 1
    await replacing
    [(code, said)] = codes
    assert code == 0 or "accepted until" in said, said
    new, *older = secrets_in(data)
    assert older == [OLD]
    assert github.world.apps[app.app_id].webhook_secret == new
    sent = [d for d in github.webhooks.log if d.event == "issues"]
    assert len(sent) >= 200
    assert all(delivery.ok for delivery in sent), [d.status_code for d in sent if not d.ok]
    assert new not in said


async def test_secrets_in_a_variable_are_told_what_to_do_with(github, app, data):
    given = {
        "FETTLE_APP_ID": str(app.app_id),
        "FETTLE_PRIVATE_KEY": app.private_key,
        "FETTLE_GITHUB_URL": github.url,
    }
    one = {**given, "FETTLE_WEBHOOK_SECRETS": "first"}
    code, said = await wait_for_end(await fettle("rotate-secret", data=data, **one))
    assert code == 2
    assert "1. Make one: openssl rand -hex 32" in said
    assert "After 7 days take the old one out" in said
    two = {**given, "FETTLE_WEBHOOK_SECRETS": "second,first"}
    code, said = await wait_for_end(await fettle("rotate-secret", "--tell", data=data, **two))
    assert code == 0, said
    assert github.world.apps[app.app_id].webhook_secret == "second"


async def test_a_key_is_replaced_once_github_accepts_it(github, app, data):
    other = github.create_app("other")
    code, said = await wait_for_end(
        await fettle("rotate-key", "-", data=data), other.private_key.encode()
    )
    assert code == 2
    assert "GitHub does not accept this key" in said
    assert (app_folder(data) / "FETTLE_PRIVATE_KEY").read_text().strip() == app.private_key.strip()

    github.world.apps[app.app_id].public_key = github.world.apps[other.app_id].public_key
    watch = watch_of(data, app.private_key)
    code, said = await wait_for_end(
        await fettle("rotate-key", "-", data=data), other.private_key.encode()
    )
    assert code == 0, said
    assert said.count("SHA256:") == 2
    assert watch.new_key().strip() == other.private_key.strip()
    for secret in other.private_key.splitlines()[1:-1]:
        assert secret not in said


async def test_a_server_takes_the_new_key_up_when_the_old_one_was_deleted(github, app, data):
    other, asked = github.create_app("other"), {"redactor": Redactor(), "github_url": github.url}
    watch = watch_of(data, app.private_key, asked["redactor"])
    asked |= {"app_id": app.app_id, "private_key": app.private_key, "renewed": watch.new_key}
    async with GitHub.open(**asked) as ours:
        assert (await ours.app.request("GET", "/app"))["slug"] == "fettle"
        github.world.apps[app.app_id].public_key = github.world.apps[other.app_id].public_key
        with pytest.raises(ConfigError):
            await ours.app.request("GET", "/app")
        keep_of_app(data, "FETTLE_PRIVATE_KEY", other.private_key)
        assert (await ours.app.request("GET", "/app"))["slug"] == "fettle"
    line = other.private_key.splitlines()[3]
    assert line not in asked["redactor"].clean(f"x {line} x")


def test_it_wants_an_app_first(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", ["fettle", "rotate-secret"])
    monkeypatch.setenv("FETTLE_DATA_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "FETTLE_APP_ID" in capsys.readouterr().err


async def test_two_at_once_do_not_leave_github_with_a_secret_that_is_refused(data):
    async def slow(secret):
        with pytest.raises(ConfigError, match="Another process"):
            await rotate(data, tell_nobody, window=WINDOW, now=1000.0)
        with pytest.raises(ConfigError, match="Another process"):
            finish(data)
        assert secrets_in(data) == [secret, OLD]

    await rotate(data, slow, window=WINDOW, now=1000.0)
    assert len(secrets_in(data)) == 2
    assert rotation_in(data).until == 1000.0 + WINDOW


async def test_what_is_over_does_not_stand_in_the_way_of_the_next(data):
    await rotate(data, tell_nobody, window=WINDOW, now=1000.0)
    first, _ = secrets_in(data)
    await rotate(data, tell_nobody, window=WINDOW, now=1000.0 + WINDOW)
    assert secrets_in(data)[1:] == [first]
