"""What the terminal and the log never show: every secret that the process was given."""

from __future__ import annotations

from cryptography.fernet import Fernet

from app.cli.terminal import redactor_of
from app.config.settings import load_settings


def test_the_redactor_knows_every_secret_of_the_settings():
    key = Fernet.generate_key().decode()
    given = {
        "ANTHROPIC_API_KEY": "an-api-key-of-somebody",
        "FETTLE_WEBHOOK_SECRETS": "a-webhook-secret-here",
        "FETTLE_ENCRYPTION_KEYS": key,
        "FETTLE_CLIENT_SECRET": "a-client-secret-of-the-app",
        "FETTLE_OTLP_HEADERS": '{"authorization": "Bearer for-the-collector-alone"}',
        "FETTLE_DATABASE_URL": "postgresql://fettle:a-password-of-the-server@db/fettle",
        "FETTLE_DATA_DIR": "/nowhere",
    }
    redactor = redactor_of(load_settings(given, serving=False))
    plain = (
        "a-client-secret-of-the-app",
        "a-password-of-the-server",
        "an-api-key-of-somebody",
        "a-webhook-secret-here",
    )
    for secret in (key, *plain):
        assert secret not in redactor.clean(f"It said {secret}.")
    for told in ("authorization: Bearer for-the-collector-alone", "for-the-collector-alone"):
        assert "for-the-collector-alone" not in redactor.clean(told)
