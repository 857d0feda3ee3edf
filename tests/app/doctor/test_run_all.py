"""All checks together: with everything right, and with half of a configuration."""

from __future__ import annotations

import pytest

from app.config.settings import read_settings
from app.doctor.run_all import examine
from app.sandbox import select as choosing
from app.sandbox.port import Probe
from app.secrets.files import keep_app
from tests.app.doctor.conftest import by_subject, levels
from tests.fakes.sandbox import ProbedBackend


def make_backend(name, *, held):
    return ProbedBackend(name, Probe("run", held))


@pytest.fixture(autouse=True)
def sandboxes(monkeypatch):
    """Sandboxes that hold without being attacked: that takes a second, and has its own tests."""
    monkeypatch.setattr(choosing, "make_backend", lambda name, _: make_backend(name, held=True))


async def examine_settings(environ, *, ask_models=False):
    return await examine(read_settings(environ), environ, ask_models=ask_models)


def keep(scene, data):
    keep_app(
        data,
        {
            "FETTLE_APP_ID": str(scene.made.app_id),
            "FETTLE_PRIVATE_KEY": scene.made.private_key,
            "FETTLE_WEBHOOK_SECRETS": scene.made.webhook_secret,
            "FETTLE_GITHUB_URL": scene.github.url,
        },
    )


async def test_what_setup_wrote_is_all_it_takes(scene, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    keep(scene, data)
    await scene.label("bot:resolve")
    environ = {"FETTLE_DATA_DIR": str(data), "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    found = await examine_settings(environ)
    assert {each.level for each in found} <= {"ok", "skipped", "warning"}, found
    assert list(levels(found))[:2] == ["settings", "App's key"]
    for subject in ("webhook", "deliveries", "sandbox", "git", "programs", "disk", "database"):
        assert subject in levels(found)
    assert f"`{data}/secrets/app`" in by_subject(found)["settings"].said
    for secret in (scene.made.webhook_secret, *scene.made.private_key.splitlines()[1:-1]):
        assert secret not in str(found)


async def test_with_nothing_each_missing_thing_is_named_and_the_rest_is_checked(tmp_path):
    found = await examine_settings({"FETTLE_DATA_DIR": str(tmp_path / "data")})
    said = " ".join(each.said for each in found if each.level == "failed")
    for name in ("FETTLE_APP_ID", "FETTLE_PRIVATE_KEY", "FETTLE_WEBHOOK_SECRETS", "ANTHROPIC_API"):
        assert name in said
    assert levels(found)["App's key"] == levels(found)["webhook"] == "skipped"
    assert levels(found)["model"] == "skipped"
    assert levels(found)["sandbox"] == levels(found)["git"] == levels(found)["database"] == "ok"
    assert not (tmp_path / "data").exists()


async def test_a_wrong_setting_hides_nothing_else(scene, tmp_path):
    keep(scene, tmp_path)
    environ = {"FETTLE_DATA_DIR": str(tmp_path), "FETTLE_PORT": "many", "ANTHROPIC_API_KEY": "sk"}
    found = await examine_settings(environ)
    assert [each.said.split()[0] for each in found if each.about == "setting"] == ["FETTLE_PORT"]
    assert levels(found)["App's key"] == "ok"


async def test_a_key_that_github_does_not_take_leaves_the_webhook_waiting(scene, tmp_path):
    keep(scene, tmp_path)
    (tmp_path / "secrets/app/FETTLE_APP_ID").write_text("424242\n")
    found = await examine_settings({"FETTLE_DATA_DIR": str(tmp_path), "ANTHROPIC_API_KEY": "sk"})
    assert (levels(found)["App's key"], levels(found)["webhook"]) == ("failed", "skipped")


async def test_no_sandbox_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(choosing, "make_backend", lambda name, _: make_backend(name, held=False))
    found = by_subject(await examine_settings({"FETTLE_DATA_DIR": str(tmp_path)}))["sandbox"]
    assert (found.level, "cause of " in found.said) == ("failed", True)
    assert "fettle doctor sandbox" in found.remedy
