"""The decision log: found where projects keep theirs, and continued as they name it."""

from __future__ import annotations

import pytest

from agents.errors import PolicyInvalid
from agents.pipelines.resolve.decision.log import find_log, only_adds

CODE = ["README.md", "lib.py", "tests/decisions/0001-a-fixture.md"]


@pytest.mark.parametrize(
    ("records", "name"),
    [
        (["docs/adr/0001-use-x.md", "docs/adr/0009-use-y.md"], "docs/adr/0010-<words>.md"),
        (["doc/adr/0001-record-decisions.md"], "doc/adr/0002-<words>.md"),
        (["adr/ADR-001-Use-X.md"], "adr/ADR-002-<words>.md"),
        (["adr/adr_0099_use_x.md"], "adr/adr_0100_<words>.md"),
        (["docs/decisions/7-use-x.md", "docs/decisions/12-y.md"], "docs/decisions/13-<words>.md"),
        (["docs/adr/20240131-use-x.md"], "docs/adr/YYYYMMDD-<words>.md"),
        (["docs/adr/2024-01-31-use-x.md"], "docs/adr/YYYY-MM-DD-<words>.md"),
        (["doc/architecture/decisions/0004-x.rst"], "doc/architecture/decisions/0005-<words>.rst"),
        (["architecture-decisions/0001-x.md"], "architecture-decisions/0002-<words>.md"),
    ],
)
def test_a_new_record_is_named_as_the_newest_one_is(records, name):
    log = find_log([*CODE, *records])

    assert f"{log.folder}/{log.name}" == name
    assert log.newest == records[-1]
    assert not log.file
    assert log.existing


def test_a_template_is_no_record():
    log = find_log(["docs/adr/0000-template.md", "docs/adr/template.md", "docs/adr/README.md"])

    assert log.name == "0001-<words>.md"
    assert log.newest == ""
    assert log.index == "docs/adr/README.md"


@pytest.mark.parametrize("path", ["DECISIONS.md", "docs/decisions.md", "doc/decision-log.md"])
def test_a_single_file_is_the_log(path):
    assert find_log([*CODE, path]).file == path


def test_a_folder_with_records_comes_before_a_file_and_a_file_before_an_empty_folder():
    assert find_log(["DECISIONS.md", "docs/adr/0001-x.md"]).folder == "docs/adr"
    assert find_log(["DECISIONS.md", "docs/adr/README.md"]).file == "DECISIONS.md"


def test_of_two_folders_it_is_the_one_with_more_records():
    few, many = "docs/adr/0001-x.md", ["web/docs/adr/0001-a.md", "web/docs/adr/0002-b.md"]

    assert find_log([few, *many]).folder == "web/docs/adr"


def test_where_there_is_none_one_is_begun():
    log = find_log(CODE)

    assert (log.folder, log.name, log.existing) == ("docs/decisions", "0001-<words>.md", False)
    assert log.takes("docs/decisions/0001-no-new-syntax.md", CODE)


def test_what_others_vendored_or_test_with_is_not_the_projects():
    assert find_log(["vendor/x/adr/0001-x.md", "examples/adr/0001-x.md"]).folder == "docs/decisions"


def test_owners_can_name_the_place():
    assert find_log([*CODE, "notes/why.md"], "notes/why.md").file == "notes/why.md"
    assert not find_log(CODE, "./notes/why.md").existing
    named = find_log([*CODE, "notes/why/003-x.md"], "notes/why/")
    assert (named.folder, named.name) == ("notes/why", "004-<words>.md")
    assert find_log(CODE, "notes/why").name == "0001-<words>.md"


@pytest.mark.parametrize("path", ["../elsewhere", "/etc/adr", ".", ".git/decisions", "a\u202eb.md"])
def test_a_place_outside_of_the_repository_is_the_owners_mistake(path):
    with pytest.raises(PolicyInvalid, match=r"decisions\.path"):
        find_log(CODE, path)


def test_it_takes_a_new_record_and_the_index_and_nothing_else():
    present = [*CODE, "docs/adr/0001-x.md", "docs/adr/README.md"]
    log = find_log(present)

    taken = [
        "docs/adr/0002-no-new-syntax.md",
        "docs/adr/README.md",
    ]
    refused = [
        "docs/adr/0001-x.md",
        "docs/adr/0001-another.md",
        "docs/adr/0003-later.md",
        "docs/adr/0002-a/b.md",
        "docs/adr/0002-a.py",
        "docs/adr/0002-.md",
        "docs/adr/.0002-a.md",
        "docs/0002-no-new-syntax.md",
        "lib.py",
        "../docs/adr/0002-no.md",
    ]
    assert [path for path in [*taken, *refused] if log.takes(path, present)] == taken


def test_a_dated_log_takes_a_date():
    present = ["docs/adr/20240131-use-x.md"]
    log = find_log(present)

    assert log.takes("docs/adr/20260102-no-new-syntax.md", present)
    assert not log.takes("docs/adr/1-no-new-syntax.md", present)
    assert not log.takes(present[0], present)


def test_a_file_that_grows_keeps_its_lines():
    old = b"# Decisions\n\n## 1. Use X\n\nBecause.\n"

    assert only_adds(old, old + b"\n## 2. No Y\n")
    assert only_adds(old, b"# Decisions\n\n## 2. No Y\n\n## 1. Use X\n\nBecause.\n")
    assert only_adds(b"", b"# Decisions\n")
    assert not only_adds(old, old.replace(b"Because", b"No longer"))
    assert not only_adds(old, b"## 1. Use X\n\nBecause.\n")
    assert not only_adds(old, b"")
