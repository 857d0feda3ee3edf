"""Secrets that are encoded, wrapped, interrupted or cut are taken out as well."""

from __future__ import annotations

import base64
import html
import textwrap

import pytest

from agents.text import truncate
from app.secrets.redaction import REDACTED, Redactor

SECRET = "Zk3-9fQ_x7RtV2mLp8Ws4Yb6Nc1Dd5Ge0Hh"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEY = "\n".join(base64.b64encode(bytes(range(each, each + 48))).decode() for each in range(20))

DISGUISES = {
    "entities": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "some entities": lambda text: text.replace("3", "&#x33;").replace("_", "&lowbar;"),
    "percent": lambda text: "".join(f"%{ord(each):02x}" for each in text),
    "percent of percent": lambda text: "".join(f"%25{ord(each):02x}" for each in text),
    "zero width": "\u200b".join,
    "word joiners": "\u2060".join,
    "backslashes": lambda text: text.replace("-", r"\-").replace("_", r"\_"),
    "wrapped": lambda text: "\n".join(textwrap.wrap(text, 16)),
    "wrapped in a quote": lambda text: "\n> ".join(textwrap.wrap(text, 16)),
    "wrapped base64": lambda text: "\n".join(
        textwrap.wrap(base64.b64encode(f"user:{text}".encode()).decode(), 12)
    ),
    "base64 in entities": lambda text: html.escape(base64.b64encode(text.encode()).decode()),
}


@pytest.mark.parametrize("name", DISGUISES)
@pytest.mark.parametrize("secret", [SECRET, TOKEN], ids=["known", "of a known kind"])
def test_no_disguise_helps(name, secret):
    redactor = Redactor([SECRET, TOKEN])
    worn = DISGUISES[name](secret)
    told = redactor.clean(f"before {worn} after")
    assert told.startswith("before ")
    assert told.endswith(" after")
    assert REDACTED in told
    left = told.removeprefix("before ").removesuffix(" after").replace(REDACTED, "")
    assert len(left) <= 12  # what is around it in a longer base64 text


def test_a_key_that_is_wrapped_anew():
    one_line = base64.b64encode(KEY.encode()).decode()
    redactor = Redactor([KEY])
    for width in (40, 64, 76):
        told = redactor.clean("\n".join(textwrap.wrap(one_line, width)))
        assert len(told) < 40


@pytest.mark.parametrize("kept", [8, 12, 20, 34])
@pytest.mark.parametrize("secret", [SECRET, TOKEN], ids=["known", "of a known kind"])
def test_no_half_is_left_where_a_text_was_cut(secret, kept):
    redactor = Redactor([SECRET])
    kept = max(kept, 12) if secret == TOKEN else kept
    for cut in (
        f"it says {secret[:kept]}",
        f"it says {secret[:kept]}…",
        f"it says {secret[:kept]}\n[… 900 characters left out …]\nmore",
    ):
        assert secret[: kept - 1] not in redactor.clean(cut)


@pytest.mark.parametrize("kept", [8, 20, 34])
def test_no_end_is_left_where_a_text_begins(kept):
    redactor = Redactor([SECRET])
    for cut in (f"{SECRET[-kept:]} it says", f"a [… left out …{SECRET[-kept:]} it says"):
        assert SECRET[-kept:] not in redactor.clean(cut)


def test_what_is_cut_by_us_shows_no_half():
    redactor = Redactor([SECRET])
    for room in range(60, 110):
        cut = truncate(f"{'word ' * 12}{SECRET} {'word ' * 20}", room, "the rest is elsewhere")
        told = redactor.clean(cut)
        assert not any(SECRET[at : at + 10] in told for at in range(len(SECRET) - 10)), told


@pytest.mark.parametrize(
    "text",
    [
        "100%25 of &amp; and &lt;tags&gt; a%20b",
        "one\ntwo\n> three\n- four",
        "postgresql",
        "the database is postgresql",
        "emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 and a\\_b",
        "… and so on [… 12 characters left out …] end",
    ],
)
def test_ordinary_texts_stay(text):
    assert Redactor([SECRET, "postgresql://fettle:pw1234567@host/db"]).clean(text) == text
