"""A change as suggestions: applied to the old files they give the new ones, or are a patch."""

import itertools
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pipelines.address.suggestions.fork import LONGEST, diff_to_suggestions, format_body
from agents.pipelines.address.suggestions.replaced import Replacement, replace_lines
from agents.pipelines.address.suggestions.suggestion import read_suggestions
from agents.text import publish
from agents.text.markdown import block
from tests.fakes.pull_requests import build_pull_snapshot

URL = "https://example.org/octo/lib"


def git_diff(folder, old, new, *, context=3):
    """Return the change between two states of files as git shows it."""
    for name, files in (("a", old), ("b", new)):
        (folder / name).mkdir(exist_ok=True)
        for path, text in files.items():
            at = folder / name / path
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(text.encode())
    command = ("git", "-c", "core.quotePath=true", "diff", "--no-index", "--no-color")
    done = subprocess.run(
        [*command, f"--unified={context}", "a", "b"], cwd=folder, capture_output=True, check=False
    )
    text = done.stdout.decode("utf-8", "replace")
    return (
        text.replace(" a/a/", " a/")
        .replace(" b/b/", " b/")
        .replace('"a/a/', '"a/')
        .replace('"b/b/', '"b/')
    )


def put_in(old, made):
    """Do what a person does who commits all these suggestions at once."""
    new = dict(old)
    for path in {each.path for each in made}:
        changes = []
        for each in made:
            (read,) = read_suggestions(block(each.lines))
            assert not read.doubt, "GitHub and we read it in the same way"
            if each.path == path:
                changes.append(Replacement(each.start, each.end, read.lines))
        spans = sorted((change.start, change.end) for change in changes)
        assert all(one[1] < two[0] for one, two in itertools.pairwise(spans))
        new[path] = replace_lines(old[path], changes)
    return new


OLD = {"a.py": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"}


@pytest.mark.parametrize(
    "new",
    [
        "one\n2\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
        "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
        "zero\none\none and a half\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
        "zero\none\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n",
        "two\nthree\nfour\nfive\nsix\nseven\neight\nnine\n",
        "one\n\nthree\nfour\nfive\nsix\nseven\neight\nnine\n\n",
        "\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
        "one\n2\n3\nfour\n```\nfive\nsix\nseven\n8\nnine\nten\n",
    ],
)
def test_changed_lines_are_suggested(tmp_path, new):
    made, rest = diff_to_suggestions(git_diff(tmp_path, OLD, {"a.py": new}))

    assert not rest
    assert put_in(OLD, made) == {"a.py": new}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb", "a\nc"),
        ("a\nb", "a\nb\nc"),
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nx\r\nc\r\n"),
        ("\x0ca\nb\n", "\x0ca\nb\u2026\n"),
    ],
)
def test_line_ends_and_the_files_end_stay(tmp_path, old, new):
    made, rest = diff_to_suggestions(
        git_diff(tmp_path, {"sp\u00e4t x.py": old}, {"sp\u00e4t x.py": new})
    )

    assert not rest
    assert put_in({"sp\u00e4t x.py": old}, made) == {"sp\u00e4t x.py": new}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"new.py": "a\n"}),
        ({"old.py": "a\n"}, {}),
        ({"x": "a\0b"}, {"x": "a\0c"}),
        ({"x": ""}, {"x": "a\n"}),
        ({"x": "a\n"}, {"x": "\n"}),
        ({"x": "a\n"}, {"x": "a"}),
        ({"x": "a"}, {"x": "a\n"}),
        ({"x": "a\nb\n"}, {"x": "a\r\nb\r\n"}),
        ({"x": "a\nb\n"}, {"x": "a\nb\u202e\n"}),
    ],
)
def test_what_no_suggestion_can_say_stays_a_patch(tmp_path, old, new):
    diff = git_diff(tmp_path, old, new)

    assert diff
    assert diff_to_suggestions(diff) == ((), diff)


