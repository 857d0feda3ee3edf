"""Changelogs as real packages write them: what lies between two versions, and nothing besides."""

from __future__ import annotations

import pytest

from agents.analysis.release_notes import MOST_LINES, extract_notes

CHANGELOGS = {
    "Keep a Changelog": (
        "# Changelog\n\n## [Unreleased]\n\n- later\n\n"
        "## [1.2.0] - 2026-02-01\n\n### Fixed\n\n- two\n\n"
        "## [1.1.0] - 2026-01-01\n\n- one\n\n## [1.0.0] - 2025-01-01\n\n- old\n"
    ),
    "conventional-changelog": (
        "## [1.2.0](https://x.example/compare/v1.1.0...v1.2.0) (2026-02-01)\n\n* two\n\n"
        "## [1.1.0](https://x.example/compare/v1.0.0...v1.1.0) (2026-01-01)\n\n* one\n\n"
        "# [1.0.0](https://x.example) (2025-01-01)\n\n* old\n"
    ),
    "History.md": (
        "unreleased\n==========\n  * later\n\n1.2.0 / 2026-02-01\n==================\n\n  * two\n\n"
        "1.1.0 / 2026-01-01\n==================\n\n  * one\n\n1.0.0 / 2025\n======\n\n  * old\n"
    ),
    "Pallets": (
        "Version 1.2.0\n-------------\n\nReleased 2026-02-01\n\n-   two :ghsa:`x`\n\n\n"
        "Version 1.1.0\n-------------\n\n-   one\n\nVersion 1.0.0\n-------------\n\n-   old\n"
    ),
    "bold": "**v1.2.0**\n- two\n\n**v1.1.0**\n- one\n\n**v1.0.0**\n- old\n",
}


@pytest.mark.parametrize("kind", CHANGELOGS)
def test_the_releases_after_the_old_one_up_to_the_new_one(kind):
    found = extract_notes(CHANGELOGS[kind], "1.0.0", "1.2.0")
    assert "two" in found
    assert "one" in found
    assert "old" not in found
    assert "later" not in found
    assert "1.1.0" in extract_notes(CHANGELOGS[kind], "1.0.0", "1.1.0").splitlines()[0]


@pytest.mark.parametrize("kind", CHANGELOGS)
def test_without_the_old_one_it_is_the_section_of_the_new_one_alone(kind):
    found = extract_notes(CHANGELOGS[kind], "0.9.9", "1.1.0")
    assert "one" in found
    assert "old" not in found
    assert "two" not in found


def test_one_that_begins_with_its_oldest_release_gives_the_new_ones_alone():
    found = extract_notes("## 1.0.0\n- old\n## 1.1.0\n- one\n## 1.2.0\n- two\n", "1.0.0", "1.1.0")
    assert found == "## 1.1.0\n- one"


@pytest.mark.parametrize("text", ["", "no releases\n", "## 11.2.0\n- x\n", "See 1.2.0 for more.\n"])
def test_nothing_is_made_up(text):
    assert extract_notes(text, "1.0.0", "1.2.0") == ""


def test_a_huge_one_is_cut_and_takes_no_time():
    lines = "\n".join(f"- {n} " + "v" * 2_000 for n in range(2_000))
    found = extract_notes(f"## 1.2.0\n{lines}\n## 1.0.0\n", "1.0.0", "1.2.0").splitlines()
    assert len(found) == MOST_LINES + 1
    assert found[-1] == "[…]"
    assert max(map(len, found)) <= 300
