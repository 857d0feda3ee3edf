"""People on the pages: who GitHub says they are, what they may see there, and what they may do."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from pydantic import SecretStr

from agents.errors import ConfigError
from agents.run import Outcome
from app.commands.handler import SpendingBounds
from app.config.allowed_owners import AllowedOwners
from app.config.settings import load_settings
from app.git import Mirrors
from app.github.transport.oauth import OAuthClient
from app.installations.lifecycle import InstallationLifecycle
from app.pages.page_context import PageContext
from app.pages.people import PageAccess
from app.pages.server import PageAddress, open_pages
from app.simulator.github.rest.oauth import SIGN_INS
from app.store.runs import History, Runs, StoredApprovals, StoredSteers
from app.wiring.page_people import GitHubPeople, build_access
from tests.app.commands.answering_scene import make_asking
from tests.app.github.conftest import key, scene, signer
from tests.app.pages.conftest import Browser, pages
from tests.fakes.requests import build_remediate_alert

__all__ = ["key", "pages", "scene", "signer"]  # fixtures

BOUNDS = SpendingBounds(run=20.0, day=100.0)
RUN = "0001-run"


@dataclass
class Front:
    """The pages of a server with one run, before a GitHub that knows people."""

    scene: Any
    database: Any
    people: GitHubPeople
    address: str = ""

    @property
    def app(self):
        return self.scene.server.world.apps[self.scene.app.app_id]

    @property
    def approvals(self):
        return StoredApprovals(self.database)

    async def list_steers(self):
        found = await StoredSteers(self.database).list_after(RUN)
        return [(each.kind, each.by) for each in found]

    @asynccontextmanager
    async def open_browser(self):
        jar = aiohttp.CookieJar(unsafe=True)  # the address has no name
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            yield Browser(self.address, session)

    async def agree(self, browser, login, *, wanted="/"):
        """Go to GitHub as somebody who agrees there; return the address that leads back."""
        sent, _ = await browser.get(f"/login/github?next={wanted}")
        there = f"{sent.headers['Location']}&login={login}"
        async with browser.session.get(there, allow_redirects=False) as answered:
            back = answered.headers["Location"]
        assert back.startswith(self.address)
        return back.removeprefix(self.address)

    @asynccontextmanager
    async def signed_in(self, login, **more):
        async with self.open_browser() as browser:
            got, text = await browser.get(await self.agree(browser, login, **more))
            assert got.status == 303, text
            yield browser


@pytest.fixture
def make_front(scene, database, tmp_path):
    """Return what serves the pages; `operators` are those of the settings."""

    @asynccontextmanager
    async def make(*operators):
        scene.repository.private = True
        life = InstallationLifecycle(database, scene.github, AllowedOwners(()), "one")
        await life.followed.installation(scene.installation.id)
        app = scene.server.world.apps[scene.app.app_id]
        secret = SecretStr(app.client_secret)
        oauth = OAuthClient(scene.github.urls, app.client_id, secret)
        people = GitHubPeople(life.github, database, oauth, BOUNDS)
        await Runs(database).create(RUN, scene.request)
        await Runs(database).record_stage(RUN, "stage/implement/1")
        ground = PageContext(
            database,
            scene.redactor,
            Mirrors(tmp_path / "mirrors", group=-1),
            day_budget_usd=BOUNDS.day,
            run_budget_usd=BOUNDS.run,
            access=PageAccess(people, frozenset(operators)),
        )
        async with open_pages(ground, PageAddress("127.0.0.1", 0)) as opened:
            app.callback_urls.append(f"{opened.url}/login/github/callback")
            yield Front(scene, database, people, opened.url)

    return make


@pytest.fixture
async def front(make_front):
    async with make_front() as front:
        yield front


# --- who it is ----------------------------------------------------------------------------------


async def test_github_says_who_it_is_and_nothing_of_theirs_is_kept(front):
    async with front.open_browser() as browser:
        back = await front.agree(browser, "bob", wanted=f"/runs/{RUN}")
        asked = parse_qs(urlsplit(back).query)
        got, _ = await browser.get(back)
        page, text = await browser.get(got.headers["Location"])

    assert (got.status, got.headers["Location"]) == (303, f"/runs/{RUN}")
    assert page.status == 200
    assert "bob" in text
    assert asked.keys() == {"code", "state"}
    assert front.scene.server._runner.app[SIGN_INS].tokens == {}, "it is worth nothing any more"
    stored = await front.database.read(
        lambda c: c.exec_driver_sql("select kind, name from page_logins").all()
    )
    assert [tuple(row) for row in stored] == [("github", f"{front.scene.people['bob'].id}/bob")]


async def test_a_way_back_that_began_in_another_browser_logs_nobody_in(front):
    """Else people would work, and pay, in somebody else's name without knowing it."""
    async with front.open_browser() as eves, front.open_browser() as bobs:
        back = await front.agree(eves, "eve")
        never, text = await bobs.get(back)
        await front.agree(bobs, "bob")
        begun, _ = await bobs.get(back)
        page, _ = await bobs.get("/")

    assert (never.status, begun.status) == (403, 403)
    assert "began in this browser" in text
    assert page.status == 303


