"""REST endpoints of pull requests that stand on each other. A preview: not every GitHub has it.

https://docs.github.com/rest/pulls/stacks
"""

from __future__ import annotations

from itertools import pairwise

from app.simulator.github.answers import Answer, ApiError, Json, invalid, not_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.common import account_json, maybe_moment, moment
from app.simulator.github.schemas.pulls import pull_simple_json
from app.simulator.github.state.world import Pull, Stack, World

routes = Routes()
READ = "pull_requests=read"
WRITE = "pull_requests=write"
MOST = 100
NOT_LINEAR = (
    "Pull requests must form a stack, where each PR's base ref is the previous PR's head ref"
)


class NewStack(Input):
    """Body of a new stack: numbers of pull requests, from the bottom up."""

    pull_requests: list[int]


def _stacks(call: Call) -> list[Stack]:
    if not call.repository.has_stacks:
        raise not_found()
    return call.repository.stacks


@routes.add("GET", "/stacks", needs=READ)
async def list_stacks(call: Call) -> Answer:
    """Return the stacks, or the one that a pull request is part of."""
    wanted = call.request.query.get("pull_request", "")
    if wanted and not wanted.isdecimal():
        raise invalid("Stack", "pull_request")
    found = [
        each
        for each in _stacks(call)
        if not wanted or int(wanted) in (pull.issue.number for pull in each.pulls)
    ]
    return call.page([_stack_json(call.world, each) for each in found])


@routes.add("POST", "/stacks", needs=WRITE)
async def create_stack(call: Call) -> Answer:
    """Lead pull requests as one stack."""
    stacks, sent = _stacks(call), call.parse_body(NewStack)
    if not 2 <= len(sent.pull_requests) <= MOST:
        raise invalid("Stack", "pull_requests")
    issues = [call.repository.issues.get(number) for number in sent.pull_requests]
    pulls = [issue.pull for issue in issues if issue is not None and issue.pull is not None]
    if len(pulls) < len(issues):
        raise invalid("Stack", "pull_requests", "missing")
    taken = any(pull in each.pulls for each in stacks for pull in pulls)
    if taken or any(upper.base != lower.head for lower, upper in pairwise(pulls)):
        raise ApiError(422, NOT_LINEAR)
    made = Stack(**call.world.birth(), number=len(stacks) + 1, pulls=pulls)
    stacks.append(made)
    shape = _stack_json(call.world, made)
    return Answer(201, shape | {"pull_requests": [_pull_json(call.world, p) for p in pulls]})


def _stack_json(world: World, stack: Stack) -> Json:
    repository = stack.pulls[0].repository
    return {
        "id": stack.id,
        "node_id": stack.node_id,
        "number": stack.number,
        "url": f"{world.api}/repos/{repository.full_name}/stacks/{stack.number}",
        "base": {"ref": stack.pulls[0].base},
        "open": any(pull.issue.state == "open" for pull in stack.pulls),
        "created_at": moment(stack.created_at),
        "pull_requests": [
            {
                "number": pull.issue.number,
                "state": pull.issue.state,
                "draft": pull.draft,
                "merged_at": maybe_moment(pull.merged.at if pull.merged else None),
                "head": {"ref": pull.head, "sha": pull.head_sha},
            }
            for pull in stack.pulls
        ],
    }


def _pull_json(world: World, pull: Pull) -> Json:
    whole = pull_simple_json(world, pull)
    same = ("id", "node_id", "number", "title", "state", "merged_at", "draft", "html_url", "url")
    repository = pull.repository
    where = {
        "id": repository.id,
        "url": f"{world.api}/repos/{repository.full_name}",
        "name": repository.name,
    }
    ends = {
        "head": {"ref": pull.head, "sha": pull.head_sha, "repo": where},
        "base": {"ref": pull.base, "sha": pull.base_sha, "repo": where},
    }
    author = account_json(world, pull.issue.author.account)
    return {name: whole[name] for name in same} | ends | {"user": author}
