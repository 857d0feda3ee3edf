"""Spans: one trace for one delivery, whichever process makes them, and nobody's words in them."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from agents.errors import TransientError
from app.observability.otlp import make_provider
from app.observability.tracing import (
    NoTracing,
    OpenTracing,
    record_past,
    root_of,
    run_ended,
    span,
    trace_of,
)

RUN = "000643f1a2b3c4d5-5e3f"


@pytest.fixture
def kept():
    return InMemorySpanExporter()


@pytest.fixture
def tracing(kept):
    provider: TracerProvider = make_provider(SimpleSpanProcessor(kept))
    yield OpenTracing(provider.get_tracer("test"))
    provider.shutdown()


def by_name(kept):
    return {each.name: each for each in kept.get_finished_spans()}


async def test_all_that_a_delivery_causes_hangs_from_one_root(tracing, kept):
    tracing.record_delivery(RUN, "issues", {"fettle.delivery": "d1"})
    with tracing.follow(RUN), span("stage/triage/1"):
        async with asyncio.TaskGroup() as group:
            group.create_task(_make_call())
        record_past("command", 2.0)
    with tracing.follow(f"{RUN}-address"):  # what a command in that delivery asked for
        run_ended(f"{RUN}-address", "run", fettle__outcome="pull_request")

    spans = by_name(kept)
    assert {each.context.trace_id for each in spans.values()} == {trace_of(RUN)}
    root, stage = spans["issues"], spans["stage/triage/1"]
    assert root.parent is None
    assert root.context.span_id == root_of(RUN) == stage.parent.span_id
    assert root.start_time == int(RUN[:16], 16) * 1000
    assert spans["github GET"].parent.span_id == stage.context.span_id
    assert spans["command"].parent.span_id == stage.context.span_id
    assert spans["command"].end_time - spans["command"].start_time >= 2e9
    assert spans["run"].attributes["fettle.outcome"] == "pull_request"
    assert spans["run"].parent.span_id == root_of(RUN)


async def _make_call():
    with span("github GET", url__template="/repos/{owner}/{repo}") as note:
        note(http__response__status_code=200)


def test_another_process_makes_the_same_ids(tracing, kept):
    tracing.record_delivery(RUN, "issues", {})
    tracing.record_delivery(RUN, "issues", {})

    first, second = kept.get_finished_spans()
    assert first.context.span_id == second.context.span_id
    assert first.context.trace_id == second.context.trace_id


def test_spans_of_two_deliveries_are_two_traces(tracing, kept):
    for run in (RUN, "000643f1a2b3c4d6-5e3f"):
        with tracing.follow(run), span(run):
            pass

    assert len({each.context.trace_id for each in kept.get_finished_spans()}) == 2


def test_an_error_marks_its_span_with_its_class_and_none_of_its_words(tracing, kept):
    with (
        pytest.raises(TransientError),
        tracing.follow(RUN),
        span("stage/implement/1"),
    ):
        raise TransientError("the key is hunter2")

    made = by_name(kept)["stage/implement/1"]
    assert made.status.status_code is StatusCode.ERROR
    assert made.status.description == "TransientError"
    assert not made.events
    assert "hunter2" not in made.to_json()


def test_outside_of_a_run_and_where_nobody_looks_nothing_is_made(tracing, kept):
    with span("alone") as note:
        note(answer=42)
    with NoTracing().follow(RUN), span("unseen"):
        record_past("command", 1.0)
    NoTracing().record_delivery(RUN, "issues", {})

    assert not kept.get_finished_spans()
