"""Which addresses may be asked for at all."""

from __future__ import annotations

import pytest

from agents.errors import ToolError
from agents.tools.url import parse_target


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://docs.example.com", ("https://docs.example.com", "docs.example.com", 443)),
        (
            "http://Docs.Example.COM/A?b=C#d",
            ("http://docs.example.com/A?b=C", "docs.example.com", 80),
        ),
        ("HTTPS://docs.example.com./a", ("https://docs.example.com/a", "docs.example.com", 443)),
        ("https://a.example:443/", ("https://a.example:443/", "a.example", 443)),
        ("https://a.example:80/", ("https://a.example:80/", "a.example", 80)),
        (
            "https://xn--bcher-kva.example/",
            ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
        ),
    ],
)
def test_plain_addresses_pass_in_one_spelling(url, seen):
    found = parse_target(url)

    assert (found.url, found.host, found.port) == seen


@pytest.mark.parametrize(
    "url",
    [
        "",
        "docs.example.com",
        "//docs.example.com/",
        "file:///etc/passwd",
        "ftp://docs.example.com/",
        "data:text/plain,hello",
        "gopher://docs.example.com/",
        "javascript:alert(1)",
        "https:///nothing",
        "https://user@docs.example.com/",
        "https://user:pass@docs.example.com/",
        "https://docs.example.com@evil.example/",
        "https://@docs.example.com/",
        "http://docs.example.com:22/",
        "http://docs.example.com:0/",
        "http://docs.example.com:65536/",
        "http://docs.example.com:x/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://a.0x7f/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://①②⑦.⓪.⓪.①/",
        "http://docs。example。com/",
        "http://b\u00fccher.example/",
        "http://localhost/",
        "http://intranet/",
        "http://docs.example.com../",
        "http://.example.com/",
        "http://-a.example.com/",
        "http://a..example.com/",
        "http://docs.example.com\\@evil.example/",
        "http://docs.example.com/a b",
        "http://docs.example.com/\r\nHost: evil",
        "http://docs.example.com/\0",
        "http://docs%2eexample.com/",
        f"http://{'a.' * 130}example/",
        "http://docs.example.com/" + "a" * 2_000,
    ],
)
def test_everything_else_is_refused_with_a_reason(url):
    with pytest.raises(ToolError) as refused:
        parse_target(url)

    assert str(refused.value).endswith(".")
