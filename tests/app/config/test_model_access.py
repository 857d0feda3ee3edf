"""Which way to the models the settings name, and that there need not be one."""

from __future__ import annotations

import json

import pytest

from agents.errors import ConfigError
from agents.loop.no_model import NoModel
from agents.loop.routed_model import RoutedModel
from app.config.load import list_missing
from app.config.model_access import can_ask, list_declared, open_model
from app.config.settings import read_settings
from app.doctor.models import model_findings


def settings(tmp_path, **environ):
    return read_settings({"FETTLE_DATA_DIR": str(tmp_path), **environ}).settings


def name_missing(settings):
    return {problem.variable for problem in list_missing(settings.model_dump())}


def test_a_key_is_wanted_unless_no_model_is(tmp_path):
    nothing, none = settings(tmp_path), settings(tmp_path, FETTLE_MODELS="none")

    assert "ANTHROPIC_API_KEY" in name_missing(nothing)
    assert "ANTHROPIC_API_KEY" not in name_missing(none)
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is not set"):
        open_model(nothing)
    assert isinstance(open_model(none), NoModel)


async def test_where_no_model_is_wanted_a_key_that_is_there_is_not_used(tmp_path):
    keyed = {"ANTHROPIC_API_KEY": "sk-hush"}
    none = settings(tmp_path, FETTLE_MODELS="none", **keyed)

    assert isinstance(open_model(settings(tmp_path, **keyed)), RoutedModel)
    assert isinstance(open_model(none), NoModel)
    assert not can_ask(none)
    [found] = await model_findings(none, allowed=True)
    assert (found.level, "FETTLE_MODELS=none" in found.said) == ("skipped", True)


def test_a_file_of_prices_that_cannot_be_read_stops_the_start(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text("[house]\n")
    with pytest.raises(ConfigError, match=r"house\.input: Field required"):
        open_model(settings(tmp_path, ANTHROPIC_API_KEY="sk-hush", FETTLE_PRICE_FILE=str(file)))


def test_each_model_is_looked_for_at_the_provider_its_name_says(tmp_path):
    openai = {"FETTLE_MODEL": "openai:gpt-5", "FETTLE_MODEL_FAST": "openai:gpt-5-mini"}
    assert name_missing(settings(tmp_path, **openai)) >= {"OPENAI_API_KEY"}
    assert "ANTHROPIC_API_KEY" not in name_missing(settings(tmp_path, **openai))
    assert can_ask(settings(tmp_path, **openai, OPENAI_API_KEY="sk-hush"))
    mixed = {"FETTLE_MODEL": "bedrock:us.anthropic.claude-opus-5-5-v1:0", "AWS_REGION": "us-east-1"}
    assert "ANTHROPIC_API_KEY" in name_missing(settings(tmp_path, **mixed))  # for the fast one
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is not set"):
        open_model(settings(tmp_path, **mixed))


def test_who_holds_a_conversation_is_taken_where_it_is_known_and_judges_well(tmp_path):
    said = '{"craft_pr": "strong", "evaluation": "judge"}'
    assert settings(tmp_path, FETTLE_TIERS=said).tiers == json.loads(said)
    for wrong, why in (
        ('{"craft": "strong"}', "craft is none of triage"),
        ('{"*": "fast"}', "* is none of triage"),
        ('{"evaluation": "fast"}', "`evaluation` judges changes"),
        ('{"triage": "slow"}', "'strong', 'fast' or 'judge'"),
    ):
        [problem] = read_settings({"FETTLE_TIERS": wrong}).problems
        assert problem.variable == "FETTLE_TIERS"
        assert why in problem.text


def test_what_is_declared_of_a_model_reaches_its_provider_by_the_name_it_has_there(tmp_path):
    said = '{"*": {"effort": true}, "bedrock:a": {"strict_tools": false}, "a": "core"}'
    given = settings(tmp_path, FETTLE_MODEL_CAPABILITIES=said)
    everywhere = {"effort": True}
    assert list_declared(given, "bedrock") == {"*": everywhere, "a": {"strict_tools": False}}
    assert list_declared(given, "openai") == {"*": everywhere}
    assert list_declared(given, "anthropic")["a"]["cache_markers"] is False
