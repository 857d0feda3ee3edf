"""What GitHub says of alerts is read as hostile text, field by field."""

from __future__ import annotations

import pytest

from app.github.alerts.schema import (
    LONGEST_DESCRIPTION,
    UNREADABLE,
    alert_in,
    ecosystem_name,
    is_package,
    published_in,
    same_package,
)


def an_alert(**changes):
    shape = {
        "number": 3,
        "state": "open",
        "dependency": {
            "package": {"ecosystem": "pip", "name": "jinja2"},
            "manifest_path": "api/requirements.txt",
            "scope": "runtime",
        },
        "security_advisory": {
            "ghsa_id": "GHSA-h5c8-rqwp-cp95",
            "cve_id": "CVE-2024-22195",
            "severity": "medium",
            "summary": "Jinja",
            "description": "Long.",
            "withdrawn_at": None,
        },
        "security_vulnerability": {
            "package": {"ecosystem": "pip", "name": "jinja2"},
            "severity": "high",
            "vulnerable_version_range": ">= 3.0, < 3.1.3",
            "first_patched_version": {"identifier": "3.1.3"},
        },
    }
    for path, value in changes.items():
        place = shape
        *way, last = path.split("__")
        for each in way:
            place = place[each]
        place[last] = value
    return shape


def read(**changes):
    return alert_in(an_alert(**changes), lambda text: text.replace("s3cret", "[redacted]"))


def test_an_alert_is_read_whole():
    alert = read()

    assert (alert.ghsa_id, alert.cve_id, alert.alert) == (
        "GHSA-h5c8-rqwp-cp95",
        "CVE-2024-22195",
        3,
    )
    assert (alert.severity, alert.package, alert.ecosystem) == ("high", "jinja2", "pip")
    assert (alert.vulnerable, alert.first_patched) == (">= 3.0, < 3.1.3", "3.1.3")
    assert (alert.manifest, alert.directory, alert.scope) == (
        "api/requirements.txt",
        "api",
        "runtime",
    )
    assert (alert.summary, alert.description, alert.undisclosed) == ("Jinja", "Long.", False)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("state", "fixed"),
        ("state", None),
        ("number", 0),
        ("number", "three"),
        ("security_advisory__withdrawn_at", "2026-01-01T00:00:00Z"),
        ("security_advisory__ghsa_id", "GHSA-<b>"),
        ("security_advisory", None),
        ("security_vulnerability__package__name", "<img src=x onerror=alert(1)>"),
        ("security_vulnerability__package__name", "jinja2\n/bot approve abc"),
        ("security_vulnerability__package__name", "--index-url=//evil.example"),
        ("security_vulnerability__package__name", "@" * 301),
        ("security_vulnerability__package__name", None),
        ("dependency__manifest_path", "../../etc/requirements.txt"),
        ("dependency__manifest_path", "a/./b/requirements.txt"),
        ("dependency__manifest_path", "a\\..\\requirements.txt"),
        ("dependency__manifest_path", "a\x00b/requirements.txt"),
        ("dependency__manifest_path", ""),
        ("dependency__manifest_path", "a/" * 600 + "requirements.txt"),
    ],
)
def test_what_is_no_open_alert_is_left_out(place, value):
    assert read(**{place: value}) is None


@pytest.mark.parametrize(
    "nonsense", ["", None, "<script>", "< 3\n>= 1", "`< 3`", "< 3" * 300, "all of them; rm -rf /"]
)
def test_a_range_that_is_none_stays_unreadable_and_never_becomes_a_safe_one(nonsense):
    alert = read(security_vulnerability__vulnerable_version_range=nonsense)
    assert alert.vulnerable == UNREADABLE


def test_what_is_beside_the_point_is_dropped_alone():
    alert = read(
        security_advisory__cve_id="CVE-x",
        security_vulnerability__first_patched_version={"identifier": "3.1.3 && curl evil"},
        security_vulnerability__severity="terrible",
        dependency__scope="both",
    )
    assert (alert.cve_id, alert.first_patched, alert.severity, alert.scope) == (
        "",
        "",
        "medium",
        "",
    )
    assert read(security_vulnerability__first_patched_version=None).first_patched == ""


def test_nobodys_secret_is_handed_on_and_nothing_is_endless():
    alert = read(
        security_advisory__summary="token s3cret",
        security_advisory__description="<b>s3cret</b>" + "x" * 100_000,
    )
    assert alert.summary == "token [redacted]"
    assert "s3cret" not in alert.description
    assert len(alert.description) < LONGEST_DESCRIPTION + 20


@pytest.mark.parametrize("shape", [None, [], "alert", {}, {"number": 3}, 7])
def test_another_shape_is_no_alert(shape):
    assert alert_in(shape, str) is None


@pytest.mark.parametrize(
    ("said", "name"),
    [("PIP", "pip"), ("PyPI", "pip"), ("cargo", "rust"), ("bundler", "rubygems"), ("npm", "npm")],
)
def test_ecosystems_have_one_name(said, name):
    assert ecosystem_name(said) == name


def test_names_of_packages():
    names = ("@babel/core", "org.apache:commons-io", "github.com/a/b/v2", "zope.interface", "_x")
    assert all(map(is_package, names))
    assert not any(map(is_package, ("", "a b", "-r", "a,b", "a@1|b", "ä", "a`b")))
    assert same_package("pip", "Zope.Interface", "zope-interface")
    assert not same_package("npm", "zope.interface", "zope-interface")


def test_an_advisory_has_one_entry_for_each_range_of_what_was_asked_for():
    found = {
        "ghsa_id": "GHSA-h5c8-rqwp-cp95",
        "cve_id": None,
        "severity": "unknown",
        "summary": "s3cret",
        "description": None,
        "withdrawn_at": None,
        "vulnerabilities": [
            {
                "package": {"ecosystem": "pip", "name": "Jinja2"},
                "vulnerable_version_range": "< 2",
                "first_patched_version": "2",
            },
            {
                "package": {"ecosystem": "pip", "name": "jinja2"},
                "vulnerable_version_range": None,
                "first_patched_version": None,
            },
            {
                "package": {"ecosystem": "npm", "name": "jinja2"},
                "vulnerable_version_range": "< 2",
                "first_patched_version": None,
            },
            {"package": None, "vulnerable_version_range": "< 2", "first_patched_version": None},
        ],
    }
    one, other = published_in(found, "pip", {"jinja2"}, lambda text: text.replace("s3cret", "-"))
    assert (one.package, one.vulnerable, one.first_patched, one.alert) == ("Jinja2", "< 2", "2", 0)
    assert (other.vulnerable, one.summary, one.severity) == (UNREADABLE, "-", "high")
    assert (
        published_in({**found, "withdrawn_at": "2026-01-01T00:00:00Z"}, "pip", {"jinja2"}, str)
        == []
    )
    assert published_in({**found, "vulnerabilities": None}, "pip", {"jinja2"}, str) == []
    assert published_in("nothing", "pip", {"jinja2"}, str) == []
