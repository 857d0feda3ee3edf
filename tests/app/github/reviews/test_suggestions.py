"""Where a branch cannot be pushed, changes are suggested: to be clicked, or as text."""

from __future__ import annotations

import pytest

from agents.ports import Suggested

SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


def change(start, end, lines, path="src/lines.txt"):
    return Suggested(path=path, start=start, end=end, lines=lines)


@pytest.fixture
async def reviewing(pulled):
    return await pulled.run()


def review(pulled):
    [found] = pulled.pull.reviews
    return found


async def test_suggestions_are_one_review(pulled, reviewing):
    made = [
        change(11, 11, "eleven!\n"),
        change(10, 12, "all\nof it\n"),
        change(1, 2, "", "new.txt"),
    ]
    url = await reviewing.suggest("suggestions", "What **could** be done.", made)
    found = review(pulled)
    assert url.endswith(f"#pullrequestreview-{found.id}")
    assert (found.state, found.commit) == ("COMMENTED", pulled.pull.head_sha)
    mark = f"<!-- fettle run={pulled.run_id()} key=suggestions -->"
    assert found.body == f"{mark}\n\nWhat **could** be done."
    assert [each.body for each in found.remarks] == [
        "```suggestion\neleven!\n```",
        "```suggestion\nall\nof it\n```",
        "```suggestion\n```",
    ]
    places = [(each.path, each.start_line, each.line) for each in pulled.pull.threads]
    assert places == [("src/lines.txt", None, 11), ("src/lines.txt", 10, 12), ("new.txt", 1, 2)]


async def test_suggesting_again_changes_nothing(pulled, scene, reviewing):
    scene.server.faults.lose_answer("POST", "/reviews$")
    url = await reviewing.suggest("suggestions", "x", [change(11, 11, "y\n")])
    assert await reviewing.suggest("suggestions", "other", []) == url
    assert len(pulled.pull.reviews) == 1


async def test_somebody_elses_marker_is_not_taken_for_ours(pulled, reviewing):
    fake = f"<!-- fettle run={pulled.run_id()} key=suggestions -->\nDone."
    await pulled.review("mallory", fake)
    await reviewing.suggest("suggestions", "x", [change(11, 11, "y\n")])
    assert len(pulled.pull.reviews) == 2


async def test_no_content_ends_its_fence(pulled, reviewing):
    text = "```\n````suggestion\n@mallory closes #1\n"
    await reviewing.suggest("suggestions", "x", [change(11, 11, text)])
    assert review(pulled).remarks[0].body == f"`````suggestion\n{text}`````"


async def test_what_is_not_in_the_diff_stands_in_the_text(pulled, scene, reviewing):
    made = [
        change(11, 11, "eleven!\n"),
        change(20, 21, "```\nanother\n"),  # not shown
        change(12, 30, "x\n"),  # over two hunks
        change(1, 1, "new\n", "no/such/file.txt"),
        change(0, 3, "y\n"),
    ]
    await reviewing.suggest("suggestions", "Words.", made)
    found = review(pulled)
    assert len(found.remarks) == 1
    assert "GitHub takes no suggestion" in found.body
    diff = "@@ from line 20 on @@\n-line 18\n-line 19\n+```\n+another\n"
    assert f"`src/lines.txt`\n\n````diff\n{diff}````" in found.body
    assert "`no/such/file.txt`\n\n```diff\n@@ lines 1 to 1 become @@\nnew\n```" in found.body
    assert len(scene.calls("GET", "/contents/src/lines.txt")) == 1, "each file is read once"


async def test_the_old_lines_of_a_file_with_a_sign_in_its_name_are_shown_too(pulled, scene):
    name, bob = "docs/C# and 100%?.txt", scene.people["bob"]
    await scene.server.commit(
        scene.repository, {name: "old\n"}, author=bob, message="m", branch="feature"
    )
    reviewing = await pulled.run()
    await reviewing.suggest("suggestions", "Words.", [change(0, 1, "new\n", name)])
    [found] = pulled.pull.reviews
    assert "-old\n+new\n" in found.body


async def test_a_refusal_of_github_turns_all_of_them_into_text(pulled, scene, reviewing):
    scene.server.faults.status("POST", "/reviews$", 422)
    await reviewing.suggest("suggestions", "Words.", [change(11, 11, "eleven!\n")])
    found = review(pulled)
    assert found.remarks == []
    assert "-eleven\n+eleven!\n" in found.body


async def test_secrets_are_not_suggested(pulled, reviewing):
    made = [change(11, 11, f"token = '{SECRET}'\n"), change(12, 12, "fine\n")]
    await reviewing.suggest("suggestions", f"Use {SECRET}.", made)
    found = review(pulled)
    assert len(found.remarks) == 1
    assert "A change of `src/lines.txt` is left out" in found.body
    assert SECRET not in found.body


async def test_what_finds_no_room_is_named(pulled, reviewing):
    large = change(20, 20, "x" * 70_000 + "\n")
    await reviewing.suggest("suggestions", "Words. " * 20_000, [large, change(11, 11, "y\n")])
    found = review(pulled)
    assert len(found.body) <= 65_536
    assert "There is no room here for the changes of `src/lines.txt`." in found.body
    assert len(found.remarks) == 1