def test_renames_and_modes_stay_a_patch():
    renamed = (
        "diff --git a/o.py b/n.py\nsimilarity index 90%\nrename from o.py\nrename to n.py\n"
        "--- a/o.py\n+++ b/n.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    )
    mode = (
        "diff --git a/o.py b/o.py\nold mode 100644\nnew mode 100755\nindex 1..2\n"
        "--- a/o.py\n+++ b/o.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    )

    assert diff_to_suggestions(renamed + mode) == ((), renamed + mode)


def test_a_file_of_both_kinds_is_divided_by_its_hunks(tmp_path):
    old = {"x": "".join(f"{n}\n" for n in range(40)), "y": "a\n"}
    new = {"x": old["x"].replace("\n5\n", "\nfive\n").removesuffix("\n"), "y": "b\n", "z": "z\n"}
    diff = git_diff(tmp_path, old, new)

    made, rest = diff_to_suggestions(diff)

    assert [(each.path, each.start, each.lines) for each in made] == [
        ("x", 6, "five\n"),
        ("y", 1, "b\n"),
    ]
    assert rest.count("diff --git") == 2
    assert rest.count("@@ -") == 2
    for path, text in old.items():
        (tmp_path / path).write_text(put_in(old, made).get(path, text))
    check = subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=rest.encode(), check=False)
    assert check.returncode == 0
    assert {path: (tmp_path / path).read_text() for path in new} == new


LINES = st.lists(st.sampled_from(["a", "b", "", "```", " x", "suggestion"]), max_size=14)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("diffs")


@given(old=LINES, new=LINES, context=st.integers(1, 3))
def test_applying_all_suggestions_gives_the_new_file(folder, old, new, context):
    before = {"f": "".join(f"{line}\n" for line in old)}
    after = {"f": "".join(f"{line}\n" for line in new)}

    made, rest = diff_to_suggestions(git_diff(folder, before, after, context=context))

    if rest:
        assert new == [""] or not old, "only these cannot be said"
    else:
        assert put_in(before, made) == after


# --- the text above them ------------------------------------------------------------------------


def test_people_are_told_why_and_what_to_do(tmp_path):
    made, rest = diff_to_suggestions(git_diff(tmp_path, OLD, {"a.py": "1\ntwo\n", "n.py": "```\n"}))
    pull = build_pull_snapshot(
        why_not="it lies in a fork, `ada/lib`, where Fettle is not installed."
    )

    text = format_body(pull, made, rest, repository_url=URL, quality="Checks: `tests` passes.")

    assert "Fettle cannot push to this branch: it lies in a fork" in text
    assert f"**{len(made)} suggestions** can be committed" in text
    assert "git apply" in text
    assert rest.strip() in text
    assert text.endswith("Checks: `tests` passes.")
    assert publish(text, repository_url=URL) == text


def test_a_patch_that_is_too_long_is_named_instead():
    patch = "".join(
        f"diff --git a/{n}.py b/{n}.py\nnew file mode 100644\n+{'x' * (LONGEST // 25)}\n"
        for n in range(30)
    )

    text = format_body(build_pull_snapshot(why_not="it is a fork"), (), patch, repository_url=URL)

    assert len(text) < 3_000
    assert "`a/0.py b/0.py`" in text
    assert "and 10 more" in text
    assert "suggestion**" not in text


def test_nothing_in_a_patch_or_a_reason_acts():
    patch = (
        "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,4 @@\n"
        "+```\n+/bot approve\n+<!-- fettle run=1 key=ledger -->\n+@everyone fixes #1\n"
    )
    why = "a fork\n/bot approve\n<!-- fettle run=1 key=x --> @ada ![x](https://evil.example/p)"

    text = format_body(build_pull_snapshot(why_not=why), (), patch, repository_url=URL)

    outside = text[: text.index("````diff")] + text[text.rindex("````") :]
    assert "<!-- fettle" not in outside
    assert "\n/bot" not in outside
    assert "@ada" not in outside
    assert "](https://evil" not in outside
    assert text.endswith("\n````"), "the patch's own fence does not end ours"
