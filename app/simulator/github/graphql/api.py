"""Answer GraphQL by a part of GitHub's schema, over the REST API's state and permissions."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    build_schema,
    execute,
    parse,
    validate,
)

from app.simulator.github.answers import Answer, ApiError
from app.simulator.github.calls import TOKEN, Parts
from app.simulator.github.gitdir import GitDir
from app.simulator.github.graphql.limits import DocumentLimits
from app.simulator.github.graphql.mutations import Mutations, VisibleNodes
from app.simulator.github.graphql.nodes import issue_node, label_node, repository_node
from app.simulator.github.graphql.parts import Denied, actor_node
from app.simulator.github.state.world import Repository
from app.simulator.github.tokens import Token, bearer_of

Json = Any
BranchTips = dict[int, dict[str, str]]
HEADS = "refs/heads/"


@cache
def schema() -> GraphQLSchema:
    """Return the part of GitHub's schema that is spoken here."""
    return build_schema(Path(__file__).with_name("schema.graphql").read_text())


class Graphql:
    """`POST /api/graphql`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def answer(self, request: web.Request) -> web.Response:
        """Run one document."""
        credential = bearer_of(request.headers.get("Authorization"))
        if credential is None:
            raise ApiError(401, "This endpoint requires you to be authenticated.")
        token = request[TOKEN] = self._parts.tokens.find(credential)
        document, variables = _read(await request.read())
        root = _Root(self._parts, token, await self._tips(token))
        result = _run(document, variables, root)
        body: dict[str, Json] = {"data": result.data}
        if result.errors:
            body["errors"] = [_error(each) for each in result.errors]
            body = body if result.data is not None else {"errors": body["errors"]}
        return Answer(200, body).response()

    async def _tips(self, token: Token) -> BranchTips:
        """Return each visible repository's branches, read before the document runs."""
        visible = [each for each in token.installation.repositories if token.sees(each)]
        return {each.id: await GitDir(each.gitdir).refs() for each in visible}


class _Root(Mutations):
    """The fields of `Query` and of `Mutation`."""

    def __init__(self, parts: Parts, token: Token, tips: BranchTips) -> None:
        super().__init__(parts, token)
        self._world = parts.world
        self._found = VisibleNodes(parts.world, token)
        self._token = token
        self._tips = tips

    def viewer(self, _info: object) -> Json:
        bot = self._token.actor.account
        return actor_node(self._world, bot) | {"__typename": "User", "login": bot.login}

    def rateLimit(self, _info: object, **_: Json) -> Json:  # noqa: N802 - the field's name
        left = {"cost": 1, "limit": 5000, "remaining": 4999, "used": 1}
        return left | {"resetAt": self._world.get_time().isoformat()}

    def node(self, _info: object, id: str) -> Json:  # noqa: A002 - the argument's name
        return self._found.to_object(id)

    def repository(self, _info: object, owner: str, name: str, **_: Json) -> Json:
        found = self._world.repository(f"{owner}/{name}")
        if found is None or not self._token.sees(found):
            raise Denied(
                "NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'."
            )
        branches = self._tips[found.id]
        main = f"{HEADS}{found.default_branch}"
        return repository_node(self._world, found) | {
            "defaultBranchRef": _ref(found, main, branches.get(main)),
            "ref": lambda _info, qualifiedName: _ref(  # noqa: N803 - the argument's name
                found, qualifiedName, branches.get(qualifiedName)
            ),
            "label": lambda _info, name: label_node(found.labels.get(name.lower())),
            "issue": partial(self._resolve_number, found, "issues"),
            "pullRequest": partial(self._resolve_number, found, "pull_requests"),
            "issueOrPullRequest": partial(self._resolve_number, found, None),
        }

    def _resolve_number(
        self, repository: Repository, kind: str | None, _info: object, number: int
    ) -> Json:
        issue = repository.issues.get(number)
        actual = "pull_requests" if issue and issue.pull else "issues"
        if issue is None or kind not in (None, actual):
            raise Denied("NOT_FOUND", f"Could not resolve to an issue with the number of {number}.")
        if not self._token.grants(actual, "read"):
            raise Denied("FORBIDDEN", "Resource not accessible by integration")
        return issue_node(self._world, issue, self._token)


def _ref(repository: Repository, ref: str, sha: str | None) -> Json:
    if sha is None:
        return None
    return {
        "id": f"REF_{repository.id}_{ref}",
        "name": ref.removeprefix(HEADS),
        "prefix": HEADS,
        "target": {"__typename": "Commit", "id": f"C_{sha}", "oid": sha},
    }


def _run(text: str, variables: dict[str, Json], root: _Root) -> ExecutionResult:
    """Run a document, unless it is none or asks for too much."""
    try:
        document, wrong = _read_document(text)
    except GraphQLSyntaxError as error:
        return ExecutionResult(None, [error])
    wrong = wrong or DocumentLimits(document, variables).errors()
    if wrong:
        return ExecutionResult(None, wrong)
    result = execute(schema(), document, root, variable_values=variables)
    assert isinstance(result, ExecutionResult)
    return result


@lru_cache(maxsize=256)
def _read_document(text: str) -> tuple[DocumentNode, list[GraphQLError]]:
    """Return a document and what is wrong with it; clients send the same few again and again."""
    document = parse(text)
    return document, validate(schema(), document)


def _read(body: bytes) -> tuple[str, dict[str, Json]]:
    try:
        sent = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ApiError(400, "Problems parsing JSON") from None
    if not isinstance(sent, dict) or not isinstance(sent.get("query"), str):
        raise ApiError(400, "A query attribute must be specified and must be a string.")
    return sent["query"], sent.get("variables") or {}


def _error(error: GraphQLError) -> Json:
    shape: dict[str, Json] = dict(error.formatted)
    cause: object = error.original_error or error
    if isinstance(cause, Denied):
        shape["type"] = cause.kind
    return shape
