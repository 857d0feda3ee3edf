"""The way of a browser from the page on loopback to GitHub and back, and every way around it."""

from __future__ import annotations

import asyncio
import html
import json
import re
import stat
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
import yaml

from agents.errors import Cancelled, ConfigError, RunError
from app.config.settings import load_settings
from app.github.transport.urls import Urls
from app.registration.browser_flow import RegistrationRequest
from app.registration.register import register
from app.secrets.files import app_folder
from app.simulator.github import LocalGitHub
from tests.deploy.conftest import ROOT

HOOK = "https://fettle.example.com/webhook"


@pytest.fixture
async def github(tmp_path):
    started = await LocalGitHub.start(tmp_path / "github")
    started.create_organization("octo")
    yield started
    await started.stop()


class Flow:
    """A registration under way, and a browser."""

    def __init__(self, door, running, session):
        self.door, self.running, self.session = door, running, session

    async def get(self, url=None, **headers):
        async with self.session.get(
            url or self.door.url, headers=headers, allow_redirects=False
        ) as answer:
            return answer.status, await answer.text(), answer.headers

    async def form(self):
        status, text, _ = await self.get()
        assert status == 200
        action = html.unescape(re.search(r'action="([^"]+)"', text)[1])
        manifest = html.unescape(re.search(r'name="manifest" value="([^"]+)"', text)[1])
        return action, manifest

    async def submit(self):
        """Press the button here and at GitHub; return where GitHub leads back to."""
        action, manifest = await self.form()
        async with self.session.post(
            action, data={"manifest": manifest}, allow_redirects=False
        ) as answer:
            assert answer.status == 302, await answer.text()
            return answer.headers["Location"]


@pytest.fixture
def flow(github, tmp_path):
    """Start a registration: `async with flow() as under_way`."""

    @asynccontextmanager
    async def start_flow(*, data=None, **options):
        data = data or tmp_path / "data"
        data.mkdir(exist_ok=True)
        urls = Urls.from_web_url(options.pop("github_url", github.url))
        wanted = RegistrationRequest(
            urls,
            HOOK,
            options.pop("organization", None),
            options.pop("name", None),
            options.pop("pages_url", ""),
        )
        opened = asyncio.get_running_loop().create_future()
        stop = options.pop("stop", asyncio.Event())
        running = asyncio.create_task(register(wanted, data, stop, opened.set_result, **options))
        async with aiohttp.ClientSession() as session:
            try:
                yield Flow(await opened, running, session)
            finally:
                running.cancel()
                with suppress(asyncio.CancelledError, Cancelled, Exception):
                    await running

    return start_flow


async def test_from_the_page_to_an_app_whose_secrets_are_found(flow, github, tmp_path):
    async with flow(organization="octo", name="Fettle of Octo") as under_way:
        back = await under_way.submit()
        status, text, headers = await under_way.get(back)
        made = await under_way.running
    assert (status, made.slug) == (200, "fettle-of-octo")
    assert f"{github.url}/apps/fettle-of-octo/installations/new" in text
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"

    app = github.world.apps[made.id]
    manifest = yaml.safe_load((ROOT / "app.yml").read_text("utf-8"))
    assert app.permissions == manifest["default_permissions"]
    assert list(app.events) == manifest["default_events"]
    assert (app.webhook_url, app.owner.login) == (HOOK, "octo")

    data = tmp_path / "data"
    settings = load_settings({"FETTLE_DATA_DIR": str(data), "ANTHROPIC_API_KEY": "sk"})
    assert settings.credentials.app_id == str(made.id)
    assert settings.github_url == github.url
    assert settings.webhook_url == HOOK
    [secret] = settings.webhook_secrets
    assert secret.get_secret_value() == app.webhook_secret
    for path in app_folder(data).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "client" not in path.name.lower()
    hidden = [
        secret.get_secret_value(),
        *settings.credentials.private_key.get_secret_value().split(),
    ]
    assert not any(len(word) > 12 and word in text for word in hidden)


async def test_people_can_sign_in_where_the_pages_have_an_address(flow, github, tmp_path):
    async with flow(pages_url="https://fettle.example/") as under_way:
        _, text, _ = await under_way.get()
        await under_way.get(await under_way.submit())
        made = await under_way.running
    assert "https://fettle.example/" in text
    app = github.world.apps[made.id]
    assert app.callback_urls == ["https://fettle.example/login/github/callback"]

    given = {"FETTLE_DATA_DIR": str(tmp_path / "data"), "ANTHROPIC_API_KEY": "sk"}
    settings = load_settings(given)
    assert settings.pages_url == "https://fettle.example/"
    assert settings.client_id == app.client_id
    assert settings.client_secret.get_secret_value() == app.client_secret
    assert app.client_secret not in text
    other = load_settings(given | {"FETTLE_CLIENT_ID": "Iv1.other"})
    assert other.client_secret is None, "an id and a secret of two Apps let nobody in"


