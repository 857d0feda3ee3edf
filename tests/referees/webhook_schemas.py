"""GitHub's OpenAPI description of its webhooks as a judge of what the local GitHub sends."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

from app.simulator.github.webhooks import Delivery
from tests.referees.openapi import components_of

DESCRIPTION = "openapi-webhooks/generated/api.github.com.json"


class WebhookReferee:
    """Judges deliveries: their headers, and their payload by event and action."""

    def __init__(self, packages: Path) -> None:
        whole = orjson.loads((packages / DESCRIPTION).read_bytes())
        self._webhooks = whole["webhooks"]
        self._components = whole["components"]
        self._validators: dict[str, jsonschema_rs.Validator] = {}

    def problems(self, deliveries: Iterable[Delivery]) -> list[str]:
        """Return what GitHub would not have sent like that."""
        return [problem for each in deliveries for problem in self._judge(each)]

    def _judge(self, delivery: Delivery) -> list[str]:
        payload = orjson.loads(delivery.payload)
        action = payload.get("action")
        name = "-".join(filter(None, (delivery.event, action))).replace("_", "-")
        if name not in self._webhooks:
            return [f"{name}: no such webhook"]
        wanted = {each["name"].lower() for each in self._webhooks[name]["post"]["parameters"]}
        sent = {header.lower() for header in delivery.request_headers}
        problems = [f"{name}: header {each} is missing" for each in sorted(wanted - sent)]
        if delivery.event != "ping" and "installation" not in payload:
            problems.append(f"{name}: an App's delivery names its installation")
        return problems + [
            f"{name}: {'/'.join(map(str, error.instance_path))}: {error.message[:300]}"
            for error in self._validator(name).iter_errors(payload)
        ]

    def _validator(self, name: str) -> jsonschema_rs.Validator:
        if name not in self._validators:
            body: Any = self._webhooks[name]["post"]["requestBody"]
            schema = body["content"]["application/json"]["schema"]
            document = {**schema, "components": components_of(schema, self._components)}
            self._validators[name] = jsonschema_rs.Draft202012Validator(
                document,
                validate_formats=True,
                formats={"email": lambda text: "@" in text},  # bots have brackets in theirs
            )
        return self._validators[name]
