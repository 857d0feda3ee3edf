"""The base class of submissions: the structured results that end a stage's conversation."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from agents.errors import ToolError
from agents.tools.schema import describe, faults, strict_schema, unusable


class Submission(BaseModel):
    """What a stage delivers. Its docstring and those of its fields are what the model reads.

    The API promises the shape, pydantic the values. A stage's results are submitted, never
    parsed out of prose.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    _tool: ClassVar[str]

    def __init_subclass__(cls, *, tool: str, **more: Any) -> None:
        """Take the name by which the model calls it: sessions record it, so it never changes."""
        super().__init_subclass__(**more)
        cls._tool = tool

    @classmethod
    def tool_name(cls) -> str:
        """Return the name under which the model calls it."""
        return cls._tool

    @classmethod
    @cache  # a class never changes, and its schema takes a while to make
    def definition(cls) -> dict[str, Any]:
        """Return the Messages-API definition, strict."""
        return {
            "name": cls.tool_name(),
            "description": describe(cls.__doc__),
            "strict": True,
            "input_schema": strict_schema(cls.model_json_schema()),
        }

    @classmethod
    def parse(cls, arguments: Any) -> Self:
        """Return the submission; ToolError tells the model what to correct."""
        if fault := unusable(arguments):
            raise ToolError(f"{cls.tool_name()} was not accepted: a text in it holds {fault}.")
        try:
            return cls.model_validate(arguments)
        except ValidationError as error:
            raise ToolError(
                f"{cls.tool_name()} was not accepted:\n{faults(error)}\n"
                f"Correct this and call {cls.tool_name()} again with all its fields."
            ) from error
