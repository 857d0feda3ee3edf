"""What a text refers to is read from this repository alone, and not without end."""

from __future__ import annotations

import pytest

from app.github.issues.linked import MOST, find_references
from app.simulator.github.accounts import Actor
from tests.fakes.requests import build_repository

HERE = build_repository(id=1, owner="ada", name="parse")
WEB = "https://github.example"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("see #12", [12]),
        ("#12, #7; (#9)", [12, 7, 9]),
        ("GH-12 and gh-7", [12, 7]),
        ("ada/parse#12 Ada/Parse#7", [12, 7]),
        (f"{WEB}/ada/parse/issues/12 {WEB}/ada/parse/pull/7#issuecomment-99", [12, 7]),
        (f"[that one]({WEB}/ada/parse/issues/12)", [12]),
        (f'<a href="{WEB}/ada/parse/issues/12">that</a>', [12]),
        ("<details>\nsee #12\n</details>", [12]),
        ("- [ ] #12\n- [ ] #7", [12, 7]),
        ("#12 #12 GH-12", [12]),
        ("eve/parse#12 ada/parser#7 ada/parse2#9 parse#5", []),
        (f"{WEB}/eve/parse/issues/12 {WEB}/ada/parse/issues/12x", []),
        ("https://evil.example/ada/parse/issues/12", []),
        (f"https://evil.example/?x={WEB}.evil/ada/parse/issues/12", []),
        ("`#12` and\n```\n#7\n```\n    #9", []),
        ("<!-- #12 --> text\n\n<!--\n\n#7 -->", []),
        ("&#12; a#12 #12a #0 ##12 #12-x", []),
        ("#99999999999999999999", []),
        ("", []),
    ],
)
def test_references(text, numbers):
    assert find_references(text, HERE, WEB) == numbers


async def test_an_issue_and_a_pull_request(scene, tracker):
    server, people, repository = scene.server, scene.people, scene.repository
    await server.create_issue(repository, people["bob"], "Other", "Its body")
    await server.close_issue(repository, 2, people["bob"])
    await server.commit(repository, {"a": "1"}, author=people["bob"], message="m", branch="fix")
    pull = {"title": "Mend", "body": "How", "head": "fix", "base": "main"}
    await server.parts.pulls.open(repository, Actor(people["mallory"]), **pull)

    other, mend = await tracker.find_linked("#2 before #3, as #1 says", limit=5)

    assert (other.number, other.kind, other.state) == (2, "issue", "closed")
    assert (other.title, other.body, other.author) == ("Other", "Its body", "bob")
    assert other.author_may_write
    assert (mend.number, mend.kind, mend.state) == (3, "pull request", "open")
    assert (mend.author, mend.author_may_write) == ("mallory", False)


async def test_comments_are_never_among_it(scene, tracker):
    await scene.server.create_issue(scene.repository, scene.people["bob"], "Other", "Body")
    await scene.server.comment(scene.repository, 2, scene.people["ada"], "COMMENT")

    [found] = await tracker.find_linked("#2", limit=5)

    assert "COMMENT" not in found.model_dump_json()


async def test_a_bomb_of_references_is_read_up_to_the_limit(scene, tracker):
    for n in range(25):
        await scene.server.create_issue(scene.repository, scene.people["bob"], f"No {n}")
    bomb = " ".join(f"#{n}" for n in range(1, 501))

    assert [each.number for each in await tracker.find_linked(bomb, limit=3)] == [2, 3, 4]
    assert len(await tracker.find_linked(bomb, limit=10_000)) == MOST
    issues = [each for each in scene.server.requests if "/issues/" in each.path]
    assert len(issues) == 3 + MOST


async def test_numbers_that_do_not_exist_count_as_looked_up(scene, tracker):
    await scene.server.create_issue(scene.repository, scene.people["bob"], "Other")

    assert await tracker.find_linked("#77 #78 #2", limit=2) == ()
    assert [each.number for each in await tracker.find_linked("#77 #2", limit=2)] == [2]


async def test_other_repositories_are_not_asked(scene, tracker):
    vault = await scene.server.create_repository(scene.people["ada"], "vault")
    scene.installation.repositories.append(vault)
    await scene.server.create_issue(vault, scene.people["ada"], "CONFIDENTIAL")

    text = f"ada/vault#1 {scene.server.url}/ada/vault/issues/1 ada/parse/../vault#1"

    assert await tracker.find_linked(text, limit=5) == ()
    assert not [each for each in scene.server.requests if "vault" in each.path]


async def test_long_texts_are_cut_and_say_so(scene, tracker):
    await scene.server.create_issue(scene.repository, scene.people["bob"], "T" * 2000, "x" * 60_000)

    [found] = await tracker.find_linked("#2", limit=1)

    assert len(found.body) < 9_000
    assert "left out" in found.body
    assert len(found.title) == 300
