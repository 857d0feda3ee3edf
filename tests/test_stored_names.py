"""Names that databases, repositories, operators and people's comments keep: none may go.

A run under way, a policy and a dashboard name what they were written with. What is new is added to
`stored_names.json` in the same commit; a name that stands there never leaves it.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import get_args

import pytest

from agents import errors
from agents.pipelines.registry import PIPELINES
from agents.policy import Policy
from agents.requests import Command
from app.config.settings import Settings
from app.observability.metrics import Metrics
from app.store.tables import metadata
from tests.source_files import Definition, parse_product

KEPT = json.loads(Path(__file__).with_name("stored_names.json").read_text("utf-8"))


def list_stages():
    """Yield the names of all functions under `@stage`."""
    for path, module in parse_product():
        if path.startswith("agents/"):
            for part in ast.walk(module):
                if isinstance(part, Definition) and any(
                    isinstance(each, ast.Name) and each.id == "stage"
                    for each in part.decorator_list
                ):
                    yield part.name


def list_errors():
    """Yield the names by which a stage's failure is recorded."""
    for name, found in vars(errors).items():
        if isinstance(found, type) and issubclass(found, errors.FettleError):
            yield name


def list_policy_keys():
    """Yield the keys of the policy, a section's own with its name before them."""
    for name, field in Policy.model_fields.items():
        yield name
        section = getattr(field.annotation, "model_fields", {})
        yield from (f"{name}.{each}" for each in section)


NOW = {
    "stages": list_stages,
    "conversations": lambda: (each.name for p in PIPELINES.values() for each in p.conversations),
    "errors": list_errors,
    "kinds": lambda: (
        kind
        for request in (*PIPELINES, Command)
        for kind in get_args(request.model_fields["kind"].annotation)
    ),
    "columns": lambda: (str(each) for table in metadata.sorted_tables for each in table.columns),
    "policy": list_policy_keys,
    "settings": lambda: Settings.model_fields,
    "metrics": lambda: (each.name for each in Metrics().registry.collect()),
}


@pytest.mark.parametrize("group", NOW)
def test_no_stored_name_goes(group):
    now = {*NOW[group]()}
    assert now, "nothing was found"
    gone, new = {*KEPT[group]} - now, now - {*KEPT[group]}
    assert not gone, f"kept by what was stored before, and gone: {sorted(gone)}"
    assert not new, f"add to tests/stored_names.json: {sorted(new)}"
