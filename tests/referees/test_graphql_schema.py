"""GitHub's GraphQL schema judges the local part of it, and the documents that Fettle sends."""

from pathlib import Path

import graphql
import pytest

from app.github.graphql.documents import WHO, load_document
from app.simulator.github.graphql.api import schema

ROOT = Path(__file__).parents[2]


def test_the_graphql_schema_is_a_part_of_githubs(real_schema):
    differences = [
        difference
        for name, ours in schema().type_map.items()
        if not name.startswith("__")
        for difference in differences_of(ours, real_schema.type_map.get(name))
    ]
    assert differences == []


def differences_of(ours, theirs):
    if type(ours) is not type(theirs):
        return [f"{ours}: {type(theirs)}"]
    if graphql.is_enum_type(ours):
        return sorted(set(ours.values) - set(theirs.values))
    if graphql.is_union_type(ours):
        return sorted({str(each) for each in ours.types} - {str(each) for each in theirs.types})
    found = []
    for name, field in getattr(ours, "fields", {}).items():
        real = theirs.fields.get(name)
        if real is None or str(real.type) != str(field.type):
            found.append(f"{ours}.{name}: {real and real.type}")
        elif graphql.is_input_object_type(ours):
            continue
        elif arguments_of(field) - arguments_of(real) or required_arguments(real) - set(field.args):
            found.append(f"{ours}.{name}: {arguments_of(real)}")
    interfaces = {str(each) for each in getattr(ours, "interfaces", ())}
    return found + sorted(interfaces - {str(each) for each in getattr(theirs, "interfaces", ())})


def arguments_of(field):
    return {(name, str(each.type), str(each.default_value)) for name, each in field.args.items()}


def required_arguments(field):
    return {name for name, each in field.args.items() if graphql.is_required_argument(each)}


@pytest.mark.parametrize(
    "name",
    sorted({path.stem for path in (ROOT / "app/github/graphql").glob("*.graphql")} - {WHO}),
)
def test_the_documents_of_fettle_are_valid_there_and_here(name, real_schema):
    parsed = graphql.parse(load_document(name))
    assert graphql.validate(real_schema, parsed) == []
    assert graphql.validate(schema(), parsed) == []