@pytest.mark.parametrize("change", ["state", "code", "verifier"])
async def test_what_was_tampered_with_logs_nobody_in(front, change):
    sent = {}
    async with front.open_browser() as browser:
        back = await front.agree(browser, "bob")
        if change == "verifier":
            [kept] = [each for each in browser.session.cookie_jar if each.key == "fettle-sign-in"]
            state, _, rest = kept.value.partition(".")
            browser.session.cookie_jar.clear()
            sent["Cookie"] = f"fettle-sign-in={state}.{'x' * 64}.{rest.partition('.')[2]}"
        else:
            back = re.sub(f"{change}=[^&]+", f"{change}=other", back)
        got, _ = await browser.get(back, **sent)
        page, _ = await browser.get("/")

    assert got.status == 403
    assert page.status == 303


async def test_a_code_counts_once(front):
    async with front.open_browser() as browser:
        back = await front.agree(browser, "bob")
        cookies = {each.key: each.value for each in browser.session.cookie_jar}
        await browser.get(back)
        browser.session.cookie_jar.clear()
        browser.session.cookie_jar.update_cookies(cookies)
        again, text = await browser.get(back)

    assert again.status == 403
    assert "bad_verification_code" in text


async def test_a_wrong_client_secret_is_the_operators_to_mend(front):
    front.app.client_secret = "another"
    async with front.open_browser() as browser:
        got, text = await browser.get(await front.agree(browser, "bob"))

    assert got.status == 403
    assert "FETTLE_CLIENT_SECRET" in text


async def test_without_people_there_is_no_way_to_github(pages):
    async with pages.serve() as browser:
        _, text = await browser.get("/login")
        got, _ = await browser.get("/login/github")

    assert "GitHub" not in text
    assert got.status == 404


def test_people_take_a_client(scene, database):
    settings = load_settings({"FETTLE_PAGES": "people", "HOME": "/nowhere"}, serving=False)
    with pytest.raises(ConfigError, match="FETTLE_CLIENT_ID"):
        build_access(settings, scene.github, database, BOUNDS)


# --- what they see ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", f"/runs/{RUN}", "/spend", f"/runs/{RUN}/events"])
async def test_who_cannot_read_a_private_repository_learns_nothing_of_it(front, path):
    ident = (await front.approvals.ask_once(RUN, make_asking())).id
    async with front.signed_in("mallory") as browser:
        got, text = await browser.get(path)
        asked, _ = await browser.get(f"/approvals/{ident}")
        done, _ = await browser.post(f"/runs/{RUN}", kind="cancel")

    assert got.status == (200 if path == "/" else 404)
    assert "parse" not in text
    assert "Six digits" not in text
    assert asked.status == 404
    assert done.status == 404
    assert await front.list_steers() == []


async def test_who_can_read_sees_the_runs_but_not_what_everything_costs(front):
    async with front.signed_in("eve") as browser:
        _, now = await browser.get("/")
        run, _ = await browser.get(f"/runs/{RUN}")
        spend, _ = await browser.get("/spend")

    assert "Six digits only" in now
    assert "spent today" not in now
    assert 'href="/spend"' not in now
    assert (run.status, spend.status) == (200, 404)


async def test_what_is_vulnerable_is_shown_to_who_may_write_alone(front):
    """As GitHub does: also of a public repository, where everybody can read everything else."""
    scene = front.scene
    scene.repository.private = False
    alert = build_remediate_alert(
        installation_id=scene.request.installation_id, repository=scene.request.repository
    )
    await Runs(front.database).create("0002-alert", alert)
    await Runs(front.database).record_stage("0002-alert", "stage/scan/1")
    ident = (await front.approvals.ask_once("0002-alert", make_asking())).id
    paths = ("/runs/0002-alert", f"/approvals/{ident}")
    told = {}
    for login in ("mallory", "bob"):
        async with front.signed_in(login) as browser:
            told[login] = [(await browser.get(path))[0].status for path in paths]
            name = scene.request.repository.full_name
            _, page = await browser.get(f"/r/{name}")
            _, now = await browser.get("/")
            public, _ = await browser.get(f"/runs/{RUN}")
        assert public.status == 200
        shown = alert.package in page + now or "0002-alert" in page + now
        assert shown == (login == "bob")

    assert told == {"mallory": [404, 404], "bob": [200, 200]}


async def test_who_loses_access_sees_nothing_more(front):
    async with front.signed_in("bob") as browser:
        before, _ = await browser.get(f"/runs/{RUN}")
        del front.scene.repository.roles[front.scene.people["bob"].id]
        front.people._known.clear()  # a minute has gone by
        after, _ = await browser.get(f"/runs/{RUN}")

    assert (before.status, after.status) == (200, 404)


