"""REST endpoints of git's own objects: commits that GitHub makes, and signs.

https://docs.github.com/rest/git/commits
"""

from __future__ import annotations

from pydantic import Field

from app.simulator.github.accounts import GITHUB_EMAIL
from app.simulator.github.answers import Answer, ApiError
from app.simulator.github.calls import Call, Input
from app.simulator.github.gitdir import GitFailed, signature
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.git import git_commit_json

routes = Routes()


class NewCommit(Input):
    """Body of a new commit."""

    message: str
    tree: str
    parents: list[str] = Field(default_factory=list)
    author: dict[str, str] | None = None
    committer: dict[str, str] | None = None
    signature: str = ""


@routes.add("POST", "/git/commits", needs="contents=write")
async def create_commit(call: Call) -> Answer:
    """Make a commit of a tree that is here, and sign it where nothing was said of who made it.

    https://docs.github.com/authentication/managing-commit-signature-verification/about-commit-signature-verification#signature-verification-for-bots
    """
    sent = call.parse_body(NewCommit)
    if await _kind_of(call, sent.tree) != "tree":
        raise ApiError(422, "Tree SHA does not exist")
    for parent in sent.parents:
        if await _kind_of(call, parent) != "commit":
            raise ApiError(422, "Parent SHA does not exist or is not a commit object")
    who, now = call.actor.account, call.world.get_time()
    author = signature(who.name or who.login, who.email, now)
    own = not (sent.author or sent.committer or sent.signature)
    if own and call.repository.signs:
        people = (author, signature("GitHub", GITHUB_EMAIL, now))
        sha = await call.git.signed_commit(sent.tree, sent.parents, sent.message, people)
        call.repository.signed.add(sha)
    else:
        sha = await call.git.commit_tree(sent.tree, sent.parents, sent.message, author)
    [made] = await call.git.commits(sha, limit=1)
    return Answer(201, git_commit_json(call.world, call.repository, made))


async def _kind_of(call: Call, sha: str) -> str:
    """Return what kind of object a whole id names; empty where there is none."""
    try:
        return await call.git.text("cat-file", "-t", sha) if len(sha) == len("0" * 40) else ""
    except GitFailed:
        return ""
