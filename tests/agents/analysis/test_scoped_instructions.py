"""Instructions for some of a repository's files: which hold for what a run touches."""

from __future__ import annotations

import pytest

from agents.analysis.scoped_instructions import list_scoped, read_scoped

CURSOR, COPILOT = ".cursor/rules/style.mdc", ".github/instructions/style.instructions.md"


@pytest.mark.parametrize(
    ("path", "head", "touched", "holds"),
    [
        (CURSOR, "globs: *.ts,src/**", "web/a.ts", True),
        (CURSOR, "globs: *.ts,src/**", "src/b.py", True),
        (CURSOR, "globs: *.ts,src/**", "lib/b.py", False),
        (CURSOR, "description: x\nglobs:\n  - '*.ts'\n  - \"*.tsx\"", "a.tsx", True),
        (CURSOR, "globs: [a/*, b/*]\nalwaysApply: false", "b/c", True),
        (CURSOR, "globs:\nalwaysApply: true", "any/file", True),
        (CURSOR, "description: only on request\nglobs:\nalwaysApply: false", "a.ts", False),
        (COPILOT, 'applyTo: "**/*.py,docs/**"', "a/b.py", True),
        (COPILOT, 'applyTo: "**"', "a/b.c", True),
        (COPILOT, "other: x", "a/b.c", False),
        ("web/.cursor/rules/deep/ui.mdc", "globs: ui/*.ts", "web/ui/a.ts", True),
        ("web/.cursor/rules/deep/ui.mdc", "globs: ui/*.ts", "ui/a.ts", False),
        ("web/.cursor/rules/all.mdc", "alwaysApply: true", "web/x", True),
        ("web/.cursor/rules/all.mdc", "alwaysApply: true", "webs/x", False),
    ],
)
def test_a_file_holds_for_the_paths_that_it_names(path, head, touched, holds):
    found = read_scoped(path, f"---\n{head}\n---\n\nUse tabs.\n")
    assert found.text == "Use tabs."
    assert found.holds_for([touched]) == holds


def test_what_holds_for_all_holds_also_where_nobody_knows_yet_what_is_touched():
    assert read_scoped(COPILOT, "---\napplyTo: '**'\n---\nx").holds_for_all
    assert not read_scoped("web/.cursor/rules/a.mdc", "---\nalwaysApply: true\n---\nx").holds_for(
        []
    )


@pytest.mark.parametrize("text", ["", "---", "Use tabs.", "---\nglobs: a\n", "---\n- x\n---\n"])
def test_a_file_without_a_head_says_for_nothing(text):
    assert not read_scoped(CURSOR, text).holds_for(["a.ts"])


def test_only_files_of_folders_that_are_touched_are_looked_at():
    there = [CURSOR, COPILOT, "web/.cursor/rules/a.mdc", "a/.cursor/rules/b.md", "x.mdc"]
    there += ["web/.github/instructions/a.instructions.md", "api/.cursor/rules/c.mdc"]
    assert list_scoped(there, ["web/ui/a.ts"]) == [CURSOR, COPILOT, "web/.cursor/rules/a.mdc"]
    assert list_scoped(there, []) == [CURSOR, COPILOT]