async def test_whoever_takes_over_a_login_is_somebody_else(front):
    async with front.signed_in("bob") as browser:
        world = front.scene.server.world
        del world.accounts["bob"]
        other = front.scene.server.create_user("bob")
        front.scene.server.set_role(front.scene.repository, other, "admin")
        got, _ = await browser.get(f"/runs/{RUN}")

    assert got.status == 404


async def test_operators_named_in_the_settings_see_everything(make_front, scene):
    async with (
        make_front(str(scene.people["mallory"].id)) as front,
        front.signed_in("mallory") as browser,
    ):
        run, _ = await browser.get(f"/runs/{RUN}")
        spend, _ = await browser.get("/spend")

    assert (run.status, spend.status) == (200, 200)


# --- what they do -------------------------------------------------------------------------------


async def decide(front, login, ident, verdict="approve", **form):
    """Decide as somebody on the page; return the answer's status and text."""
    binding = (await front.approvals.get(ident)).binding
    async with front.signed_in(login) as browser:
        await browser.get(f"/approvals/{ident}")
        form = {"verdict": verdict, "digest": binding[:6], **form}
        got, text = await browser.post(f"/approvals/{ident}", **form)
        return got.status, text


async def test_a_yes_of_somebody_who_may_write_counts_as_by_comment(front):
    ident = (await front.approvals.ask_once(RUN, make_asking())).id
    status, _ = await decide(front, "bob", ident)
    stored = await front.approvals.get(ident)

    assert status == 303
    assert (stored.state, stored.decided_by, stored.decided_via) == ("approved", "bob", "page")
    assert stored.decided_by_id == front.scene.people["bob"].id


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_who_may_only_read_decides_nothing(front, verdict):
    ident = (await front.approvals.ask_once(RUN, make_asking())).id
    status, text = await decide(front, "eve", ident, verdict)

    assert status == 403
    assert "takes write access" in text
    assert (await front.approvals.get(ident)).state == "waiting"


async def test_the_policy_says_who_may_approve_and_steer(front):
    scene = front.scene
    text = "version: 1\nwho: {role: admin}\n"
    files = {".github/fettle.yml": text}
    await scene.server.commit(scene.repository, files, author=scene.people["ada"], message="x")
    ident = (await front.approvals.ask_once(RUN, make_asking())).id

    refused, why = await decide(front, "bob", ident)
    denied, _ = await decide(front, "bob", ident, "deny")
    async with front.signed_in("bob") as browser:
        await browser.get(f"/runs/{RUN}")
        remark, _ = await browser.post(f"/runs/{RUN}", kind="remark", words="Faster.", once="1")
        cancel, _ = await browser.post(f"/runs/{RUN}", kind="cancel", once="2")

    assert refused == 403
    assert "policy" in why
    assert denied == 303
    assert (remark.status, cancel.status) == (403, 303)
    assert await front.list_steers() == [("cancel", "bob")]


async def test_who_lost_write_access_a_moment_ago_does_nothing(front):
    """What somebody may see is known for a minute; what they may do is asked each time."""
    async with front.signed_in("bob") as browser:
        await browser.get(f"/runs/{RUN}")
        front.scene.server.set_role(front.scene.repository, front.scene.people["bob"], "read")
        got, text = await browser.post(f"/runs/{RUN}", kind="cancel", once="1")

    assert got.status == 403
    assert "write access" in text
    assert await front.list_steers() == []


async def test_the_first_answer_counts_and_another_calls_characters_do_not(front):
    ident = (await front.approvals.ask_once(RUN, make_asking())).id
    wrong, _ = await decide(front, "bob", ident, digest="abcdef")
    first, _ = await decide(front, "bob", ident, "deny")
    late, text = await decide(front, "ada", ident)

    assert (wrong, first, late) == (409, 303, 403)
    assert "was denied by bob" in text
    assert (await front.approvals.get(ident)).state == "denied"


async def test_where_the_app_was_removed_nobody_does_anything(front):
    async with front.signed_in("bob") as browser:
        await browser.get(f"/runs/{RUN}")
        scene = front.scene
        await scene.server.uninstall(scene.installation, scene.people["ada"])
        got, text = await browser.post(f"/runs/{RUN}", kind="cancel", once="1")

    assert got.status == 403
    assert "not installed" in text
    assert await front.list_steers() == []


@pytest.mark.parametrize(("login", "status"), [("bob", 303), ("eve", 403), ("mallory", 404)])
async def test_who_may_write_has_a_run_done_once_more(front, login, status):
    await Runs(front.database).record_end(RUN, Outcome(kind="failed", text="It failed."))
    async with front.signed_in(login) as browser:
        await browser.get("/")
        got, _ = await browser.post(f"/runs/{RUN}/retry", once="1")
    asked = [
        await Runs(front.database).request(each) for each in await History(front.database).ids()
    ]

    assert got.status == status
    made = [(each["asked_by"]["login"], each["via"]) for each in asked if each["again"]]
    assert made == ([("bob", "command")] if status == 303 else [])
