"""What the terminal and the log never show: every secret that the process was given."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr

from app.cli.terminal import redactor_of
from app.config.load import variable_of
from app.config.settings import Settings, load_settings
from app.secrets.redaction import REDACTED

PEM = (
    rsa.generate_private_key(public_exponent=65537, key_size=2048)
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    .decode()
)
PLAIN = "a-secret-of-somebody"
SHAPED = {  # what a setting takes of which not every text is good, and the secret in it
    "database_url": (f"postgresql://fettle:{PLAIN}@db/fettle", PLAIN),
    "encryption_keys": (key := Fernet.generate_key().decode(), key),
    "http_proxy": (f"http://fettle:{PLAIN}@proxy.example:3128", PLAIN),
    "https_proxy": (f"http://fettle:{PLAIN}@proxy.example:3128", PLAIN),
    "otlp_headers": (json.dumps({"authorization": f"Bearer {PLAIN}"}), PLAIN),
    "private_key": (PEM, PEM.splitlines()[3]),  # whole, it is known by its shape
}


def is_secret(annotation: object) -> bool:
    return annotation is SecretStr or any(map(is_secret, get_args(annotation)))


SECRET = [name for name, field in Settings.model_fields.items() if is_secret(field.annotation)]


@pytest.mark.parametrize("name", SECRET)
def test_no_secret_of_the_settings_is_shown(name):
    text, secret = SHAPED.get(name, (PLAIN, PLAIN))
    variable = variable_of(name, Settings.model_fields[name].validation_alias)
    settings = load_settings({variable: text, "FETTLE_DATA_DIR": "/nowhere"}, serving=False)
    assert redactor_of(settings).clean(f"It said {secret}.") == f"It said {REDACTED}."
