"""`fettle setup` as an operator meets it: a process, a browser, a terminal, and no secret shown."""

from __future__ import annotations

import asyncio
import html
import os
import pty
import re
import stat
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest

from app.cli import main
from app.secrets.files import app_folder, keep_app
from app.simulator.github import LocalGitHub
from tests.deploy.conftest import ROOT
from tests.patience import PATIENCE

HOOK = "http://127.0.0.1:8080/webhook"


@pytest.fixture
async def github(tmp_path):
    started = await LocalGitHub.start(tmp_path / "github")
    started.create_organization("octo")
    yield started
    await started.stop()


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@asynccontextmanager
async def fettle(*args, data, **variables):
    """Run the command, killed at the end if it is still there."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", *args),
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "FETTLE_DATA_DIR": str(data),
            "COLUMNS": "200",
            **variables,
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def wait_for_end(process):
    """Return exit code, output and errors."""
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def read_until(process, pattern):
    """Read errors until they hold this; return the match and all that was read."""
    said = ""
    async with asyncio.timeout(PATIENCE):
        while (found := re.search(pattern, said)) is None:
            line = await process.stderr.readline()
            assert line, said
            said += line.decode()
    return found, said


async def request_url(method, url):
    async with aiohttp.ClientSession() as session, session.request(method, url) as answer:
        return answer.status, await answer.text()


async def browse(url):
    """Open the page, press both buttons, and come back."""
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as answer:
            text = await answer.text()
        action = html.unescape(re.search(r'action="([^"]+)"', text)[1])
        manifest = html.unescape(re.search(r'name="manifest" value="([^"]+)"', text)[1])
        async with session.post(action, data={"manifest": manifest}) as answer:
            return answer.status, await answer.text()


def find_secrets(github, slug):
    """Return what must be shown nowhere."""
    [app] = [each for each in github.world.apps.values() if each.slug == slug]
    return [app.webhook_secret]


async def test_from_nothing_to_an_install_link(github, data):
    args = ("setup", "--org", "octo", "--github-url", github.url, "--webhook-url", HOOK)
    async with fettle(*args, data=data) as process:
        found, said = await read_until(process, r"(http://127\.0\.0\.1:\d+/[\w-]+)\n")
        port = found[1].split(":")[2].split("/")[0]
        status, page = await browse(found[1])
        code, out, err = await wait_for_end(process)
    assert (status, code) == (200, 0)
    assert f"ssh -N -L {port}:127.0.0.1:{port} SERVER" in said + err
    assert out == f"{github.url}/apps/fettle/installations/new\n"
    key = (app_folder(data) / "FETTLE_PRIVATE_KEY").read_text().splitlines()[1:-1]
    for secret in (*find_secrets(github, "fettle"), *key):
        assert secret not in said + err + out + page
    assert stat.S_IMODE((data / "secrets").stat().st_mode) == 0o700
    assert {path.name for path in data.iterdir()} == {"secrets"}


async def test_a_server_that_waits_goes_on_by_itself(github, open_folder):
    data = open_folder / "data"
    variables = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "FETTLE_PORT": "0",
        "FETTLE_SANDBOX": "none",
        "FETTLE_I_UNDERSTAND_AGENTS_RUN_UNSANDBOXED": "true",
    }
    async with fettle("serve", data=data, **variables) as server:
        found, said = await read_until(server, r"Until then (http://\S+)/ says so")
        assert "Fettle has no GitHub App yet" in said
        assert "- FETTLE_APP_ID: is missing. Run `fettle setup`" in said
        assert (await request_url("POST", f"{found[1]}/webhook"))[0] == 503
        args = ("setup", "--github-url", github.url, "--webhook-url", HOOK)
        async with fettle(*args, data=data) as process:
            page, _ = await read_until(process, r"(http://127\.0\.0\.1:\d+/[\w-]+)\n")
            await browse(page[1])
            assert (await wait_for_end(process))[0] == 0
        await read_until(server, r"An App is set up\.")
        served, _ = await read_until(server, r"serving.*?(http://127\.0\.0\.1:\d+)")
        assert await request_url("GET", f"{served[1]}/readyz") == (200, "ready\n")
        server.terminate()
        assert (await wait_for_end(server))[0] == 0


async def test_a_server_that_is_stopped_while_it_waits_never_served(data):
    async with fettle("serve", data=data, FETTLE_PORT="0") as server:
        await read_until(server, "Until then")
        server.terminate()
        code, _, err = await wait_for_end(server)
    assert (code, "without having served" in err) == (2, True)


async def test_an_app_that_is_there_is_taken_once_github_knows_it(github, data, tmp_path):
    made = github.create_app("mender", webhook_secret="s3cret, with a comma")
    key, secret = tmp_path / "app.pem", tmp_path / "hook"
    key.write_text(made.private_key)
    secret.write_text("s3cret, with a comma\n")
    args = ["setup", "--import", "--github-url", github.url, "--key-file", str(key)]
    args += ["--webhook-secret-file", str(secret), "--app-id"]
    async with fettle(*args, "424242", data=data) as process:
        code, _, err = await wait_for_end(process)
    assert (code, app_folder(data).exists()) == (2, False)
    assert "GitHub does not accept the App's signature" in err
    async with fettle(*args, str(made.app_id), data=data) as process:
        code, out, err = await wait_for_end(process)
    assert (code, out) == (0, f"{github.url}/apps/mender/installations/new\n")
    assert "s3cret" not in out + err
    assert (app_folder(data) / "FETTLE_WEBHOOK_SECRETS").read_text() == '["s3cret, with a comma"]\n'


async def test_the_webhook_secret_is_asked_for_and_not_shown(github, data, tmp_path):
    _, shown = await import_app(github, data, tmp_path)
    assert "s3cret-typed" not in shown
    assert "sk-typed" not in shown
    assert (app_folder(data) / "FETTLE_WEBHOOK_SECRETS").read_text() == '["s3cret-typed"]\n'
    assert (data / "secrets/ANTHROPIC_API_KEY").read_text() == "sk-typed\n"


async def test_where_no_model_is_asked_no_key_is_wanted(github, data, tmp_path):
    left, _ = await import_app(github, data, tmp_path, FETTLE_MODELS="none")
    assert left == [("Messages API", "sk-typed")], "that was not asked"


async def import_app(github, data, tmp_path, **variables):
    """Answer what `fettle setup --import` asks; return what it did not ask, and what it showed."""
    made = github.create_app("mender", webhook_secret="s3cret-typed")
    key = tmp_path / "app.pem"
    key.write_text(made.private_key)
    command = [sys.executable, "-m", "app", "setup", "--import", "--github-url", github.url]
    answers = [("App's id", str(made.app_id)), ("private key", str(key))]
    answers += [("webhook secret", "s3cret-typed"), ("Messages API", "sk-typed")]
    code, shown = await asyncio.to_thread(type_answers, command, data, answers, **variables)
    assert code == 0, shown
    return answers, shown


def type_answers(command, data, answers, **variables):
    """Run the command at a terminal of its own; type each answer once its question is there."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *command],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "FETTLE_DATA_DIR": str(data),
            "TERM": "dumb",
            **variables,
        },
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    shown, end = "", time.monotonic() + PATIENCE
    with suppress(OSError):  # what Linux says once nobody is at the other end
        while time.monotonic() < end and (piece := os.read(master, 4096)):
            shown += piece.decode("utf-8", "replace")
            asked = shown.rpartition("\n")[2]
            # The blank comes last, from who reads; getpass drops what was typed before.
            if answers and answers[0][0] in asked and asked.endswith(": "):
                os.write(master, f"{answers.pop(0)[1]}\n".encode())
    os.close(master)
    return process.wait(PATIENCE), shown


