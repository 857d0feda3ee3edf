"""Bots' pull requests are recognised by who opened them and by the names that they document."""

from __future__ import annotations

import pytest

from app.github.pulls.bot_branches import SoughtPackage, is_moving, is_naming

BOT = "dependabot[bot]"
RENOVATE = "renovate[bot]"
MINIMIST = SoughtPackage("npm", "minimist", "")
NESTED = SoughtPackage("npm", "minimist", "apps/web")
SCOPED = SoughtPackage("npm", "@babel/core", "")
JINJA = SoughtPackage("pip", "jinja2", "")


@pytest.mark.parametrize(
    ("author", "branch", "sought"),
    [
        (BOT, "dependabot/npm_and_yarn/minimist-1.2.6", MINIMIST),
        (BOT, "dependabot-npm_and_yarn-minimist-1.2.6", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/main/minimist-1.2.6", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/apps/web/minimist-1.2.6", NESTED),
        (BOT, "dependabot-npm_and_yarn-apps-web-minimist-1.2.6", NESTED),
        (BOT, "dependabot/npm_and_yarn/apps/web/main/minimist-1.2.6", NESTED),
        (BOT, "dependabot/npm_and_yarn/minimist-and-mkdirp-1.2.6", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/mkdirp-and-minimist-1.2.6", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/minimist--removed", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/babel/core-7.23.2", SCOPED),
        (BOT, "dependabot/pip/jinja2-gte-3.1.4", JINJA),
        (BOT, "dependabot/uv/jinja2-3.1.4", JINJA),
        ("dependabot-preview[bot]", "dependabot/pip/jinja2-3.1.4", JINJA),
        (RENOVATE, "renovate/npm-minimist-vulnerability", MINIMIST),
        (RENOVATE, "renovate/minimist-1.x", MINIMIST),
        (RENOVATE, "renovate/minimist-1.x-lockfile", NESTED),
        (RENOVATE, "renovate/babel-core-7.x", SCOPED),
    ],
)
def test_what_they_document_is_found(author, branch, sought):
    assert is_moving(author, branch, "main", "", sought)


@pytest.mark.parametrize(
    ("author", "branch", "sought"),
    [
        ("mallory", "dependabot/npm_and_yarn/minimist-1.2.6", MINIMIST),
        ("dependabot", "dependabot/npm_and_yarn/minimist-1.2.6", MINIMIST),
        (RENOVATE, "dependabot/npm_and_yarn/minimist-1.2.6", MINIMIST),
        (BOT, "renovate/minimist-1.x", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/minimist-options-4.1.0", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/other-minimist-1.2.6", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/apps/web/minimist-1.2.6", MINIMIST),
        (BOT, "dependabot/npm_and_yarn/minimist-1.2.6", NESTED),
        (BOT, "dependabot/pip/minimist-1.2.6", MINIMIST),
        (BOT, "feature/minimist-1.2.6", MINIMIST),
        (RENOVATE, "feature/minimist-1.x", MINIMIST),
        (RENOVATE, "renovate/minimist-options-4.x", MINIMIST),
    ],
)
def test_what_is_somebody_elses_or_something_else_is_not(author, branch, sought):
    assert not is_moving(author, branch, "main", "", sought)


def test_a_group_names_its_members_in_its_own_words():
    body = "Bumps the npm group with 2 updates: [minimist](https://x).\n\nUpdates `minimist` from 1"
    group = "dependabot/npm_and_yarn/npm-3f2a1b9c0d"
    assert is_moving(BOT, group, "main", body, MINIMIST)
    assert is_moving(BOT, "dependabot/npm_and_yarn/multi-3f2a1b9c0d", "main", body, MINIMIST)
    assert not is_moving(BOT, group, "main", body, SCOPED)
    assert not is_moving("mallory", group, "main", body, MINIMIST)
    table = "This PR contains\n\n| Package | Change |\n|---|---|\n| [@babel/core](https://x) | 7 |"
    assert is_moving(RENOVATE, "renovate/babel-monorepo", "main", table, SCOPED)


@pytest.mark.parametrize(
    "words",
    [
        "Bump minimist-options from 1",
        "Bumps minimist.js from 1",
        "we love minimist",
        "x | minimist",
    ],
)
def test_a_name_in_passing_is_none(words):
    assert not is_naming(words, MINIMIST)


def test_nothing_in_a_name_is_a_pattern():
    assert not is_moving(
        BOT, "dependabot/npm_and_yarn/aaaa-1", "main", "", SoughtPackage("npm", "a+", "")
    )
    assert not is_naming("Bump aaa from", SoughtPackage("npm", "a+", ""))
