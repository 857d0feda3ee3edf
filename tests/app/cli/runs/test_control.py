"""`fettle resolve` and `fettle runs cancel|retry` as they are typed: what is meant, how it ends."""

from __future__ import annotations

import asyncio
import getpass

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from agents.errors import ConfigError
from agents.ports import PullRequest
from agents.run import Outcome
from app.cli.runs.control import _stage
from app.clone.result import exit_code
from app.store.process_lock import Claim
from app.store.runs import Runs
from app.store.runs.steers import StoredSteers
from tests.fakes.requests import (
    build_propose_guidance,
    build_remediate_alert,
    build_revert_change,
)

RUN = "000660d80724c11a-d8c02f8d"


def pull(*, draft):
    return PullRequest(
        number=2, url="u", branch="b", head="h", base="main", title="t", body="b", draft=draft
    )


@pytest.mark.parametrize(
    ("kind", "draft", "code"),
    [
        ("pull_request", False, 0),
        ("pull_request", True, 2),
        ("comment", None, 2),
        ("refused", None, 2),
        ("cancelled", None, 1),
        ("failed", None, 1),
    ],
)
def test_the_exit_code_says_who_has_to_act(kind, draft, code):
    made = None if draft is None else pull(draft=draft)
    assert exit_code(Outcome(kind=kind, text="t", pull_request=made)) == code


# --- resolve ------------------------------------------------------------------------------------


def test_an_issue_takes_what_the_server_takes(fettle):
    code, out, err = fettle("resolve", "octo/lib#25")
    assert (code, out) == (2, "")
    assert "FETTLE_APP_ID: is missing" in err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("libb", "25"), "Did you mean `lib`"),
        (("lib", "25", "--issue", "x.md"), "`octo/lib#25` is an issue on GitHub"),
        (("https://example.com/octo/lib/issues/2",), "FETTLE_GITHUB_URL"),
        ((".",), "OWNER/REPO#25"),
        (("nowhere", "Mend it"), "is no folder here"),
    ],
)
def test_a_mistake_is_told_before_anything_is_done(fettle, tmp_path, args, told):
    code, out, err = fettle("resolve", *args, FETTLE_REPOSITORIES='{"lib": "octo/lib"}')
    assert (code, out) == (2, "")
    assert told in err
    assert list(tmp_path.iterdir()) == []


# --- cancel -------------------------------------------------------------------------------------


def test_a_run_on_which_nobody_works_is_noted_as_cancelled(fettle, store):
    store.run(RUN, state="running")
    code, _, err = fettle("runs", "cancel", RUN[:12], "the", "wrong", "issue")
    assert code == 2
    assert "ends as soon as `fettle serve` runs again" in err
    fettle("runs", "cancel", RUN[:12], "once more")

    [steer] = store.execute(lambda database: StoredSteers(database).list_after(RUN))
    assert (steer.kind, steer.via, steer.by) == ("cancel", "terminal", getpass.getuser())
    assert steer.words == "the wrong issue"


def test_a_run_of_the_server_ends_meanwhile_or_soon(fettle, store, monkeypatch):
    monkeypatch.setattr("app.cli.runs.control.PATIENCE", 0.4)
    store.run(RUN, state="running")
    claim = Claim(store.url, "fettle")
    asyncio.run(claim.take())
    code, _, err = fettle("runs", "cancel", RUN)
    assert (code, "as soon as it comes to a safe place" in err) == (0, True)
    asyncio.run(claim.release())


@pytest.mark.parametrize(("state", "code"), [("done", 1), ("failed", 1)])
def test_a_run_that_has_ended_is_left_alone(fettle, store, state, code):
    store.run(RUN, state=state)
    found, _, err = fettle("runs", "cancel", RUN)
    assert (found, "has ended already" in err) == (code, True)
    assert store.execute(lambda database: StoredSteers(database).list_after(RUN)) == []


def test_no_such_run(fettle, store):
    store.run(RUN, state="running")
    assert fettle("runs", "cancel", "fff")[0] == 2


# --- retry --------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["quality_fix", "quality fix", "Quality-Fix", " quality  fix "])
def test_a_stage_as_people_type_it(typed):
    assert _stage(typed) == "quality_fix"


def test_a_stage_that_is_none():
    with pytest.raises(ConfigError, match="Did you mean `quality_fix`"):
        _stage("qualityfix")
    with pytest.raises(ConfigError, match=r"There are: .*triage"):
        _stage("zzz")


@pytest.fixture
def serving(tmp_path):
    """What a server is started with."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return {
        "FETTLE_APP_ID": "1",
        "FETTLE_PRIVATE_KEY": key.private_bytes(*form).decode(),
        "FETTLE_WEBHOOK_SECRETS": "secret",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "FETTLE_GITHUB_URL": "http://127.0.0.1:9",
    }


def test_a_run_that_is_under_way_is_not_done_once_more(fettle, store, serving):
    store.run(RUN, state="parked")
    code, _, err = fettle("runs", "retry", RUN, **serving)
    assert (code, "is under way" in err) == (2, True)
    code, _, err = fettle("runs", "retry", RUN)
    assert (code, "FETTLE_APP_ID: is missing" in err) == (2, True)


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (build_revert_change(number=9), "`fettle undo octo/lib#9`"),
        (build_propose_guidance(), "Nobody asks for runs of this kind"),
        (build_remediate_alert(), "`fettle remediate octo/lib`"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.kind,
)
def test_what_nobody_asks_for_like_this_is_told_how(fettle, store, serving, request_, told):
    async def work(database):
        await Runs(database).create(RUN, request_)
        await Runs(database).record_end(RUN, Outcome(kind="failed", text="It failed."))

    store.execute(work)
    code, _, err = fettle("runs", "retry", RUN, **serving)
    assert (code, told in err) == (2, True), err