async def test_the_form_says_what_app_yml_says_and_is_safe_html(flow):
    async with flow(name='<b>"x"</b>') as under_way:
        _, text, headers = await under_way.get()
        _, manifest = await under_way.form()
    assert "<b>" not in text
    sent = json.loads(manifest)
    assert sent["name"] == '<b>"x"</b>'
    assert sent["public"] is False
    assert sent["redirect_url"] == f"{under_way.door.url}/registered"
    assert sent["hook_attributes"] == {"url": HOOK, "active": True}
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


async def test_the_state_and_the_path_are_new_each_time_and_long(flow):
    seen = set()
    for _ in range(2):
        async with flow() as under_way:
            action, _ = await under_way.form()
            [state] = parse_qs(urlsplit(action).query)["state"]
            path = urlsplit(under_way.door.url).path
            assert min(len(state), len(path)) >= 40
            assert state not in path
            seen |= {state, path}
    assert len(seen) == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda url, state: url.replace(state, state[:-1] + ("a" if state[-1] != "a" else "b")),
        lambda url, state: url.replace(f"&state={state}", ""),
        lambda url, state: url.replace(state, ""),
        lambda url, state: f"{url}&state={state}",
        lambda url, state: url.replace(state, "%FF%00é"),
    ],
    ids=["another", "none", "empty", "twice", "odd bytes"],
)
async def test_attack_a_wrong_state_does_nothing_and_uses_nothing_up(
    flow, github, tmp_path, change
):
    async with flow() as under_way:
        back = await under_way.submit()
        [state] = parse_qs(urlsplit(back).query)["state"]
        status, _, _ = await under_way.get(change(back, state))
        assert status == 400
        assert not app_folder(tmp_path / "data").exists()
        assert not [each for each in github.requests if "conversions" in each.path]
        assert (await under_way.get(back))[0] == 200
        await under_way.running


async def test_attack_somebody_elses_code_is_not_taken_without_our_state(flow, github, tmp_path):
    """The attacker registers an App of their own, and has the operator's browser bring its code."""
    async with flow(name="other") as theirs, flow(data=tmp_path) as ours:
        back = await theirs.submit()
        query = urlsplit(back).query
        status, _, _ = await ours.get(f"{ours.door.url}/registered?{query}")
        assert status == 400
        assert not app_folder(tmp_path).exists()


async def test_attack_a_second_time_is_refused_also_at_the_same_moment(flow, github, tmp_path):
    async with flow() as under_way:
        back = await under_way.submit()
        answers = await asyncio.gather(*(under_way.get(back) for _ in range(3)))
        assert sorted(status for status, _, _ in answers) == [200, 410, 410]
        made = await under_way.running
    assert len([each for each in github.requests if "conversions" in each.path]) == 1
    assert (app_folder(tmp_path / "data") / "FETTLE_APP_ID").read_text() == f"{made.id}\n"


async def test_after_its_one_use_the_page_is_gone(flow):
    async with flow() as under_way:
        await under_way.get(await under_way.submit())
        await under_way.running
        with pytest.raises(aiohttp.ClientConnectionError):
            await under_way.get()


async def test_attack_a_replayed_code_ends_in_words(flow, github, tmp_path):
    async with flow() as under_way:
        back = await under_way.submit()
        code = parse_qs(urlsplit(back).query)["code"][0]
        url = f"{github.url}/api/v3/app-manifests/{code}/conversions"
        async with under_way.session.post(url) as taken:
            assert taken.status == 201
        status, text, _ = await under_way.get(back)
        assert (status, code in text) == (502, False)
        with pytest.raises(RunError, match="status 404") as caught:
            await under_way.running
    assert code not in str(caught.value)
    assert "--import" in str(caught.value)
    assert not app_folder(tmp_path / "data").exists()


