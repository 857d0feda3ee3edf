"""Hosts, keys and credentials, taken apart."""

import pytest

from app.dependencies.origins import (
    Allowed,
    Key,
    Origin,
    is_host,
    place_of,
    remove_credentials,
    without_credentials,
)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://Index.Example/simple", "https://index.example"),
        ("https://index.example.:8443/x", "https://index.example:8443"),
        ("http://127.0.0.1:3141/root", "http://127.0.0.1:3141"),
        ("https://[2606:4700::1]/x", "https://[2606:4700::1]"),
        ("http://index.example:80/", "http://index.example"),
    ],
)
def test_places(url, place):
    assert str(place_of(url)) == place


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example",
        "https://",
        "https://*.example",
        "https://a b",
        "https://a.example:99999",
        "file:///etc",
        "https://ü.example",
        "git+ssh://git@a.example/x",
    ],
)
def test_what_is_no_place(url):
    with pytest.raises(ValueError):  # noqa: PT011 whichever says it
        place_of(url)


@pytest.mark.parametrize("host", ["a..b\r\n", "", "-a", "a" * 300, "a/b", "a%00b"])
def test_what_is_no_host(host):
    assert not is_host(host)


def test_a_key_opens_only_what_lies_below_its_path():
    key = Key.basic("/api/team/", "bot", "secret")
    assert key.opens("/api/team/simple/six/")
    assert key.opens("/api/team/@scope%2fname")
    assert key.opens("/api/team/a..b/...")
    for path in (
        "/api/other/simple/",
        "/api/team/../other/",
        "/api/team/%2e%2e/other/",
        "/api/team/%252e%252e/other/",
        "/api/team/..;x/other/",
        "/api/team/..%2fother/",
        "/api/team/..\\other/",
        "/api/teams",
    ):
        assert not key.opens(path), path


def test_a_key_shows_nothing():
    key = Key.bearer("/", "hunter22")
    origin = Origin(place_of("https://a.example"), "index", keys=(key,))
    assert "hunter22" not in f"{key!r} {origin!r}"


def test_credentials_come_off():
    assert without_credentials("https://u:p%40ss@a.example:8/x?y") == (
        "https://a.example:8/x?y",
        ("u", "p@ss"),
    )
    assert without_credentials("https://a.example/x@y") == ("https://a.example/x@y", None)
    assert remove_credentials("see https://u:p@a.example and http://t@b.example/x@y") == (
        "see https://a.example and http://b.example/x@y"
    )


def test_only_the_exact_host_and_port_are_found():
    allowed = Allowed([Origin(place_of("https://a.example"), "index")])
    assert allowed.find_for_connect("A.example.", 443)
    for host, port in (("a.example", 80), ("b.a.example", 443), ("a.example.evil", 443)):
        assert allowed.find_for_connect(host, port) is None


@pytest.mark.parametrize(
    ("url", "private_ok", "allowed"),
    [
        ("http://127.0.0.1:3141", True, True),
        ("http://127.0.0.1:3141", False, False),
        ("https://8.8.8.8", False, True),
        ("http://169.254.169.254", True, False),
        ("http://[fd00:ec2::254]", True, False),
    ],
)
def test_an_index_that_is_an_address(url, private_ok, allowed):
    place = place_of(url)
    found = Allowed([Origin(place, "index", private_ok=private_ok)]).find(*place)
    assert bool(found) == allowed


def test_where_a_host_is_wanted_twice_keys_end_the_tunnel():
    place = place_of("https://a.example")
    plain, tunnel = Origin(place, "index"), Origin(place, "operator", tunnel=True)
    private = Origin(place, "index", keys=(Key.bearer("/", "hunter22"),))
    assert Allowed([plain, tunnel]).find_for_connect("a.example", 443).tunnel
    assert not Allowed([private, tunnel]).find_for_connect("a.example", 443).tunnel
