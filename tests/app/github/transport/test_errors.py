"""What GitHub refuses, in sentences that people can read."""

import pytest

from app.github.transport.errors import to_error
from app.github.transport.rate_limits import NO_ANSWER, Call, Reply


def describe_fault(status, message, *, as_app=False):
    call = Call("GET", "/app", repeatable=True, as_app=as_app)
    return str(to_error(call, Reply(status, message)))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("A JSON web token could not be decoded", "could not be decoded. Check that FETTLE_APP_ID"),
        ("Bad credentials.", "Bad credentials. Check that"),
        ("Really?", "Really? Check that"),
        (" ", "signature. Check that"),
    ],
)
def test_githubs_words_end_before_ours_begin(words, sentence):
    assert sentence in describe_fault(401, words, as_app=True)


def test_what_kept_us_from_github_is_not_put_into_its_mouth():
    text = describe_fault(NO_ANSWER, "ClientConnectorError")
    assert "GitHub did not answer `GET /app` (ClientConnectorError). Is it in reach" in text
    assert "GitHub says" not in text
