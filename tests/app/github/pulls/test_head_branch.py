"""Which branch of a pull request may be pushed: everything that could lead elsewhere is refused."""

from __future__ import annotations

import pytest

from agents.errors import RunError
from app.github.pulls.head_branch import is_foreign, require_pushable, state_of, why_not
from tests.fakes.requests import build_repository

OURS = build_repository(id=7, owner="ada", name="parse")


def pull(head="feature", base="main", **more):
    """Return what GitHub says of an open pull request within the repository."""
    home = {"id": 7, "full_name": "ada/parse", "default_branch": "main"}
    return {
        "number": 31,
        "state": more.pop("state", "open"),
        "merged_at": more.pop("merged_at", None),
        "head": {"ref": head, "repo": more.pop("repo", home)},
        "base": {"ref": base, "repo": {**home, **more}},
    }


def fork(**more):
    return {"id": 8, "full_name": "eve/parse", "default_branch": "main", **more}


def test_a_branch_beside_the_main_one_is_pushed():
    for name in ("feature", "bot/7-lexer", "eve/some-thing", "main-2", "release/1.0"):
        found = pull(name)
        assert why_not(found, OURS) == ""
        require_pushable(found, OURS, name)


REFUSED = {
    "of a fork": (pull(repo=fork()), "the fork `eve/parse`"),
    "named like ours, of a fork": (pull("bot/7-lexer", repo=fork()), "the fork `eve/parse`"),
    "main of a fork": (pull("main", repo=fork()), "the fork `eve/parse`"),
    "of a deleted fork": (pull(repo=None), "a fork that has been deleted"),
    "the default branch": (pull("main", "release"), "default branch, `main`"),
    "the default branch by another case": (pull("MAIN", "release"), "default branch, `MAIN`"),
    "the default branch since": (
        pull("trunk", "release", default_branch="trunk"),
        "default branch, `trunk`",
    ),
    "its own base": (pull("release", "release"), "the one that it wants to go to"),
    "its own base by another case": (pull("Release", "release"), "the one that it wants to go to"),
    "a pull request of another repository": (pull(id=9), "the fork `ada/parse`"),
    **{
        f"named {name!r}": (pull(name), "more than a name")
        for name in ("a b", "a..b", "a:refs/heads/main", "-x", "x^", "a\nb", "@{-1}", "a.lock", "")
    },
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_not_pushed_is_said_in_words(which):
    found, words = REFUSED[which]
    assert words in why_not(found, OURS)
    with pytest.raises(RunError, match="Nothing was pushed"):
        require_pushable(found, OURS, found["head"]["ref"])


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (pull(state="closed"), "#31 was closed while"),
        (pull(state="closed", merged_at="2026-01-01T00:00:00Z"), "#31 was merged while"),
    ],
)
def test_one_that_is_not_open_any_more_is_left_alone(found, words):
    with pytest.raises(RunError, match=words):
        require_pushable(found, OURS, "feature")


def test_another_branch_than_its_own_is_not_pushed():
    with pytest.raises(RunError, match="which is `other` by now, not `feature`"):
        require_pushable(pull("other"), OURS, "feature")
    with pytest.raises(RunError, match="not `main`"):
        require_pushable(pull(), OURS, "main")


def test_state_and_home():
    assert state_of(pull()) == "open"
    assert not is_foreign(pull(), OURS)
    assert is_foreign(pull(repo=fork()), OURS)
    assert is_foreign(pull(repo=None), OURS)
