"""Each model is asked for one word, by the request of a run, once its price was named."""

from __future__ import annotations

import pytest

from app.config.model_access import asked_models
from app.config.settings import read_settings
from app.doctor.models import make_question, model_findings, price_text
from app.simulator.model import LocalModel, ModelLimits, load_script

SCRIPT = """
- when: Are you there
  turns:
    - say: "Yes"
      repeat: 9
"""


@pytest.fixture
async def model(tmp_path):
    path = tmp_path / "script.yml"
    path.write_text(SCRIPT)
    started = await LocalModel.start(load_script(path))
    yield started
    await started.stop()


def settings(tmp_path, url, **more):
    environ = {"FETTLE_DATA_DIR": str(tmp_path), "ANTHROPIC_API_KEY": "sk-hush", **more}
    return read_settings({**environ, **({"ANTHROPIC_BASE_URL": url} if url else {})}).settings


async def test_each_model_is_asked_once(tmp_path, model):
    found = await model_findings(settings(tmp_path, model.url), allowed=True)
    assert [each.level for each in found] == ["ok", "ok"], found
    assert [each.model for each in model.requests] == ["claude-opus-5-5", "claude-haiku-5-5"]


async def test_without_a_yes_nothing_is_asked(tmp_path, model):
    [found] = await model_findings(settings(tmp_path, model.url), allowed=False)
    assert (found.level, "--yes" in found.said, "$0.0" in found.said) == ("skipped", True, True)
    assert not model.requests


async def test_a_refusal_is_told_without_the_key(tmp_path, model):
    model.fail_next("overloaded")
    found = await model_findings(settings(tmp_path, model.url), allowed=True)
    assert [each.level for each in found] == ["failed", "ok"]
    [gone, _] = await model_findings(settings(tmp_path, "http://127.0.0.1:9"), allowed=True)
    assert gone.level == "failed"
    assert "hush" not in str([found, gone])


async def test_no_way_to_a_model(tmp_path):
    nothing = read_settings({"FETTLE_DATA_DIR": str(tmp_path)}).settings
    [found] = await model_findings(nothing, allowed=True)
    assert (found.level, "ANTHROPIC_API_KEY" in found.said) == ("skipped", True)


def test_the_price(tmp_path):
    one = settings(tmp_path, None, FETTLE_MODEL_FAST="claude-opus-5-5")
    assert asked_models(one) == ["claude-opus-5-5"]
    assert price_text(one).startswith("$0.0")
    assert "no price is known" in price_text(settings(tmp_path, None, FETTLE_MODEL="house-model"))


OLDER = ModelLimits(effort=False, adaptive_thinking=False, longest_answer=64_000)


async def test_doctor_sends_what_runs_send_and_says_what_the_model_understands(tmp_path, model):
    model.limits["claude-haiku-4-5"] = OLDER
    one = settings(tmp_path, model.url, FETTLE_MODEL_FAST="claude-haiku-4-5")
    strong, fast = await model_findings(one, allowed=True)
    assert strong.level == fast.level == "ok"
    assert strong.said.endswith("reads 1,000,000 tokens, answers 128,000")
    assert fast.said.endswith("answers 64,000, without effort, thinking")
    assert "submit_triage" in str(make_question("m").tools)


async def test_a_model_without_a_price_fails_until_the_operator_says_one(tmp_path, model):
    house = {"FETTLE_MODEL": "house-model"}
    failed, _ = await model_findings(settings(tmp_path, model.url, **house), allowed=True)
    assert (failed.level, "FETTLE_PRICE_FILE" in failed.said) == ("failed", True)

    file = tmp_path / "prices.toml"
    file.write_text('["house-model"]\ninput = 1\noutput = 2\n')
    priced = settings(tmp_path, model.url, **house, FETTLE_PRICE_FILE=str(file))
    found = await model_findings(priced, allowed=True)
    assert [each.level for each in found] == ["ok", "ok"]


async def test_a_request_that_a_gateway_does_not_take_fails_with_the_setting_that_helps(
    tmp_path, model
):
    gateway = ModelLimits(described=False, cache_markers=False, strict_tools=False)
    model.limits["claude-opus-5-5"] = model.limits["claude-haiku-5-5"] = gateway
    failed, _ = await model_findings(settings(tmp_path, model.url), allowed=True)
    assert (failed.level, "FETTLE_MODEL_CAPABILITIES" in failed.said) == ("failed", True)

    declared = settings(tmp_path, model.url, FETTLE_MODEL_CAPABILITIES='{"*": "core"}')
    found = await model_findings(declared, allowed=True)
    assert [each.level for each in found] == ["ok", "ok"]
