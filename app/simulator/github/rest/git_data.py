"""REST endpoints of git's own objects: commits that GitHub makes, and signs.

https://docs.github.com/rest/git/commits
"""

from __future__ import annotations

from pydantic import Field

from app.simulator.github.accounts import GITHUB_EMAIL
from app.simulator.github.answers import Answer, ApiError
from app.simulator.github.calls import Call, Input
from app.simulator.github.gitdir import signature
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
    tree, *parents = await call.git.kinds_of([sent.tree, *sent.parents])
    if tree != "tree":
        raise ApiError(422, "Tree SHA does not exist")
    if any(parent != "commit" for parent in parents):
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
