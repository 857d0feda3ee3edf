"""The description of the pages for programs: OpenAPI 3.1, made from the models of what they get.

https://spec.openapis.org/oas/v3.1.1.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

import orjson
from aiohttp import web
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.pages import contract

ROUTE = "/openapi.json"
_REFERENCE = "#/components/schemas/{model}"
_ABOUT = (
    "What Fettle's runs do, cost and wait for. A token is made by `fettle token new`, and sent as"
    " `Authorization: Bearer`. Texts that are called untrusted are words of strangers and models."
)
_REFUSALS = {
    "400": "It makes no sense.",
    "401": "There is no token, or it holds no longer.",
    "403": "The token does not reach so far.",
    "404": "There is no such thing, or the token is not for it.",
    "409": "It is too late for this.",
    "429": "It was asked too often; `Retry-After` says for how long to wait.",
    "503": "The database or GitHub does not answer now.",
}
_OPEN_STRING: dict[str, Any] = {"type": "string", "maxLength": 200}
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": 999_999}
_ONCE: dict[str, Any] = {
    "type": "string",
    "maxLength": 32,
    "description": "A word of yours: what was sent with it counts once.",
}
_STEERS: dict[str, dict[str, Any]] = {
    "cancel": {"words": {"type": "string", "maxLength": 500, "description": "Why, for people."}},
    "remark": {
        "words": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": "^[!-~]"},
        "once": _ONCE,
    },
    "budget": {
        "usd": {
            "type": "string",
            "pattern": r"^[1-9][0-9]{0,3}(\.[0-9]{1,2})?$",
            "description": "How many dollars it may spend in all, up to the operator's limit.",
        },
        "once": _ONCE,
    },
}
STEERING: dict[str, Any] = {
    "oneOf": [
        {
            "type": "object",
            "required": ["kind", *(name for name in fields if name == "usd" or kind == "remark")],
            "properties": {"kind": {"const": kind}, **fields},
            "additionalProperties": False,
        }
        for kind, fields in _STEERS.items()
    ]
}


@dataclass(frozen=True)
class Operation:
    """One thing to ask for."""

    path: str
    name: str
    summary: str
    model: type[BaseModel] | None
    """None: a stream of server-sent events."""
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    method: str = "get"
    refusals: tuple[str, ...] = ("401", "404", "429", "503")


OPERATIONS = (
    Operation(
        "/runs",
        "listRuns",
        "What waits, what is under way, what has ended",
        contract.NowView,
        {
            "repository": _OPEN_STRING,
            "words": _OPEN_STRING,
            "state": {"enum": ["done", "failed", "cancelled", "refused"]},
        },
    ),
    Operation("/runs/{run}", "getRun", "One run with its stages", contract.RunView),
    Operation(
        "/runs/{run}",
        "steerRun",
        "End a run, grant it money, or tell it something; takes the right `steer`",
        contract.RunView,
        method="post",
        refusals=("400", "401", "403", "404", "409", "429", "503"),
    ),
    Operation(
        "/runs/{run}/stages/{stage}",
        "getStage",
        "Turns of a stage, at most 30",
        contract.StageView,
        {"until": _NUMBER},
    ),
    Operation(
        "/runs/{run}/trajectory",
        "getTrajectory",
        "All turns of a run in the Agent Trajectory Interchange Format",
        contract.Trajectory,
    ),
    Operation("/runs/{run}/events", "followRun", "News of a run as they come", None),
    Operation("/approvals/{approval}", "getApproval", "One call that waits", contract.ApprovalView),
    Operation(
        "/r/{owner}/{name}",
        "getRepository",
        "What the runs of a repository came to",
        contract.RepositoryView,
    ),
    Operation("/alerts", "listAlerts", "Vulnerable dependencies", contract.AlertsView),
    Operation("/spend", "getSpending", "What answers of models cost", contract.SpendView),
    Operation(
        "/audit",
        "listActs",
        "What was done with privilege",
        contract.AuditView,
        {"kind": _OPEN_STRING, "before": {"type": "integer", "minimum": 1}},
    ),
)


async def show_description(request: web.Request) -> web.Response:
    """Answer with the description."""
    del request
    return web.Response(body=_write_description(), content_type="application/json")


@cache
def _write_description() -> bytes:
    return orjson.dumps(describe_api())


def describe_api() -> dict[str, Any]:
    """Return the OpenAPI document."""
    models = {each.model for each in OPERATIONS if each.model} | {contract.PageRefusal}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, schemas = models_json_schema(
        [(model, "serialization") for model in ordered], ref_template=_REFERENCE
    )
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method] = _describe_operation(each)
    scheme = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fettle", "version": version("fettle"), "description": _ABOUT},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas["$defs"], "securitySchemes": {"token": scheme}},
    }


def _describe_operation(operation: Operation) -> dict[str, Any]:
    places = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    required = {"in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    parameters: list[dict[str, Any]] = [{"name": name, **required} for name in places]
    parameters += [
        {"name": name, "in": "query", "schema": schema} for name, schema in operation.query.items()
    ]
    answers = {
        status: _answer(_REFUSALS[status], contract.PageRefusal) for status in operation.refusals
    }
    body = {"content": {"application/json": {"schema": STEERING}}, "required": True}
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters,
        **({"requestBody": body} if operation.method == "post" else {}),
        "responses": {"200": _answer(operation.summary, operation.model), **answers},
    }


def _answer(words: str, model: type[BaseModel] | None) -> dict[str, Any]:
    if model is None:
        return {"description": words, "content": {"text/event-stream": {}}}
    schema = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {"description": words, "content": {"application/json": {"schema": schema}}}
