"""The size of a change is what people read of it."""

from __future__ import annotations

import pytest

from agents.analysis.change_size import LONGEST, count_changed_lines, list_generated_patterns


def change(path, added=3, removed=1):
    old, new = [f"-old {n}" for n in range(removed)], [f"+new {n}" for n in range(added)]
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    return head + "\n".join([f"@@ -1,{removed} +1,{added} @@", *old, *new]) + "\n"


def test_what_is_added_and_taken_away_counts():
    assert count_changed_lines(change("lib.py") + change("tests/test_lib.py", 10, 0)) == 14
    assert count_changed_lines("") == 0


@pytest.mark.parametrize(
    "path",
    [
        "package-lock.json",
        "web/pnpm-lock.yaml",
        "uv.lock",
        "go.sum",
        "Cargo.lock",
        "api/v1/user.pb.go",
        "user_pb2.py",
        "static/app.min.js",
        "ui/__snapshots__/form.test.js.snap",
    ],
)
def test_what_tools_write_does_not_count(path):
    assert count_changed_lines(change(path, 5_000) + change("lib.py")) == 4


def test_the_repository_says_what_else_is_generated():
    attributes = (
        "# linguist-generated\n*.py text\napi/*.py linguist-generated=true\n"
        "/out/** -text linguist-generated\nx.py -linguist-generated\n"
        "y.py linguist-generated=false\n"
    )
    patterns = list_generated_patterns(attributes)

    assert patterns == ("api/*.py", "/out/**")
    diff = change("api/client.py", 900) + change("out/deep/x.txt", 900) + change("x.py")
    assert count_changed_lines(diff, patterns) == 4


def test_what_cannot_be_read_is_of_no_known_size():
    assert count_changed_lines("@@ -1 +1 @@\n+x\n-y\n+z\n") is None
    assert count_changed_lines("x" * (LONGEST + 1)) is None
    assert count_changed_lines(change("lib.py"), ("[", "\\")) is not None
