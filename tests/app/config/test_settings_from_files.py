"""Settings out of what `fettle setup` wrote: nothing else is needed, and variables win."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from agents.errors import ConfigError
from app.config.settings import AppNotConfigured, load_settings, read_settings
from app.secrets.files import app_folder, keep_alone, keep_app
from tests.app.config.test_settings import pem


@pytest.fixture(scope="module")
def pem_text():
    return pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))


@pytest.fixture
def data(tmp_path, pem_text):
    keep_app(
        tmp_path,
        {
            "FETTLE_APP_ID": "12",
            "FETTLE_PRIVATE_KEY": pem_text,
            "FETTLE_WEBHOOK_SECRETS": '["a, with a comma"]',
            "FETTLE_GITHUB_URL": "https://github.example.com",
            "FETTLE_WEBHOOK_URL": "https://fettle.example.com/webhook",
        },
    )
    keep_alone(tmp_path, "ANTHROPIC_API_KEY", "sk-file")
    return tmp_path


def test_a_server_needs_nothing_but_the_data_folder(data, pem_text):
    settings = load_settings({"FETTLE_DATA_DIR": str(data)})
    assert settings.credentials.app_id == "12"
    assert settings.credentials.private_key.get_secret_value() == pem_text
    assert [s.get_secret_value() for s in settings.webhook_secrets] == ["a, with a comma"]
    assert settings.github_url == "https://github.example.com"
    assert settings.webhook_url == "https://fettle.example.com/webhook"
    assert settings.anthropic_api_key.get_secret_value() == "sk-file"
    for shown in (repr(settings), str(settings)):
        assert "comma" not in shown
        assert "sk-file" not in shown


def test_a_variable_wins_over_its_file(data):
    environ = {
        "FETTLE_DATA_DIR": str(data),
        "ANTHROPIC_API_KEY": "sk-variable",
        "FETTLE_GITHUB_URL": "https://other.example.com",
    }
    settings = load_settings(environ)
    assert settings.anthropic_api_key.get_secret_value() == "sk-variable"
    assert settings.github_url == "https://other.example.com"
    assert settings.app_id == "12"


def test_credentials_of_two_apps_are_never_mixed(data):
    environ = {"FETTLE_DATA_DIR": str(data), "FETTLE_APP_ID": "99"}
    with pytest.raises(ConfigError) as caught:
        load_settings(environ)
    assert "FETTLE_PRIVATE_KEY: is missing" in str(caught.value)
    assert "FETTLE_WEBHOOK_SECRETS: is missing" in str(caught.value)
    assert load_settings(environ, serving=False).github_url == "https://github.com"


def test_a_file_that_cannot_be_trusted_stops_every_command(data):
    (app_folder(data) / "FETTLE_WEBHOOK_SECRETS").chmod(0o644)
    for serving in (True, False):
        with pytest.raises(ConfigError) as caught:
            load_settings({"FETTLE_DATA_DIR": str(data)}, serving=serving)
        assert "- FETTLE_WEBHOOK_SECRETS: its file" in str(caught.value)
        assert "chmod 600" in str(caught.value)


def test_nothing_at_all_is_told_from_a_mistake(tmp_path):
    environ = {"FETTLE_DATA_DIR": str(tmp_path), "FETTLE_PORT": "9000"}
    with pytest.raises(AppNotConfigured) as caught:
        load_settings(environ)
    assert caught.value.settings.port == 9000
    assert "Run `fettle setup`" in str(caught.value)
    for more in ({"FETTLE_PORT": "many"}, {"FETTLE_APP_ID": "1"}, {"FETTLE_APPID": "1"}):
        with pytest.raises(ConfigError) as caught:
            load_settings(environ | more)
        assert not isinstance(caught.value, AppNotConfigured)


def test_half_a_configuration_can_be_read_with_every_problem_named(tmp_path):
    reading = read_settings(
        {
            "FETTLE_DATA_DIR": str(tmp_path),
            "FETTLE_PORT": "many",
            "FETTLE_REPOSITORIES": "{no json",
            "FETTLE_LOG_LEVEL": "debug",
            "FETTLE_PRIVATE_KEY": "hush",
            "FETTLE_COLOUR": "red",
        }
    )
    told = {each.variable for each in reading.problems}
    assert told == {
        "FETTLE_PORT",
        "FETTLE_REPOSITORIES",
        "FETTLE_PRIVATE_KEY",
        "FETTLE_COLOUR",
    }
    assert {"FETTLE_APP_ID", "ANTHROPIC_API_KEY"} <= {each.variable for each in reading.missing}
    assert (reading.settings.port, reading.settings.log_level) == (8080, "debug")
    assert "hush" not in str(reading)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://fettle.example.com", "https://fettle.example.com/webhook"),
        ("https://fettle.example.com/", "https://fettle.example.com/webhook"),
        ("https://example.com/apps/fettle", "https://example.com/apps/fettle"),
    ],
)
def test_the_webhooks_address_gets_our_path_if_it_has_none(tmp_path, given, kept):
    environ = {"FETTLE_DATA_DIR": str(tmp_path), "FETTLE_WEBHOOK_URL": given}
    assert load_settings(environ, serving=False).webhook_url == kept


@pytest.mark.parametrize("given", ["fettle.example.com", "https://u:p@h/", "https://h/x?y=1"])
def test_other_addresses_are_refused(tmp_path, given):
    environ = {"FETTLE_DATA_DIR": str(tmp_path), "FETTLE_WEBHOOK_URL": given}
    with pytest.raises(ConfigError, match="FETTLE_WEBHOOK_URL"):
        load_settings(environ, serving=False)