async def test_nobody_is_sent_to_github_while_secrets_cannot_be_kept_here(github, tmp_path):
    """GitHub would give the key out once, and it would be lost."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secrets").write_text("in the way")
    wanted, opened = RegistrationRequest(Urls.from_web_url(github.url), HOOK, None, None), []
    with pytest.raises(ConfigError, match="is no folder for secrets"):
        await register(wanted, tmp_path / "data", asyncio.Event(), opened.append)
    with pytest.raises(ConfigError, match=r"Secrets cannot be written to .* FETTLE_DATA_DIR"):
        await register(wanted, tmp_path / "absent", asyncio.Event(), opened.append)
    assert opened == []


async def test_a_probe_leaves_nothing(flow, tmp_path):
    async with flow():
        assert list((tmp_path / "data" / "secrets").iterdir()) == []


async def test_secrets_that_cannot_be_kept_after_all_leave_nobody_in_the_dark(flow, tmp_path):
    async with flow() as under_way:
        back = await under_way.submit()
        (tmp_path / "data" / "secrets").rmdir()
        (tmp_path / "data" / "secrets").write_text("in the way")
        assert (await under_way.get(back))[0] == 502
        with pytest.raises(ConfigError, match=r"is not kept: .* --import"):
            await under_way.running


async def test_a_port_that_is_taken_is_said_with_what_to_do(github, tmp_path):
    port = urlsplit(github.url).port
    wanted = RegistrationRequest(Urls.from_web_url(github.url), HOOK, None, None)
    with pytest.raises(ConfigError, match=rf"port {port}: Address already in use. Give another --"):
        await register(wanted, tmp_path, asyncio.Event(), lambda door: None, port=port)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost:{port}", "127.0.0.1", "[::1]:{port}"]
)
async def test_attack_a_page_that_is_bound_to_our_address_by_another_name(flow, host):
    async with flow() as under_way:
        host = host.format(port=under_way.door.port)
        status, text, _ = await under_way.get(Host=host)
        assert status == 421
        assert "state=" not in text
        back = await under_way.submit()
        assert (await under_way.get(back, Host=host))[0] == 421
        assert not under_way.running.done()


async def test_attack_what_other_sites_load_or_send_is_refused(flow):
    async with flow() as under_way:
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Dest": "iframe"},
            {"Sec-Fetch-Dest": "image"},
            {"Sec-Fetch-Dest": "empty"},
        ):
            status, text, _ = await under_way.get(**headers)
            assert status == 403
            assert "state=" not in text
        own = f"http://127.0.0.1:{under_way.door.port}"
        for headers in ({"Origin": own}, {"Sec-Fetch-Dest": "document"}):
            assert (await under_way.get(**headers))[0] == 200


async def test_attack_other_paths_and_methods_tell_nothing(flow):
    async with flow() as under_way:
        origin = f"http://127.0.0.1:{under_way.door.port}"
        for path in ("/", "/registered", "/favicon.ico", "/x" * 20):
            assert (await under_way.get(origin + path))[0] == 404
        for method in ("POST", "HEAD", "PUT", "OPTIONS"):
            async with under_way.session.request(method, under_way.door.url) as answer:
                assert answer.status == 405


async def test_nobody_but_this_machine_is_answered(flow):
    async with flow() as under_way:
        assert urlsplit(under_way.door.url).hostname == "127.0.0.1"
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ending = f":{under_way.door.port:04X}"
        listening = [row[1] for row in rows if row[1].endswith(ending) and row[3] == "0A"]
        assert listening == [f"0100007F{ending}"]


@pytest.mark.parametrize("code", ["", "../../app", "a%2Fb", "x" * 300, "a%0d%0ab"])
async def test_attack_a_code_that_is_none_is_not_sent_to_github(flow, github, code):
    async with flow() as under_way:
        action, _ = await under_way.form()
        [state] = parse_qs(urlsplit(action).query)["state"]
        url = f"{under_way.door.url}/registered?code={code}&state={state}"
        assert (await under_way.get(url))[0] == 400
        assert not github.requests


async def test_an_app_that_is_there_is_not_written_over_even_in_the_last_moment(flow, tmp_path):
    data = tmp_path / "data"
    async with flow() as under_way:
        back = await under_way.submit()
        app_folder(data).mkdir(parents=True)
        (data / "secrets").chmod(0o700)
        (app_folder(data) / "FETTLE_APP_ID").write_text("7")
        assert (await under_way.get(back))[0] == 502
        with pytest.raises(ConfigError, match="--replace"):
            await under_way.running
    assert [path.name for path in app_folder(data).iterdir()] == ["FETTLE_APP_ID"]


async def test_nobody_comes(flow, tmp_path):
    async with flow(minutes=0.002) as under_way:
        with pytest.raises(RunError, match="Nobody registered an App within"):
            await under_way.running
    assert not app_folder(tmp_path / "data").exists()


async def test_stopped(flow):
    stop = asyncio.Event()
    async with flow(stop=stop) as under_way:
        stop.set()
        with pytest.raises(Cancelled):
            await under_way.running
