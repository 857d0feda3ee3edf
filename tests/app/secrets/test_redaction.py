"""Secrets do not get out, in whatever form they stand in the text."""

from __future__ import annotations

import base64
import json
import re
import secrets
import string
import time
from urllib.parse import quote, quote_plus

import pytest
import re2
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st

from app.secrets.redaction import REDACTED, Redactor

PASSWORD = 'pä"ss/w+rd = \\ 1&2'


def private_key() -> str:
    return (
        rsa.generate_private_key(65537, 2048)
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        .decode()
    )


@pytest.mark.parametrize(
    "form",
    [
        PASSWORD,
        json.dumps(PASSWORD)[1:-1],
        json.dumps(PASSWORD, ensure_ascii=False)[1:-1],
        quote(PASSWORD),
        quote(PASSWORD, safe=""),
        re.sub("%..", lambda code: code[0].lower(), quote(PASSWORD, safe="")),
        quote_plus(PASSWORD),
        PASSWORD.encode().hex(),
        PASSWORD.encode().hex().upper(),
    ],
)
def test_a_value_goes_in_each_of_its_forms(form):
    cleaned = Redactor([PASSWORD]).clean(f"before <{form}> after <{form}>")

    assert cleaned == f"before <{REDACTED}> after <{REDACTED}>"


@given(
    before=st.binary(max_size=8),
    after=st.binary(max_size=8),
    secret=st.text(string.ascii_letters + string.digits, min_size=16, max_size=60),
)
def test_nothing_of_a_value_inside_a_longer_base64_text_can_be_decoded(before, after, secret):
    redactor = Redactor([secret])
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + secret.encode() + after).decode()
        cleaned = redactor.clean(text)

        assert REDACTED in cleaned
        # At both edges one character may stay that holds bits of two bytes.
        assert len(cleaned) - len(REDACTED) <= len(text) - len(secret) * 4 // 3 + 2


def test_a_basic_header_hides_its_password():
    token = "ghs_" + secrets.token_hex(18)
    header = base64.b64encode(f"x-access-token:{token}".encode()).decode()

    cleaned = Redactor([token]).clean(f"Authorization: basic {header}")

    assert token not in base64.b64decode(cleaned.split()[-1].split("[")[0] + "==").decode()
    assert REDACTED in cleaned


def new_style_token(app_id: int = 123456) -> str:
    """Return the stateless form: dots, dashes and underscores inside, some 520 characters."""
    parts = [secrets.token_urlsafe(n) for n in (40, 200, 140)]
    return f"ghs_{app_id}_eyJ{'.'.join(parts)}"


@pytest.mark.parametrize(
    "secret",
    [
        "ghs_" + "a1B2" * 9,
        *(prefix + "a1B2" * 9 for prefix in ("ghp_", "gho_", "ghu_", "ghr_")),
        new_style_token(),
        "github_pat_11ABCDEFG0" + "x_Y9" * 15,
        "sk-ant-api03-" + "aB3-_" * 18,
        "AKIA" + "Q7ZK" * 4,
        "xoxb-1234567890-" + "a1B2" * 6,
        "glpat-" + "x_Y9" * 5,
        "npm_" + "a1B2" * 9,
        "AIza" + "x_Y9-" * 7,
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0NTYifQ." + "Zm9v-_" * 40,
        private_key(),
        private_key().strip().replace("\n", "\\n"),
        private_key()[:600],
    ],
    ids=lambda secret: secret[:14],
)
def test_unknown_secrets_go_by_their_pattern(secret):
    cleaned = Redactor().clean(f"token={secret}\n")

    assert cleaned.strip() == f"token={REDACTED}"


def test_an_unknown_token_goes_whole_though_it_begins_like_a_known_one():
    known = "ghs_" + "k" * 60 + "1" * 40
    other = "ghs_" + "k" * 60 + "2" * 90

    assert Redactor([known]).clean(f"{other} {known}") == f"{REDACTED} {REDACTED}"


def test_a_value_that_is_cut_off_goes_as_well():
    value = secrets.token_hex(100)

    assert Redactor([value]).clean(f"… {value[:150]}") == f"… {REDACTED}"


