"""GitHub's OpenAPI description as a judge of what the local GitHub was asked and answered."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson
from openapi_core import Config, OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.testing import MockRequest, MockResponse

from app.simulator.github.faults import Exchange
from app.simulator.github.limits import RateLimits, limit_routes
from app.simulator.github.rest.routes import SUBJECTS
from app.simulator.github.routing import OF_REPOSITORY, Route
from app.simulator.github.state.world import World

HOST = "https://api.github.com"
OBJECT = "application/vnd.github.object"  # answered as JSON, described under the asked-for name
PREFIX = "/api/v3"
PARAMETER = re.compile(r"\{[^{}]+\}")
CONTENTS = "/contents"  # of the root: described as contents/{path} with an empty path
NO_LINE = {"pull-request-review-comment"}
NO_HOME = {"pull-request", "pull-request-simple"}
BY_ID = re.compile(r"^/repositories/\d+")  # answers like /repos/{owner}/{repo}, undescribed


@dataclass(frozen=True)
class Operation:
    """One call of the description."""

    method: str
    template: str
    pattern: re.Pattern[str]
    statuses: frozenset[str]


class RestReferee:
    """Judges exchanges by the operations that the local GitHub serves."""

    def __init__(self, description: bytes) -> None:
        whole = orjson.loads(description)
        served = {(route.method.lower(), _bare(_full_path(route))) for route in every_route()}
        self.operations, paths = [], {}
        for template, methods in whole["paths"].items():
            for method, operation in methods.items():
                if (method, _bare(template)) in served:
                    paths.setdefault(template, {})[method] = operation
                    self.operations.append(_operation(method, template, operation))
        self.undescribed = served - {
            (each.method, _bare(each.template)) for each in self.operations
        }
        deserializers = {OBJECT: orjson.loads}
        config = Config(extra_media_type_deserializers=deserializers)
        self._api = OpenAPI.from_dict(_slice(whole, paths), config=config)

    def problems(self, exchanges: Iterable[Exchange]) -> list[str]:
        """Return what GitHub would not have asked or answered like that.

        What is asked at this very moment, as by a sweep, has no answer yet that could be judged.
        """
        answered = (each for each in exchanges if each.status is not None)
        judged = [each for each in answered if each.path.startswith(PREFIX)]
        return [problem for each in judged for problem in self._judge(each)]

    def operation_of(self, exchange: Exchange) -> tuple[str, str] | None:
        """Return method and path template of the call that an exchange was."""
        path, _ = _place(exchange)
        found = self._find(exchange.method.lower(), path)
        return (found[0].method, found[0].template) if found else None

    def _judge(self, exchange: Exchange) -> list[str]:
        path, query = _place(exchange)
        name = f"{exchange.method} {path} -> {exchange.status}"
        found = self._find(exchange.method.lower(), path)
        if found is None:
            refused = (exchange.status or 0) >= 300
            return [] if refused else [f"{name}: no such call"]
        operation, values = found
        request = MockRequest(
            HOST,
            operation.method,
            path,
            path_pattern=operation.template,
            view_args=values,
            args=dict(parse_qsl(query)),
            headers=exchange.headers,
            data=exchange.body or None,
        )
        problems = []
        if exchange.status and exchange.status < 400:
            problems += _reasons(f"{name}: request", self._api.iter_request_errors(request))
        if exchange.status != 304:
            problems += self._judge_answer(name, operation, request, exchange)
        return problems

    def _judge_answer(
        self, name: str, operation: Operation, request: MockRequest, exchange: Exchange
    ) -> list[str]:
        content_type = exchange.answer_headers.get("Content-Type", "application/json")
        if str(exchange.status) not in operation.statuses and (exchange.status or 0) >= 300:
            # Refusals that hold for every call stand in no single description.
            shape = orjson.loads(exchange.answer)
            proper = isinstance(shape.get("message"), str) and "documentation_url" in shape
            return [] if proper else [f"{name}: not GitHub's error shape"]
        if not content_type.startswith("application/json"):
            return []
        asked = exchange.headers.get("Accept", "")
        named = OBJECT if asked.startswith(OBJECT) else content_type.partition(";")[0]
        answer = MockResponse(exchange.answer, exchange.status or 0, content_type=named)
        return _reasons(name, self._api.iter_response_errors(request, answer))

    def _find(self, method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
        fitting = [
            (each, found)
            for each in self.operations
            if each.method == method and (found := each.pattern.fullmatch(path))
        ]
        if not fitting:
            return None
        operation, found = max(fitting, key=lambda pair: len(_bare(pair[0].template)))
        names = [each.strip("{}") for each in PARAMETER.findall(operation.template)]
        return operation, dict(zip(names, map(unquote, found.groups()), strict=True))


def every_route() -> list[Route]:
    """Return every call that the local GitHub serves."""
    limits = limit_routes(RateLimits(World("", Path())))
    return [*limits, *(route for subject in SUBJECTS for route in subject.routes)]


def _full_path(route: Route) -> str:
    root = "/repos/{owner}/{repo}" if route.scope in OF_REPOSITORY else ""
    return root + (f"{CONTENTS}/{{path}}" if route.path == CONTENTS else route.path)


def _place(exchange: Exchange) -> tuple[str, str]:
    """Return the path as the description has it, and the query."""
    path, _, query = exchange.path.removeprefix(PREFIX).partition("?")
    path = BY_ID.sub("/repos/o/r", path)
    return (f"{path}/" if path.endswith(CONTENTS) else path), query


def _bare(template: str) -> str:
    return PARAMETER.sub("{}", template)


def _operation(method: str, template: str, operation: Mapping[str, Any]) -> Operation:
    last = template.endswith(("{ref}", "{path}", "{branch}"))
    pattern = PARAMETER.sub("([^/]+)", template)
    if last:
        pattern = pattern.removesuffix("([^/]+)") + "(.*)"
    return Operation(method, template, re.compile(pattern), frozenset(operation["responses"]))


def _slice(whole: dict[str, Any], paths: dict[str, Any]) -> dict[str, Any]:
    """Return the description of these paths alone, with the components they lead to."""
    _mend_installations(paths)
    components = components_of(paths, whole["components"])
    _mend_nulls(components["schemas"])
    components["schemas"]["alert-number"].pop("readOnly", None)  # also a path's parameter
    _mend_schemas(paths)
    _mend_schemas(components)
    head = {key: whole[key] for key in ("openapi", "info", "servers")}
    return {**head, "paths": paths, "components": components}


def components_of(node: Any, every: dict[str, Any]) -> dict[str, Any]:
    """Return the components that a part of a description leads to."""
    components: dict[str, dict[str, Any]] = {}
    waiting = list(_references(node))
    while waiting:
        kind, name = waiting.pop()
        if name not in components.setdefault(kind, {}):
            components[kind][name] = every[kind][name]
            waiting += _references(components[kind][name])
    return components


def _mend_installations(paths: dict[str, Any]) -> None:
    """Repair the description: its list wants each account to be user and enterprise at once."""
    answer = paths["/app/installations"]["get"]["responses"]["200"]
    one = paths["/app/installations/{installation_id}"]["get"]["responses"]["200"]
    items = one["content"]["application/json"]["schema"]
    answer["content"]["application/json"]["schema"]["items"] = items


def _mend_nulls(schemas: dict[str, Any]) -> None:
    """Repair the description: an outdated comment has no line, the head of a lost fork no home."""
    for name in NO_LINE & schemas.keys():
        for field in ("line", "position"):
            schemas[name]["properties"][field]["nullable"] = True
    for name in NO_HOME & schemas.keys():
        place = schemas[name]["properties"]["head"]["properties"]
        nothing = {"type": "object", "nullable": True, "maxProperties": 0}
        place["repo"] = {"anyOf": [place["repo"], nothing]}


def _mend_schemas(node: Any) -> None:
    """Repair the description: enums that forget null, discriminators that cannot read an array."""
    if isinstance(node, dict):
        if "oneOf" in node:
            node.pop("discriminator", None)  # oneOf says it all, only slower
        if node.get("nullable") and "enum" in node and None not in node["enum"]:
            node["enum"].append(None)
        for value in node.values():
            _mend_schemas(value)
    elif isinstance(node, list):
        for item in node:
            _mend_schemas(item)


def _references(node: Any) -> Iterable[tuple[str, str]]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            _, _, kind, name = reference.split("/", 3)
            yield kind, name
        for key, value in node.items():
            if key not in ("example", "examples"):
                yield from _references(value)
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)


def _reasons(name: str, errors: Iterable[Exception]) -> list[str]:
    return [f"{name}: {_reason(error)}" for error in errors]


def _short(text: str) -> str:
    return text if len(text) < 300 else f"{text[:100]} … {text[-180:]}"


def _reason(error: Exception) -> str:
    cause = error.__cause__
    details = getattr(error, "schema_errors", None) or getattr(cause, "schema_errors", None) or []
    told = [f"{'/'.join(map(str, each.path))}: {_short(each.message)}" for each in details]
    assert isinstance(error, OpenAPIError)
    return "; ".join(told) or str(cause or error)
