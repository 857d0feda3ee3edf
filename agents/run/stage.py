"""The decorator `@stage`: one durable step of a pipeline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, get_type_hints

from pydantic import TypeAdapter

from agents.errors import RunError

if TYPE_CHECKING:
    from agents.run.stage_context import StageContext

P = ParamSpec("P")
Out = TypeVar("Out")


@dataclass(frozen=True)
class Stage(Generic[P, Out]):
    """One durable step of a pipeline: declared by `@stage`, done by `Run.stage`."""

    name: str
    title: str
    work: Callable[Concatenate[StageContext, P], Awaitable[Out]]
    output: TypeAdapter[Out]


@dataclass(frozen=True)
class PartResult(Generic[Out]):
    """What came of a part of a pipeline that may fail without ending the run."""

    result: Out | None
    """What it returned; None where it failed."""
    error: RunError | None = None
    stage: str = ""
    """The stage's occurrence that it did not get through, like `implement/1`."""

    @property
    def why(self) -> str:
        """Return why it failed, for people; empty where it did not."""
        return str(self.error) if self.error else ""

    def raise_unless(self, worth_while: object) -> None:
        """Raise what it failed with where going on is not worth while."""
        if self.error and not worth_while:
            raise self.error


def stage(work: Callable[Concatenate[StageContext, P], Awaitable[Out]]) -> Stage[P, Out]:
    """Declare a stage: its name is the function's, its title the first line of the docstring."""
    title = (work.__doc__ or work.__name__).strip().splitlines()[0].rstrip(".")
    returns: Any = get_type_hints(work)["return"]
    output: TypeAdapter[Out] = TypeAdapter(returns)
    return Stage(work.__name__, title, work, output)