def test_the_longer_of_two_values_goes_whole():
    assert Redactor(["hunter2", "hunter2-and-more"]).clean("hunter2-and-more") == REDACTED


def test_single_lines_of_a_key_go():
    key = private_key()

    assert Redactor([key]).clean(f"line: {key.splitlines()[3]}") == f"line: {REDACTED}"


def test_ordinary_text_stays():
    text = "gh_actions ghs_short sk-ant eyJ.eyJ.x a@b.c -----BEGIN CERTIFICATE----- ghost"

    assert Redactor(["", "abc"]).clean(text) == text


def test_a_value_is_forgotten_after_its_lifetime():
    now = [0.0]
    redactor = Redactor(clock=lambda: now[0])
    redactor.add("first-secret", lifetime=60)
    now[0] = 61
    redactor.add("second-secret")

    assert redactor.clean("first-secret second-secret") == f"first-secret {REDACTED}"


def measure(redactor, text):
    """Return the seconds of processor time that one cleaning takes, the least of three."""
    taken = []
    for _ in range(3):
        began = time.thread_time()
        redactor.clean(text)
        taken.append(time.thread_time() - began)
    return min(taken)


def test_a_log_line_costs_little_more_with_many_secrets_than_with_one():
    line = json.dumps({"event": "stage finished", "run": "r-1", "seconds": 1.5, "x": "y " * 60})
    few = Redactor([private_key()])
    many = Redactor([new_style_token() for _ in range(20)] + [private_key()])

    assert measure(many, line * 200) < 5 * measure(few, line * 200)


def test_hostile_text_takes_linear_time():
    redactor = Redactor([private_key()])

    def build(times):
        return "-----BEGIN RSA PRIVATE KEY-----" * times + "ghs_" * 5 * times + "eyJ" * 5 * times

    # Eight times the text: 8 in linear time, 64 in quadratic.
    assert measure(redactor, build(20_000)) < 24 * measure(redactor, build(2_500))


def test_characters_of_every_width_and_halves_of_some_move_no_span():
    redactor = Redactor([PASSWORD, "hunter2-hunter2"])
    text = f"\ud800 é {PASSWORD}🐟hunter2-hunter2\udfff hunter2-hunter2"

    assert redactor.clean(text) == f"\ud800 é {REDACTED}🐟{REDACTED}\udfff {REDACTED}"


def test_as_many_tokens_as_a_large_organisation_has_are_all_found():
    tokens = [f"v1.{secrets.token_hex(20)}" for _ in range(1_500)]
    redactor = Redactor(tokens)

    assert redactor.clean(" ".join(tokens[::100])) == " ".join([REDACTED] * 15)


def test_the_search_keeps_no_earlier_secret():
    redactor = Redactor(["an-earlier-secret"])
    redactor.clean("text")

    assert re2._Regexp._make.cache_info().currsize == 0


def test_of_thousands_of_tokens_each_is_found_and_few_are_indexed_anew():
    redactor = Redactor()
    indexed = 0
    for number in range(3000):
        token = f"ghs_{number:036d}"
        redactor.add(token)
        before = redactor._indexes
        assert token not in redactor.clean(f"token {token}.")
        [new] = [index for index in redactor._indexes if index not in before]
        indexed += len(new.secrets)
    assert indexed < 3000 * 12  # each again only as often as the sizes double
    assert len(redactor._indexes) < 20
    for number in range(0, 3000, 100):
        token = f"ghs_{number:036d}"
        assert redactor.clean(f"x{token.encode().hex()}y") == f"x{REDACTED}y"


def test_a_value_that_was_ended_is_soon_an_ordinary_word():
    now = [0.0]
    redactor = Redactor(clock=lambda: now[0])
    redactor.add("hunter2hunter2", lifetime=3600)
    assert redactor.clean("hunter2hunter2") == REDACTED
    redactor.end("hunter2hunter2", lifetime=60)
    assert redactor.clean("hunter2hunter2") == REDACTED
    now[0] = 61
    redactor.add("another-secret")
    assert redactor.clean("hunter2hunter2") == "hunter2hunter2"
