"""OpenTelemetry spans: one trace from a webhook delivery to the run's result.

Several processes may work on one run. Each derives the same ids of the trace and of its root span
from the delivery's id, so no process has to hand them on. Spans name calls and durations; texts of
people and models are never in them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

from opentelemetry import trace
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags, Tracer

Fact = str | int | float | bool
Note = Callable[..., None]
"""Adds facts to a span, by name."""

CLIENT = SpanKind.CLIENT

_trail: ContextVar[_SpanContext | None] = ContextVar("trail", default=None)


class Tracing(Protocol):
    """Starts and continues the traces of runs."""

    def record_delivery(self, run_id: str, name: str, facts: Mapping[str, Fact]) -> None:
        """Record the root span: a delivery's request was handed to the engine."""
        ...

    def follow(self, run_id: str) -> AbstractContextManager[None]:
        """Put all spans inside the `with` into the trace of this run."""
        ...


class NoTracing:
    """Records no spans."""

    def record_delivery(self, run_id: str, name: str, facts: Mapping[str, Fact]) -> None:
        """Do nothing."""

    @contextmanager
    def follow(self, run_id: str) -> Iterator[None]:  # noqa: ARG002 the protocol has it
        """Do nothing."""
        yield


class OpenTracing:
    """Records spans by OpenTelemetry, whose provider takes its ids from `ids_for`."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def record_delivery(self, run_id: str, name: str, facts: Mapping[str, Fact]) -> None:
        """Record the root span; repeated after a crash, it has the same ids."""
        with wanted_ids(trace_of(run_id), root_of(run_id)):
            span = self._tracer.start_span(
                name,
                context=trace.set_span_in_context(trace.INVALID_SPAN),
                kind=SpanKind.SERVER,
                attributes={**facts, "fettle.run": run_id},
                start_time=_parse_received_at(run_id),
            )
        span.end()

    @contextmanager
    def follow(self, run_id: str) -> Iterator[None]:
        """Put spans below the run's root, whichever process recorded that."""
        flags = TraceFlags(TraceFlags.SAMPLED)
        root = SpanContext(trace_of(run_id), root_of(run_id), is_remote=True, trace_flags=flags)
        token = _trail.set(_SpanContext(self._tracer, trace.NonRecordingSpan(root)))
        try:
            yield
        finally:
            _trail.reset(token)


class _SpanContext:
    """The present tracer, and the parent of the next span."""

    def __init__(self, tracer: Tracer, parent: Span) -> None:
        self.tracer = tracer
        self.parent = parent


@contextmanager
def span(name: str, *, kind: SpanKind = SpanKind.INTERNAL, **facts: Fact) -> Iterator[Note]:
    """Record a span of what happens inside the `with`; without a traced run, do nothing.

    Attributes are given with `__` for each dot: `gen_ai__request__model`. An error that leaves the
    block marks the span with its class; its text may hold anything, and stays out.
    """
    trail = _trail.get()
    if trail is None:
        yield _ignore
        return
    made = trail.tracer.start_span(
        name,
        context=trace.set_span_in_context(trail.parent),
        kind=kind,
        attributes=_to_dotted(facts),
    )
    token = _trail.set(_SpanContext(trail.tracer, made))
    try:
        yield lambda **more: made.set_attributes(_to_dotted(more))
    except BaseException as error:
        made.set_status(Status(StatusCode.ERROR, type(error).__name__))
        raise
    finally:
        _trail.reset(token)
        made.end()


def record_past(name: str, seconds: float, **facts: Fact) -> None:
    """Record a span that ends now and took `seconds`."""
    _record_span(name, time.time_ns() - int(seconds * 1e9), facts)


def run_ended(run_id: str, name: str, **facts: Fact) -> None:
    """Record the span of a whole run that ends now, from its delivery on."""
    _record_span(name, _parse_received_at(run_id), facts)


def _record_span(name: str, began: int | None, facts: Mapping[str, Fact]) -> None:
    trail = _trail.get()
    if trail is not None:
        trail.tracer.start_span(
            name,
            context=trace.set_span_in_context(trail.parent),
            attributes=_to_dotted(facts),
            start_time=began,
        ).end()


# --- ids ----------------------------------------------------------------------------------------

_wanted: ContextVar[tuple[int, int] | None] = ContextVar("wanted", default=None)


@contextmanager
def wanted_ids(trace_id: int, span_id: int) -> Iterator[None]:
    """Give the next span inside the `with` these ids."""
    token = _wanted.set((trace_id, span_id))
    try:
        yield
    finally:
        _wanted.reset(token)


def ids_for(otherwise: Callable[[], int], which: int) -> int:
    """Return the id that is wanted now (0: the trace's, 1: the span's), or another."""
    wanted = _wanted.get()
    return otherwise() if wanted is None else wanted[which]


def trace_of(run_id: str) -> int:
    """Return the trace id of this run, or of the command that asked for the run."""
    return int.from_bytes(_digest("trace", run_id)[:16])


def root_of(run_id: str) -> int:
    """Return the id of that trace's root span."""
    return int.from_bytes(_digest("root", run_id)[:8])


def _digest(what: str, run_id: str) -> bytes:
    delivery = "-".join(run_id.split("-")[:2])  # what follows numbers what one delivery asks for
    return hashlib.sha256(f"{what} {delivery}".encode()).digest()


def _parse_received_at(run_id: str) -> int | None:
    """Return when the delivery came, in nanoseconds: run ids begin with it, in microseconds."""
    try:
        return int(run_id.partition("-")[0], 16) * 1000
    except ValueError:
        return None


def _to_dotted(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    return {name.replace("__", "."): value for name, value in facts.items()}


def _ignore(**_: Fact) -> None:
    """Note nothing."""
