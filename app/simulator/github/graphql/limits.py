"""GraphQL's limits: every list needs `first` or `last`, and a query at most 500,000 nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

from app.simulator.github.graphql.parts import Denied

Json = Any
MOST_AT_ONCE = 100
MOST_NODES = 500_000
LISTS = frozenset({"nodes", "edges"})


class DocumentLimits:
    """Counts what a document could bring, before it is run."""

    def __init__(self, document: DocumentNode, variables: Mapping[str, Json]) -> None:
        found = [each for each in document.definitions if isinstance(each, FragmentDefinitionNode)]
        self._document = document
        self._fragments = {each.name.value: each for each in found}
        self._variables = _defaults(document) | dict(variables)
        self._total = 0
        self._errors: list[GraphQLError] = []

    def errors(self) -> list[GraphQLError]:
        """Return why the document is refused; nothing for one that is in bounds."""
        for each in self._document.definitions:
            if isinstance(each, OperationDefinitionNode):
                self._walk(each.selection_set, 1)
        if not self._errors and self._total > MOST_NODES:
            reason = (
                f"This query requests up to {self._total:,} possible nodes which exceeds the"
                f" maximum limit of {MOST_NODES:,}."
            )
            self._errors.append(Denied("MAX_NODE_LIMIT_EXCEEDED", reason))
        return self._errors

    def _walk(self, selections: SelectionSetNode | None, times: int) -> None:
        for field in self._fields(selections):
            inner = set() if field.selection_set is None else self._names(field.selection_set)
            if inner & LISTS:
                many = self._size(field)
                self._total += times * many
                self._walk(field.selection_set, times * many)
            else:
                self._walk(field.selection_set, times)

    def _names(self, selections: SelectionSetNode) -> set[str]:
        return {each.name.value for each in self._fields(selections)}

    def _fields(self, selections: SelectionSetNode | None) -> Iterator[FieldNode]:
        for each in selections.selections if selections else ():
            if isinstance(each, FieldNode):
                yield each
            elif isinstance(each, InlineFragmentNode):
                yield from self._fields(each.selection_set)
            elif isinstance(each, FragmentSpreadNode):
                yield from self._fields(self._fragments[each.name.value].selection_set)

    def _size(self, field: FieldNode) -> int:
        """Return how many items a list may bring."""
        name, given = field.name.value, self._read_arguments(field)
        sizes = {key: given[key] for key in ("first", "last") if given.get(key) is not None}
        if not sizes:
            self._refuse(
                "MISSING_PAGINATION_BOUNDARIES",
                "You must provide a `first` or `last` value to properly paginate the"
                f" `{name}` connection.",
            )
        elif len(sizes) > 1:
            self._refuse(
                "EXCESSIVE_PAGINATION",
                f"Passing both `first` and `last` to paginate the `{name}` connection is not"
                " supported.",
            )
        for key, size in sizes.items():
            if size > MOST_AT_ONCE:
                self._refuse(
                    "EXCESSIVE_PAGINATION",
                    f"Requesting {size} records on the `{name}` connection exceeds the"
                    f" `{key}` limit of {MOST_AT_ONCE} records.",
                )
            elif size < 0:
                self._refuse(
                    "INVALID_PAGINATION",
                    f"`{key}` on the `{name}` connection cannot be less than zero.",
                )
        return max(sizes.values(), default=0)

    def _read_arguments(self, field: FieldNode) -> dict[str, Json]:
        given: dict[str, Json] = {}
        for each in field.arguments or ():
            if isinstance(each.value, IntValueNode):
                given[each.name.value] = int(each.value.value)
            elif isinstance(each.value, VariableNode):
                given[each.name.value] = self._variables.get(each.value.name.value)
        return given

    def _refuse(self, kind: str, reason: str) -> None:
        self._errors.append(Denied(kind, reason))


def _defaults(document: DocumentNode) -> dict[str, Json]:
    """Return the numbers that variables have when they are not sent."""
    operations = (e for e in document.definitions if isinstance(e, OperationDefinitionNode))
    every = (each for operation in operations for each in operation.variable_definitions or ())
    return {
        each.variable.name.value: int(each.default_value.value)
        for each in every
        if isinstance(each.default_value, IntValueNode)
    }