@pytest.fixture
def refused(monkeypatch, capsys):
    """Run the command in this process: exit code, and what it says."""

    def run(data, *args, **variables):
        for name in list(os.environ):
            if name.startswith(("FETTLE_", "ANTHROPIC_")):
                monkeypatch.delenv(name)
        for name, value in {"FETTLE_DATA_DIR": str(data), **variables}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.argv", ["fettle", "setup", *args])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        assert said.out == ""
        return stopped.value.code, said.err

    return run


@pytest.fixture
def kept(data):
    data.mkdir()
    keep_app(data, {"FETTLE_APP_ID": "7"})
    return data


@pytest.mark.parametrize(
    ("args", "variables", "words"),
    [
        ((), {"FETTLE_APP_ID": "7"}, "FETTLE_APP_ID is set. A variable wins"),
        ((), {}, "Give --webhook-url"),
        (("--webhook-url", "http://fettle.example.com/"), {}, "must begin with https://"),
        (("--webhook-url", "fettle"), {}, "The webhook URL must begin with"),
        (("--org", "../x", "--webhook-url", "https://h/w"), {}, "no name of an organization"),
        (("--name", "x" * 40, "--webhook-url", "https://h/w"), {}, "--name takes up to"),
        (("--github-url", "ftp://x", "--webhook-url", "https://h/w"), {}, "FETTLE_GITHUB_URL"),
        (("--app-id", "7"), {}, "go with --import"),
        (("--import",), {}, "There is no terminal to ask at: give --app-id"),
        (("--import", "--app-id", "7", "--key-file", "/none"), {}, "`/none` cannot be read"),
        (("--import", "--app-id", "a b"), {}, "no id of an App"),
        (
            ("--github-url", "https://a.example", "--webhook-url", "https://h/w"),
            {"FETTLE_GITHUB_URL": "https://b.example"},
            "disagree",
        ),
    ],
)
def test_what_is_refused_before_anything_happens(refused, data, args, variables, words):
    code, said = refused(data, *args, **variables)
    assert (code, words in said) == (2, True), said
    assert not data.exists()


def test_an_app_is_not_set_up_over_another_one(refused, kept):
    code, said = refused(kept, "--webhook-url", "https://h/w")
    assert (code, "--replace" in said) == (2, True)
