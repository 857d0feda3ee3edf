"""The App's signature: what GitHub accepts, and what it says about a wrong key."""

from __future__ import annotations

import secrets
from email.utils import formatdate

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from agents.errors import ConfigError
from app.github.transport.app_jwt import AppJwt

KEY = rsa.generate_private_key(65537, 2048)
FORMATS = serialization.PrivateFormat


def pem(key, form=FORMATS.TraditionalOpenSSL) -> str:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()


def claims(token: str) -> dict:
    options = {"verify_exp": False, "verify_iat": False}
    return jwt.decode(token, KEY.public_key(), ["RS256"], options=options)


@pytest.mark.parametrize("form", [FORMATS.TraditionalOpenSSL, FORMATS.PKCS8])
def test_the_claims_fit_githubs_rules(form):
    token = AppJwt(4711, pem(KEY, form), clock=lambda: 1_000_000.5).token()

    assert claims(token) == {"iat": 999_940, "exp": 1_000_540, "iss": "4711"}
    assert claims(token)["exp"] - claims(token)["iat"] <= 600


def test_it_is_kept_until_shortly_before_its_end():
    now = [0.0]
    made = AppJwt(1, pem(KEY), clock=lambda: now[0])
    first = made.token()
    now[0] = 479
    assert made.token() is first
    now[0] = 480
    assert claims(made.token())["exp"] == 480 + 540


def test_it_learns_githubs_clock():
    made = AppJwt(1, pem(KEY), clock=lambda: 1000.0)

    assert made.set_clock(formatdate(5000, usegmt=True))
    assert claims(made.token())["iat"] == 4940
    assert not made.set_clock(formatdate(5000, usegmt=True))


@pytest.mark.parametrize("date", [None, "", "yesterday", "Thu, 99 Foo 2025 00:00:00 GMT"])
def test_a_date_that_is_none_teaches_nothing(date):
    assert not AppJwt(1, pem(KEY)).set_clock(date)


@pytest.mark.parametrize(
    "key", ["", "ghs_x", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----"]
)
def test_a_key_that_is_none_is_refused_without_showing_it(key):
    with pytest.raises(ConfigError, match="FETTLE_PRIVATE_KEY") as error:
        AppJwt(1, key)

    assert "AAAA" not in str(error.value)


def test_a_key_of_another_kind_is_refused():
    with pytest.raises(ConfigError, match="RSA"):
        AppJwt(1, pem(ec.generate_private_key(ec.SECP256R1())))


def test_an_encrypted_key_is_refused():
    form = serialization.BestAvailableEncryption(secrets.token_bytes(8))
    key = KEY.private_bytes(serialization.Encoding.PEM, FORMATS.PKCS8, form).decode()
    with pytest.raises(ConfigError):
        AppJwt(1, key)
