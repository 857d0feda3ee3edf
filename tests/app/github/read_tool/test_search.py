"""A search stays in the repository, and shows the words of those who may write."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

import app.simulator.github.rest.reading as served


@pytest.fixture
async def elsewhere(scene):
    """Another repository of the same owner, which the App sees as well."""
    ada = scene.people["ada"]
    other = await scene.server.create_repository(ada, "vault")
    scene.installation.repositories.append(other)
    await scene.server.create_issue(other, ada, "Six CONFIDENTIAL things")
    return other


async def test_search_finds_issues_by_writers_and_counts_the_others(scene, read):
    await scene.server.create_issue(scene.repository, scene.people["bob"], "Six digits and more")

    text = await read("search", query="six digits")

    assert "- #2 (open) Six digits and more" in text
    assert "Six digits only" not in text
    assert "1 by people without write access" in text


@pytest.mark.parametrize(
    "query",
    [
        "six repo:ada/vault",
        'six" repo:ada/vault "',
        "six user:ada",
        "six org:ada",
        '" OR repo:ada/vault',
        'six\\" repo:ada/vault',
        "repo:ada/vault",
        "six) OR (repo:ada/vault",
    ],
)
@pytest.mark.parametrize("of", ["issues", "pull_requests", "code"])
async def test_search_does_not_leave_the_repository(scene, read, elsewhere, query, of):
    text = await read("search", query=query, of=of)

    assert "CONFIDENTIAL" not in text
    asked = [each.path for each in scene.server.requests if "/search/" in each.path]
    [query] = [parse_qs(urlsplit(each).query)["q"][0] for each in asked]
    kind = {"issues": ["is:issue"], "pull_requests": ["is:pull-request"], "code": []}[of]
    assert re.sub(r'"[^"]*"', "", query).split() == ["repo:ada/parse", *kind]


async def test_what_the_search_finds_elsewhere_all_the_same_is_dropped(
    scene, read, elsewhere, monkeypatch
):
    """Were the scope of query and token ignored, the results are still looked at."""
    everything = served.Query(["six"], set(), {"issue"})
    monkeypatch.setattr(served.Query, "parse", lambda text: everything)
    scene.server.tokens.mint = widen_scope(scene)

    text = await read("search", query="six")

    assert "CONFIDENTIAL" in str(answers(scene))
    assert "CONFIDENTIAL" not in text


def answers(scene):
    return [each.answer for each in scene.server.requests if "/search/" in each.path]


def widen_scope(scene):
    mint = scene.server.tokens.mint
    return lambda installation, _repositories, permissions: mint(installation, None, permissions)


async def test_search_finds_code(scene, read):
    await scene.server.commit(
        scene.repository, {"lib.py": "def parse(): ...\n"}, author=scene.people["ada"], message="m"
    )

    assert "- lib.py" in await read("search", query="def parse", of="code")
