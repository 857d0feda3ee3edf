"""REST endpoints of pull requests."""

from __future__ import annotations

from typing import Literal

from app.simulator.github.answers import (
    Answer,
    ApiError,
    Json,
    check_text,
    custom,
    invalid,
    not_found,
    require_found,
)
from app.simulator.github.calls import Call, Input
from app.simulator.github.patches import parse_diff
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.git import commit_json, file_json
from app.simulator.github.schemas.pulls import pull_json, pull_simple_json
from app.simulator.github.state.world import Pull

routes = Routes()
LONGEST_TITLE = 256
READ = "pull_requests=read"
WRITE = "pull_requests=write"


class NewPull(Input):
    """Body of a new pull request."""

    title: str
    head: str
    base: str
    body: str | None = None
    draft: bool = False
    maintainer_can_modify: bool = False


class PullEdit(Input):
    """Body of a change of a pull request; GitHub changes `draft` by GraphQL only."""

    title: str | None = None
    body: str | None = None
    state: Literal["open", "closed"] | None = None
    base: str | None = None
    maintainer_can_modify: bool | None = None


def _checked_title(title: str) -> str:
    if not title.strip():
        raise invalid("PullRequest", "title", "missing_field")
    if len(title) > LONGEST_TITLE:
        raise custom("PullRequest", f"title is too long (maximum is {LONGEST_TITLE} characters)")
    return title


def pull_of(call: Call) -> Pull:
    """Return the pull request that the path names; 404 for an issue."""
    return require_found(call.issue().pull)


@routes.add("GET", "/pulls", needs=READ)
async def list_pulls(call: Call) -> Answer:
    """Return pull requests by state, base and head; `head` counts as `owner:branch` only."""
    query = call.request.query
    state, base, head = query.get("state", "open"), query.get("base"), query.get("head", "")
    owner, colon, branch = head.partition(":")
    found = [
        pull_simple_json(call.world, pull)
        for pull in call.repository.pulls()
        if state in ("all", pull.issue.state)
        and base in (None, pull.base)
        and (not colon or (owner.lower(), branch) == (pull.head_owner.login.lower(), pull.head))
    ]
    return call.page(found)


@routes.add("POST", "/pulls", needs=WRITE)
async def create_pull(call: Call) -> Answer:
    """Open a pull request."""
    sent = call.parse_body(NewPull)
    owner, colon, branch = sent.head.partition(":")
    if colon and owner.lower() != call.repository.owner.login.lower():
        raise invalid("PullRequest", "head")
    pull = await call.parts.pulls.open(
        call.repository,
        call.actor,
        title=_checked_title(sent.title),
        body=check_text(sent.body, "PullRequest") if sent.body else "",
        head=branch if colon else sent.head,
        base=sent.base,
        draft=sent.draft,
        maintainer_can_modify=sent.maintainer_can_modify,
    )
    return Answer(201, pull_json(call.world, pull))


@routes.add("GET", "/pulls/{number}", needs=READ)
async def get_pull(call: Call) -> Json:
    """Return a pull request; whether it can be merged is found out now, and told the next time."""
    pull = pull_of(call)
    shape = pull_json(call.world, pull)
    pull.asked = True
    return shape


@routes.add("PATCH", "/pulls/{number}", needs=WRITE)
async def update_pull(call: Call) -> Json:
    """Change a pull request."""
    pull, sent = pull_of(call), call.parse_body(PullEdit)
    title = sent.title if sent.title is None else _checked_title(sent.title)
    body = check_text(sent.body, "PullRequest") if sent.body else sent.body
    call.parts.issues.edit(pull.issue, call.actor, title=title, body=body)
    if sent.base and sent.base != pull.base:
        await call.parts.pulls.retarget(pull, call.actor, sent.base)
    if sent.state == "open" and pull.merged:
        raise custom("PullRequest", "state cannot be changed. The pull request has been merged.")
    if sent.state:
        call.parts.issues.set_state(pull.issue, call.actor, sent.state)
    if sent.maintainer_can_modify is not None:
        pull.maintainer_can_modify = sent.maintainer_can_modify
    return pull_json(call.world, pull)


@routes.add("GET", "/pulls/{number}/commits", needs=READ)
async def list_commits(call: Call) -> Answer:
    """Return a pull request's commits, oldest first."""
    pull = pull_of(call)
    commits = await call.git.commits(f"{pull.base_sha}..{pull.head_sha}")
    return call.page([commit_json(call.world, call.repository, each) for each in reversed(commits)])


@routes.add("GET", "/pulls/{number}/files", needs=READ)
async def list_files(call: Call) -> Answer:
    """Return a pull request's changed files."""
    pull = pull_of(call)
    start = await call.git.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
    files = parse_diff(await call.git.diff(start, pull.head_sha))
    return call.page(
        [file_json(call.world, call.repository, each, pull.head_sha) for each in files]
    )


class Update(Input):
    """Body of a wish to have the base in the branch."""

    expected_head_sha: str | None = None


@routes.add("PUT", "/pulls/{number}/update-branch", needs=f"{WRITE},contents=write")
async def update_branch(call: Call) -> Answer:
    """Merge the base branch into the head branch, as the App."""
    pull, sent = pull_of(call), call.parse_body(Update)
    if sent.expected_head_sha not in (None, pull.head_sha):
        raise ApiError(422, "expected head sha didn’t match current head ref.")  # noqa: RUF001 - so
    source = pull.head_repository
    assert call.token
    if source is None or not call.token.sees(source):
        raise ApiError(403, "Resource not accessible by integration")
    if not f"refs/heads/{pull.head}".startswith(source.app_branches):
        raise ApiError(422, "Repository rule violations found")
    await call.parts.merges.update(pull, call.actor)
    url = f"{call.world.url}/{call.repository.full_name}/pull/{pull.issue.number}"
    return Answer(202, {"message": "Updating pull request branch.", "url": url})


@routes.add("GET", "/pulls/{number}/merge", needs=READ)
async def is_merged(call: Call) -> Answer:
    """Say whether a pull request was merged."""
    if pull_of(call).merged is None:
        raise not_found()
    return Answer(204, None)
